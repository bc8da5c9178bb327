#include "drivers/aws/account/find_account.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
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
constexpr const char* kMetadataHostIpv6 = "http://[fd00:ec2::254]";

std::string value_of(const ProfileKeys& keys, std::string_view key) {
  const auto found = keys.find(key);
  return found == keys.end() ? std::string() : found->second;
}

bool is_true(const std::string& text) {
  return text == "true" || text == "True" || text == "TRUE" || text == "1";
}

// The number in `text`, or `usual` if that is empty. Throws AccountError if it is below `least`.
std::int64_t number_in(const std::string& text, std::int64_t usual, std::int64_t least,
                       const std::string& setting) {
  std::int64_t number = usual;
  if (text.empty()) return number;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least) {
    throw AccountError(fmt::format("{} is no number >= {}", setting, least));
  }
  return number;
}

// The first text that is not empty.
std::string first_of(std::initializer_list<std::string> texts) {
  const auto* found = std::ranges::find_if_not(texts, &std::string::empty);
  return found == texts.end() ? std::string() : *found;
}

ProfileKeys section_of(const ProfileSections& sections, std::string_view name) {
  const auto found = sections.find(name);
  return found == sections.end() ? ProfileKeys() : found->second;
}

// Nothing if there is no access key. Throws AccountError(problem) if there is no secret for it.
std::optional<CredentialSource> source_of(Keys keys, const std::string& problem) {
  if (keys.access_key_id.empty()) return std::nullopt;
  if (keys.secret_access_key.empty()) throw AccountError(problem);
  return CredentialSource{.keys = std::move(keys)};
}

// The name of a service in `[services]`, and in upper case in the variables AWS_ENDPOINT_URL_….
std::string key_of(ServiceKind service) {
  if (service == ServiceKind::service_quotas) return "service_quotas";
  return std::string(host_name(service));
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return text;
}

class Finder {
 public:
  Finder(const std::optional<std::string>& profile, const config::Environment& environment)
      : environment_(environment),
        files_(read_profile_files(environment)),
        is_explicit_(profile.has_value()) {
    const std::string named =
        first_of({profile.value_or(""), variable("AWS_PROFILE"), variable("AWS_DEFAULT_PROFILE")});
    profile_ = named.empty() ? "default" : named;
    if (!named.empty() && !files_.profiles.contains(named) && !files_.credentials.contains(named)) {
      throw AccountError(
          fmt::format("no profile `{}` in AWS's credentials and config files", named));
    }
    keys_ = keys_of(profile_);
  }

  std::string region() const { return setting("AWS_DEFAULT_REGION", "region"); }

  std::string ca_file() const { return setting("AWS_CA_BUNDLE", "ca_bundle"); }

  bool is_fips() const { return is_true(setting("AWS_USE_FIPS_ENDPOINT", "use_fips_endpoint")); }

  bool is_dual_stack(ServiceKind service) const {
    const bool is_for_s3 = is_true(value_of(keys_, "s3.use_dualstack_endpoint"));
    return (service == ServiceKind::s3 && is_for_s3) ||
           is_true(setting("AWS_USE_DUALSTACK_ENDPOINT", "use_dualstack_endpoint"));
  }

