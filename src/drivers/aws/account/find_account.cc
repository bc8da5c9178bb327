#include "drivers/aws/account/find_account.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <charconv>
#include <set>
#include <stdexcept>

#include "config/command_line.h"
#include "drivers/aws/account/profile_files.h"

namespace nodepool::drivers::aws {

namespace {

using Kind = CredentialSource::Kind;

constexpr const char* kSessionName = "nodepool";
constexpr const char* kContainerHost = "http://169.254.170.2";
constexpr const char* kMetadataHost = "http://169.254.169.254";

std::string value_of(const ProfileKeys& keys, std::string_view key) {
  const auto found = keys.find(key);
  return found == keys.end() ? std::string() : found->second;
}

bool is_true(const std::string& text) {
  return text == "true" || text == "True" || text == "TRUE" || text == "1";
}

// The file where `aws sso login` writes the token of a session or a start URL.
std::string sso_token_file(const config::Environment& environment, const std::string& name) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  const int done =
      ::EVP_Digest(name.data(), name.size(), digest.data(), &size, ::EVP_sha1(), nullptr);
  if (done != 1) throw std::runtime_error("error computing SHA-1");
  std::string file = variable(environment, "HOME") + "/.aws/sso/cache/";
  for (unsigned int i = 0; i < size; ++i) file += fmt::format("{:02x}", digest.at(i));
  return file + ".json";
}

class Finder {
 public:
  Finder(const std::optional<std::string>& profile, const config::Environment& environment)
      : environment_(environment), files_(read_profile_files(environment)) {
    is_explicit_ = profile.has_value();
    profile_ = profile.value_or("");
    if (profile_.empty()) profile_ = variable(environment_, "AWS_PROFILE");
    if (profile_.empty()) profile_ = variable(environment_, "AWS_DEFAULT_PROFILE");
    const bool is_named = !profile_.empty();
    if (!is_named) profile_ = "default";
    if (is_named && !files_.profiles.contains(profile_) && !files_.credentials.contains(profile_)) {
      throw AccountError(
          fmt::format("no profile `{}` in AWS's credentials and config files", profile_));
    }
  }

  std::string region() const {
    const std::string region = variable(environment_, "AWS_DEFAULT_REGION");
    return region.empty() ? value_of(keys_of(profile_), "region") : region;
  }

  std::string ca_file() const {
    const std::string file = variable(environment_, "AWS_CA_BUNDLE");
    return file.empty() ? value_of(keys_of(profile_), "ca_bundle") : file;
  }

