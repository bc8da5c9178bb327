#include "drivers/azure/config/subscription.h"

#include <algorithm>
#include <map>

#include "config/problem.h"
#include "config/yaml.h"
#include "json/json.h"

namespace nodepool::drivers::azure {

using Kind = TokenSource::Kind;

namespace {

constexpr std::size_t kMaxFileSize = std::size_t{1} << 20;  // bytes

std::string text_of(const std::string& path) {
  try {
    return config::read_file(path, kMaxFileSize);
  } catch (const config::ConfigError& error) {
    throw AuthFileError(error.what());
  }
}

// Names in the file, and the variables of Azure's SDKs with the same meaning.
struct Name {
  const char* in_file;
  const char* variable;
};
constexpr Name kSubscription = {"subscriptionId", "AZURE_SUBSCRIPTION_ID"};
constexpr Name kTenant = {"tenantId", "AZURE_TENANT_ID"};
constexpr Name kClient = {"clientId", "AZURE_CLIENT_ID"};
constexpr Name kSecret = {"clientSecret", "AZURE_CLIENT_SECRET"};
constexpr Name kCertificate = {"clientCertificate", "AZURE_CLIENT_CERTIFICATE_PATH"};
constexpr Name kLogin = {"activeDirectoryEndpointUrl", "AZURE_AUTHORITY_HOST"};
constexpr Name kManager = {"resourceManagerEndpointUrl", ""};

// The settings of the file, or of the environment if there is none.
class Settings {
 public:
  Settings(const std::string& path, const config::Environment& environment)
      : path_(path), environment_(environment) {
    if (path_.empty()) return;
    json::Json content;
    try {
      content = json::parse(text_of(path_));
    } catch (const json::ParseError&) {
      throw AuthFileError(path_ + ": is no JSON");
    }
    if (!content.is_object()) throw AuthFileError(path_ + ": is no JSON object");
    for (const auto& [key, value] : content.items()) {
      if (value.is_string()) values_[key] = value.get<std::string>();
    }
  }

  // Empty if it is not set.
  std::string find(const Name& name) const {
    if (path_.empty()) return config::variable(environment_, name.variable);
    const auto found = values_.find(name.in_file);
    return found == values_.end() ? std::string() : found->second;
  }
  std::string text(const Name& name) const {
    std::string found = find(name);
    if (!found.empty()) return found;
    throw AuthFileError(path_.empty() ? std::string(name.variable) + " is not set"
                                      : path_ + ": has no `" + name.in_file + "`");
  }
  // Without "/" at the end.
  std::string url(const Name& name, const char* otherwise) const {
    std::string url = find(name);
    while (url.ends_with('/')) url.pop_back();
    return url.empty() ? otherwise : url;
  }

 private:
  std::string path_;
  const config::Environment& environment_;
  std::map<std::string, std::string, std::less<>> values_;
};

TokenSource source_in(const Settings& settings, const config::Environment& environment) {
  TokenSource source{.audience = settings.url(kManager, "https://management.azure.com") + "/",
                     .client_id = settings.find(kClient),
                     .client_secret = settings.find(kSecret)};
  const std::string certificate = settings.find(kCertificate);
  source.federated_token_file = config::variable(environment, "AZURE_FEDERATED_TOKEN_FILE");
  if (!source.client_secret.empty()) {
    source.kind = Kind::client_secret;
  } else if (!certificate.empty()) {
    source.kind = Kind::client_certificate;
    source.certificate = text_of(certificate);
  } else if (!source.federated_token_file.empty()) {
    source.kind = Kind::federated_token;
  }
  if (source.kind != Kind::federated_token) source.federated_token_file.clear();
  if (source.kind == Kind::managed_identity) {
    std::string host = config::variable(environment, "AZURE_POD_IDENTITY_AUTHORITY_HOST");
    while (host.ends_with('/')) host.pop_back();
    source.token_url =
        (host.empty() ? "http://169.254.169.254" : host) + "/metadata/identity/oauth2/token";
    return source;
  }
  source.client_id = settings.text(kClient);
  source.token_url = settings.url(kLogin, "https://login.microsoftonline.com") + "/" +
                     settings.text(kTenant) + "/oauth2/v2.0/token";
  return source;
}

}  // namespace

Subscription find_subscription(const std::string& auth_path,
                               const config::Environment& environment) {
  const Settings settings(auth_path, environment);
  Subscription subscription{.id = settings.text(kSubscription),
                            .base_url = config::variable(environment, "AZURE_RESOURCE_MANAGER_URL"),
                            .credentials = source_in(settings, environment)};
  std::string& url = subscription.base_url;
  if (url.empty()) url = subscription.credentials.audience;
  while (url.ends_with('/')) url.pop_back();
  return subscription;
}

std::set<std::string> credential_files(const std::string& auth_path,
                                       const config::Environment& environment) {
  std::set<std::string> names = {auth_path};
  try {
    names.insert(Settings(auth_path, environment).find(kCertificate));
  } catch (const AuthFileError&) {  // configure() reports it
  }
  names.erase("");
  return names;
}

}  // namespace nodepool::drivers::azure