  std::string endpoint(ServiceKind service) const {
    const std::string ignored =
        setting("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "ignore_configured_endpoint_urls");
    if (is_true(ignored)) return {};
    const ProfileKeys services = section_of(files_.services, value_of(keys_, "services"));
    const std::string key = key_of(service);
    return first_of({variable("AWS_ENDPOINT_URL_" + upper(key)), variable("AWS_ENDPOINT_URL"),
                     value_of(services, key + ".endpoint_url"), value_of(keys_, "endpoint_url")});
  }

  CredentialSource credentials() {
    std::optional<CredentialSource> found;
    if (!is_explicit_) found = environment_keys();
    if (!found) found = role_of(profile_);
    if (!found && !is_explicit_) found = environment_identity();
    if (!found) found = own_source(profile_);
    if (!found) found = container();
    return found ? *found : metadata();
  }

 private:
  std::string variable(std::string_view name) const { return config::variable(environment_, name); }

  // From the environment, else from the profile; empty: not set.
  std::string setting(std::string_view variable_name, std::string_view key) const {
    return first_of({variable(variable_name), value_of(keys_, key)});
  }

  // From both files; the credentials file overrides the config file.
  ProfileKeys keys_of(const std::string& profile) const {
    ProfileKeys keys = section_of(files_.credentials, profile);
    keys.merge(section_of(files_.profiles, profile));
    return keys;
  }

  std::optional<CredentialSource> environment_keys() const {
    return source_of({.access_key_id = variable("AWS_ACCESS_KEY_ID"),
                      .secret_access_key = variable("AWS_SECRET_ACCESS_KEY"),
                      .session_token = first_of(
                          {variable("AWS_SESSION_TOKEN"), variable("AWS_SECURITY_TOKEN")})},
                     "AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not");
  }

  std::optional<CredentialSource> file_keys(const std::string& profile) const {
    const ProfileKeys keys = keys_of(profile);
    return source_of(
        {.access_key_id = value_of(keys, "aws_access_key_id"),
         .secret_access_key = value_of(keys, "aws_secret_access_key"),
         .session_token = value_of(keys, "aws_session_token")},
        fmt::format("profile `{}` has an aws_access_key_id, but no aws_secret_access_key",
                    profile));
  }

  // The profile's own keys or program.
  std::optional<CredentialSource> own_source(const std::string& profile) const {
    const ProfileKeys keys = keys_of(profile);
    const auto command = keys.find("credential_process");
    const bool has_credentials =
        section_of(files_.credentials, profile).contains("aws_access_key_id");
    if (command != keys.end() && !has_credentials) return program(profile, command->second);
    auto found = file_keys(profile);
    if (!found) refuse_sign_in(profile);
    return found;
  }

  static CredentialSource program(const std::string& profile, const std::string& command) {
    try {
      return {.kind = Kind::program, .command = config::split_command(command)};
    } catch (const std::runtime_error&) {  // its text may contain a secret
      throw AccountError(
          fmt::format("profile `{}`: `credential_process` is no valid command", profile));
    }
  }

  // AWS's tools would sign in to IAM Identity Center.
  void refuse_sign_in(const std::string& profile) const {
    const auto has_sign_in = [](const ProfileKeys& keys) {
      return keys.contains("sso_account_id") || keys.contains("sso_role_name");
    };
    if (!has_sign_in(keys_of(profile))) return;
    const bool is_in_config = has_sign_in(section_of(files_.profiles, profile));
    throw AccountError(fmt::format(
        "{0}: the only credentials of profile `{1}` are a sign-in to IAM Identity Center (`sso_…`),"
        " which is not supported; add `credential_process = aws configure export-credentials"
        " --profile {1} --format process` to the profile",
        is_in_config ? config_file(environment_) : credentials_file(environment_), profile));
  }

  // The profile's role, with any source of its credentials.
  std::optional<CredentialSource> role_of(const std::string& profile) {
    const ProfileKeys keys = keys_of(profile);
    if (!keys.contains("role_arn")) return std::nullopt;
    if (keys.contains("mfa_serial")) {
      throw AccountError(fmt::format(
          "profile `{}`: `mfa_serial` is not supported, as it needs a prompt", profile));
    }
    CredentialSource role{.kind = Kind::assumed_role,
                          .role_arn = value_of(keys, "role_arn"),
                          .session_name = value_of(keys, "role_session_name"),
                          .token_file = value_of(keys, "web_identity_token_file")};
    if (!role.token_file.empty()) return web_identity(role);
    role.session_name = first_of({role.session_name, kSessionName});
    role.external_id = value_of(keys, "external_id");
    role.duration = number_in(value_of(keys, "duration_seconds"), 3600, 900,
                              fmt::format("profile `{}`: `duration_seconds`", profile));
    role.base.push_back(base_of(profile, keys));
    return role;
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

  std::optional<CredentialSource> environment_identity() const {
    return web_identity({.role_arn = variable("AWS_ROLE_ARN"),
                         .session_name = variable("AWS_ROLE_SESSION_NAME"),
                         .token_file = variable("AWS_WEB_IDENTITY_TOKEN_FILE")});
  }

  static std::optional<CredentialSource> web_identity(CredentialSource source) {
    if (source.token_file.empty()) return std::nullopt;
    if (source.role_arn.empty()) {
      throw AccountError("a web identity token file is set, but no role to assume");
    }
    source.kind = Kind::web_identity;
    source.session_name = first_of({source.session_name, kSessionName});
    return source;
  }

  std::optional<CredentialSource> container() const {
    const std::string path = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const std::string url =
        path.empty() ? variable("AWS_CONTAINER_CREDENTIALS_FULL_URI") : kContainerHost + path;
    if (url.empty()) return std::nullopt;
    return CredentialSource{.kind = Kind::container,
                            .token_file = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"),
                            .token = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN"),
                            .url = url};
  }

  CredentialSource metadata() const {
    if (is_true(variable("AWS_EC2_METADATA_DISABLED"))) {
      throw AccountError(
          "no credentials in the environment or AWS's files, and AWS_EC2_METADATA_DISABLED is set");
    }
    CredentialSource source{.kind = Kind::instance_metadata};
    source.url =
        first_of({setting("AWS_EC2_METADATA_SERVICE_ENDPOINT", "ec2_metadata_service_endpoint"),
                  metadata_host()});
    if (source.url.ends_with('/')) source.url.pop_back();
    source.needs_session =
        is_true(setting("AWS_EC2_METADATA_V1_DISABLED", "ec2_metadata_v1_disabled"));
    source.session_timeout = number_in(
        setting("AWS_METADATA_SERVICE_TIMEOUT", "metadata_service_timeout"), source.session_timeout,
        1, "AWS_METADATA_SERVICE_TIMEOUT (`metadata_service_timeout`)");
    return source;
  }

  std::string metadata_host() const {
    const std::string mode = upper(
        setting("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "ec2_metadata_service_endpoint_mode"));
    if (!mode.empty() && mode != "IPV4" && mode != "IPV6") {
      throw AccountError(
          "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE (`ec2_metadata_service_endpoint_mode`) is "
          "neither "
          "`IPv4` nor `IPv6`");
    }
    const bool is_ipv6 =
        mode.empty() ? is_true(setting("AWS_IMDS_USE_IPV6", "imds_use_ipv6")) : mode == "IPV6";
    return is_ipv6 ? kMetadataHostIpv6 : kMetadataHost;
  }

  const config::Environment& environment_;
  ProfileFiles files_;
  bool is_explicit_;
  std::string profile_;
  ProfileKeys keys_;  // of the profile
  std::set<std::string> seen_;
};

}  // namespace

Account find_account(const std::optional<std::string>& profile,
                     const std::optional<std::string>& region,
                     const config::Environment& environment) {
  Finder finder(profile, environment);
  Account account;
  account.region = first_of({region.value_or(""), finder.region()});
  if (account.region.empty()) {
    throw AccountError("no region is set: neither `region-name` nor AWS_DEFAULT_REGION");
  }
  account.credentials = finder.credentials();
  account.ca_file = finder.ca_file();
  account.is_fips = finder.is_fips();
  for (const ServiceKind service : kAllServices) {
    if (finder.is_dual_stack(service)) account.dual_stack.insert(service);
    std::string url = finder.endpoint(service);
    if (!url.empty()) account.endpoints.emplace(service, std::move(url));
  }
  return account;
}

}  // namespace nodepool::drivers::aws
