#include "drivers/ibmvpc/config/iam_credentials.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>

namespace nodepool::drivers::ibmvpc {

using CredentialKind = IamCredentials::Kind;

namespace {

constexpr const char* kFileName = "ibm-credentials.env";
constexpr std::string_view kPrefix = "VPC_";
constexpr const char* kUsualTokenUrl = "https://iam.cloud.ibm.com";
constexpr std::string_view kTokenPath = "/identity/token";
constexpr const char* kUsualMetadataUrl = "http://169.254.169.254";

using Properties = std::map<std::string, std::string, std::less<>>;  // without the prefix

void add_property(Properties& properties, std::string_view name, std::string_view value) {
  if (!name.starts_with(kPrefix)) return;
  properties.insert_or_assign(std::string(name.substr(kPrefix.size())), value);
}

std::string trimmed(const std::string& line) {
  constexpr const char* kSpace = " \t\r\n";
  const std::size_t first = line.find_first_not_of(kSpace);
  if (first == std::string::npos) return {};
  return line.substr(first, line.find_last_not_of(kSpace) - first + 1);
}

Properties read_file(const std::string& path) {
  std::ifstream file(path);
  if (!file.is_open()) throw IamCredentialError(path + ": cannot be read");
  Properties properties;
  for (std::string line; std::getline(file, line);) {
    const std::string text = trimmed(line);
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) {
      add_property(properties, text.substr(0, equals), text.substr(equals + 1));
    }
  }
  if (file.bad()) throw IamCredentialError(path + ": cannot be read");
  return properties;
}

std::string value_of(const Properties& properties, std::string_view name) {
  const auto found = properties.find(name);
  return found == properties.end() ? std::string() : found->second;
}

std::string base_url(const Properties& properties, const char* usual) {
  std::string url = value_of(properties, "AUTH_URL");
  while (url.ends_with('/')) url.pop_back();
  return url.empty() ? usual : url;
}

std::string token_url(const Properties& properties) {
  const std::string url = base_url(properties, kUsualTokenUrl);
  return url.ends_with(kTokenPath) ? url : url + std::string(kTokenPath);
}

// The configured type in lower case. Without one, IBM's SDKs choose by the other properties.
std::string type_of(const Properties& properties) {
  std::string type = value_of(properties, "AUTH_TYPE");
  if (type.empty()) type = value_of(properties, "AUTHTYPE");
  std::ranges::transform(type, type.begin(), [](unsigned char c) { return std::tolower(c); });
  if (!type.empty()) return type;
  const bool has_profile = !value_of(properties, "IAM_PROFILE_ID").empty() ||
                           !value_of(properties, "IAM_PROFILE_NAME").empty();
  return value_of(properties, "APIKEY").empty() && has_profile ? "container" : "iam";
}

IamCredentials with_api_key(const Properties& properties) {
  IamCredentials found{.url = token_url(properties), .api_key = value_of(properties, "APIKEY")};
  if (found.api_key.empty()) {
    throw IamCredentialError(
        "no API key: set VPC_APIKEY in the file of `credentials-file` or the environment");
  }
  return found;
}

IamCredentials with_bearer_token(const Properties& properties) {
  IamCredentials found{.kind = CredentialKind::bearer_token,
                       .bearer_token = value_of(properties, "BEARER_TOKEN")};
  if (found.bearer_token.empty()) throw IamCredentialError("VPC_BEARER_TOKEN is not set");
  return found;
}

IamCredentials of_container(const Properties& properties) {
  IamCredentials found{.kind = CredentialKind::container,
                       .url = token_url(properties),
                       .profile_id = value_of(properties, "IAM_PROFILE_ID"),
                       .profile_name = value_of(properties, "IAM_PROFILE_NAME")};
  if (found.profile_id.empty() && found.profile_name.empty()) {
    throw IamCredentialError(
        "no trusted profile: set VPC_IAM_PROFILE_ID or VPC_IAM_PROFILE_NAME for "
        "VPC_AUTH_TYPE=container");
  }
  const std::string named = value_of(properties, "CR_TOKEN_FILENAME");
  if (named.empty()) {
    found.resource_token_files = {
        "/var/run/secrets/tokens/vault-token", "/var/run/secrets/tokens/sa-token",
        "/var/run/secrets/codeengine.cloud.ibm.com/compute-resource-token/token"};
  } else {
    found.resource_token_files = {named};
  }
  return found;
}

IamCredentials of_instance(const Properties& properties) {
  IamCredentials found{.kind = CredentialKind::instance,
                       .url = base_url(properties, kUsualMetadataUrl),
                       .profile_id = value_of(properties, "IAM_PROFILE_ID"),
                       .profile_name = value_of(properties, "IAM_PROFILE_NAME"),
                       .profile_crn = value_of(properties, "IAM_PROFILE_CRN")};
  if (!found.profile_id.empty() + !found.profile_name.empty() + !found.profile_crn.empty() > 1) {
    throw IamCredentialError(
        "set at most one of VPC_IAM_PROFILE_ID, VPC_IAM_PROFILE_NAME and VPC_IAM_PROFILE_CRN for "
        "VPC_AUTH_TYPE=vpc");
  }
  return found;
}

IamCredentials credentials_in(const Properties& properties) {
  const std::string type = type_of(properties);
  if (type == "iam") return with_api_key(properties);
  if (type == "bearertoken") return with_bearer_token(properties);
  if (type == "container") return of_container(properties);
  if (type == "vpc") return of_instance(properties);
  throw IamCredentialError("credentials of the type `" + type +
                           "` (VPC_AUTH_TYPE) are not supported, only `iam`, `container`, `vpc` "
                           "and `bearerToken`");
}

}  // namespace

std::vector<std::string> credentials_files(const std::optional<std::string>& configured,
                                           const config::Environment& environment) {
  if (configured && !configured->empty()) return {*configured};
  const std::string named = config::variable(environment, "IBM_CREDENTIALS_FILE");
  if (!named.empty()) return {named};
  std::vector<std::string> usual = {kFileName};
  const std::string home = config::variable(environment, "HOME");
  if (!home.empty()) usual.push_back(home + "/" + kFileName);
  return usual;
}

IamCredentials find_credentials(const std::optional<std::string>& configured,
                                const config::Environment& environment) {
  const std::vector<std::string> files = credentials_files(configured, environment);
  const bool is_named = files.front() != kFileName;
  const auto exists = [](const std::string& path) {
    std::error_code ignored;
    return std::filesystem::exists(path, ignored);
  };
  const auto file = std::ranges::find_if(files, exists);
  Properties properties;
  if (file != files.end()) {
    properties = read_file(*file);
  } else if (is_named) {
    throw IamCredentialError(files.front() + ": cannot be read");
  }
  if (properties.empty()) {
    for (const auto& [name, value] : environment) add_property(properties, name, value);
  }
  return credentials_in(properties);
}

}  // namespace nodepool::drivers::ibmvpc