  std::string endpoint(ServiceKind service) const {
    const ProfileKeys profile = keys_of(profile_);
    std::string ignored = variable(environment_, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS");
    if (ignored.empty()) ignored = value_of(profile, "ignore_configured_endpoint_urls");
    if (is_true(ignored)) return {};
    const std::string name(variable_name(service));
    std::string url = variable(environment_, "AWS_ENDPOINT_URL_" + name);
    if (url.empty()) url = variable(environment_, "AWS_ENDPOINT_URL");
    const auto services = files_.services.find(value_of(profile, "services"));
    if (url.empty() && services != files_.services.end()) {
      std::string key = name;
      for (char& c : key) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
      url = value_of(services->second, key + ".endpoint_url");
    }
    return url.empty() ? value_of(profile, "endpoint_url") : url;
  }

  CredentialSource credentials() {
    if (!is_explicit_) {
      if (auto keys = environment_keys()) return *keys;
    }
    if (auto role = role_of(profile_)) return *role;
    if (!is_explicit_) {
      if (auto source = web_identity(environment_identity())) return *source;
    }
    if (auto source = own_source(profile_)) return *source;
    if (auto source = container()) return *source;
    return metadata();
  }

 private:
  // From both files; the credentials file overrides the config file.
  ProfileKeys keys_of(const std::string& profile) const {
    ProfileKeys keys;
    const auto credentials = files_.credentials.find(profile);
    if (credentials != files_.credentials.end()) keys = credentials->second;
    const auto config = files_.profiles.find(profile);
    if (config != files_.profiles.end()) {
      for (const auto& [key, value] : config->second) keys.try_emplace(key, value);
    }
    return keys;
  }

  std::optional<CredentialSource> environment_keys() const {
    CredentialSource source;
    source.keys.access_key_id = variable(environment_, "AWS_ACCESS_KEY_ID");
    source.keys.secret_access_key = variable(environment_, "AWS_SECRET_ACCESS_KEY");
    source.keys.session_token = variable(environment_, "AWS_SESSION_TOKEN");
    if (source.keys.session_token.empty()) {
      source.keys.session_token = variable(environment_, "AWS_SECURITY_TOKEN");
    }
    if (source.keys.access_key_id.empty()) return std::nullopt;
    if (source.keys.secret_access_key.empty()) {
      throw AccountError("AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not");
    }
    return source;
  }

  std::optional<CredentialSource> file_keys(const std::string& profile) const {
    const ProfileKeys keys = keys_of(profile);
    CredentialSource source;
    source.keys.access_key_id = value_of(keys, "aws_access_key_id");
    source.keys.secret_access_key = value_of(keys, "aws_secret_access_key");
    source.keys.session_token = value_of(keys, "aws_session_token");
    if (source.keys.access_key_id.empty()) return std::nullopt;
    if (source.keys.secret_access_key.empty()) {
      throw AccountError(fmt::format(
          "profile `{}` has an aws_access_key_id, but no aws_secret_access_key", profile));
    }
    return source;
  }

  // The profile's own sign-in, keys or program.
  std::optional<CredentialSource> own_source(const std::string& profile) const {
    if (auto sign_in = sso_of(profile)) return sign_in;
    const ProfileKeys keys = keys_of(profile);
    const auto credentials = files_.credentials.find(profile);
    const bool has_credentials = credentials != files_.credentials.end() &&
                                 credentials->second.contains("aws_access_key_id");
    const auto command = keys.find("credential_process");
    if (has_credentials || command == keys.end()) return file_keys(profile);
    CredentialSource source;
    source.kind = Kind::program;
    try {
      source.command = config::split_command(command->second);
    } catch (const std::runtime_error&) {  // its text may contain a secret
      throw AccountError(
          fmt::format("profile `{}`: `credential_process` is no valid command", profile));
    }
    return source;
  }

  // Reference: AWS SDKs and Tools Reference Guide, IAM Identity Center credential provider.
  std::optional<CredentialSource> sso_of(const std::string& profile) const {
    const ProfileKeys keys = keys_of(profile);
    if (!keys.contains("sso_account_id") && !keys.contains("sso_role_name")) return std::nullopt;
    const std::string session = value_of(keys, "sso_session");
    const auto of_session = files_.sso_sessions.find(session);
    if (!session.empty() && of_session == files_.sso_sessions.end()) {
      throw AccountError(
          fmt::format("profile `{}`: no section `sso-session {}`", profile, session));
    }
    const auto needed = [&](const ProfileKeys& from, const char* key) {
      std::string value = value_of(from, key);
      if (!value.empty()) return value;
      throw AccountError(fmt::format("profile `{}`: its sign-in has no `{}`", profile, key));
    };
    const ProfileKeys& center = session.empty() ? keys : of_session->second;
    CredentialSource source;
    source.kind = Kind::single_sign_on;
    source.sso = {.region = needed(center, "sso_region"),
                  .account_id = needed(keys, "sso_account_id"),
                  .role_name = needed(keys, "sso_role_name"),
                  .token_file = {},
                  .sign_in = session.empty() ? "aws sso login --profile " + profile
                                             : "aws sso login --sso-session " + session};
    const std::string start_url = needed(center, "sso_start_url");
    source.sso.token_file = sso_token_file(environment_, session.empty() ? start_url : session);
    return source;
  }

  // The profile's role, with any source of its credentials.
  std::optional<CredentialSource> role_of(const std::string& profile) {
    const ProfileKeys keys = keys_of(profile);
    if (!keys.contains("role_arn")) return std::nullopt;
    if (keys.contains("mfa_serial")) {
      throw AccountError(fmt::format(
          "profile `{}`: `mfa_serial` is not supported, as it needs a prompt", profile));
    }
    CredentialSource role;
    role.role_arn = value_of(keys, "role_arn");
    role.session_name = value_of(keys, "role_session_name");
    role.token_file = value_of(keys, "web_identity_token_file");
    if (!role.token_file.empty()) return web_identity(role);
    role.kind = Kind::assumed_role;
    if (role.session_name.empty()) role.session_name = kSessionName;
    role.external_id = value_of(keys, "external_id");
    role.duration = duration_of(profile, value_of(keys, "duration_seconds"));
    role.base.push_back(base_of(profile, keys));
    return role;
  }

  static std::int64_t duration_of(const std::string& profile, const std::string& text) {
    std::int64_t duration = 3600;
    if (text.empty()) return duration;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), duration);
    if (error != std::errc() || end != text.data() + text.size() || duration < 900) {
      throw AccountError(
          fmt::format("profile `{}`: `duration_seconds` is no number >= 900", profile));
    }
    return duration;
  }

  CredentialSource base_of(const std::string& profile, const ProfileKeys& keys) {
    if (!seen_.insert(profile).second) {
      throw AccountError(fmt::format("profile `{}` is its own `source_profile`", profile));
    }
    const std::string source = value_of(keys, "source_profile");
    const std::string kind = value_of(keys, "credential_source");
    if (!source.empty()) {
      // Its own keys override its role.
      if (auto found = file_keys(source)) return *found;
      if (auto role = source == profile ? std::nullopt : role_of(source)) return *role;
      if (auto found = own_source(source)) return *found;
      throw AccountError(
          fmt::format("profile `{}`: source_profile `{}` has no credentials", profile, source));
    }
    std::optional<CredentialSource> base;
    if (kind == "Environment") base = environment_keys();
    if (kind == "EcsContainer") base = container();
    if (kind == "Ec2InstanceMetadata") base = metadata();
    if (base) return *base;
    throw AccountError(fmt::format("profile `{}` has a `role_arn`, but {}", profile,
                                   kind.empty()
                                       ? "neither `source_profile` nor `credential_source`"
                                       : "its `credential_source` " + kind + " has no keys"));
  }

  CredentialSource environment_identity() const {
    CredentialSource source;
    source.token_file = variable(environment_, "AWS_WEB_IDENTITY_TOKEN_FILE");
    source.role_arn = variable(environment_, "AWS_ROLE_ARN");
    source.session_name = variable(environment_, "AWS_ROLE_SESSION_NAME");
    return source;
  }

  static std::optional<CredentialSource> web_identity(CredentialSource source) {
    if (source.token_file.empty()) return std::nullopt;
    if (source.role_arn.empty()) {
      throw AccountError("a web identity token file is set, but no role to assume");
    }
    source.kind = Kind::web_identity;
    if (source.session_name.empty()) source.session_name = kSessionName;
    return source;
  }

  std::optional<CredentialSource> container() const {
    CredentialSource source;
    source.kind = Kind::container;
    const std::string path = variable(environment_, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    source.url = path.empty() ? variable(environment_, "AWS_CONTAINER_CREDENTIALS_FULL_URI")
                              : kContainerHost + path;
    source.token_file = variable(environment_, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    source.token = variable(environment_, "AWS_CONTAINER_AUTHORIZATION_TOKEN");
    if (source.url.empty()) return std::nullopt;
    return source;
  }

  CredentialSource metadata() const {
    if (is_true(variable(environment_, "AWS_EC2_METADATA_DISABLED"))) {
      throw AccountError(
          "no credentials in the environment or AWS's files, and AWS_EC2_METADATA_DISABLED is set");
    }
    CredentialSource source;
    source.kind = Kind::instance_metadata;
    source.url = variable(environment_, "AWS_EC2_METADATA_SERVICE_ENDPOINT");
    if (source.url.empty()) source.url = kMetadataHost;
    if (source.url.ends_with('/')) source.url.pop_back();
    return source;
  }

  const config::Environment& environment_;
  ProfileFiles files_;
  std::string profile_;
  bool is_explicit_ = false;
  std::set<std::string> seen_;
};

}  // namespace

Account find_account(const std::optional<std::string>& profile,
                     const std::optional<std::string>& region,
                     const config::Environment& environment) {
  Finder finder(profile, environment);
  Account account;
  account.region = region.value_or("");
  if (account.region.empty()) account.region = finder.region();
  if (account.region.empty()) {
    throw AccountError("no region is set: neither `region-name` nor AWS_DEFAULT_REGION");
  }
  account.credentials = finder.credentials();
  account.ca_file = finder.ca_file();
  for (const ServiceKind service : kAllServices) {
    std::string url = finder.endpoint(service);
    if (!url.empty()) account.endpoints.emplace(service, std::move(url));
  }
  return account;
}

}  // namespace nodepool::drivers::aws
