#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace nodepool::drivers::aws {

// What calls are signed with. Never to be logged.
struct Keys {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token;  // empty: they are long-lived

  friend bool operator==(const Keys&, const Keys&) = default;
};

// A sign-in to IAM Identity Center. `aws sso login` leaves its token in a file.
struct SsoSource {
  std::string region;  // of the Identity Center
  std::string account_id;
  std::string role_name;
  std::string token_file;
  std::string sign_in;  // the command by which a person signs in

  friend bool operator==(const SsoSource&, const SsoSource&) = default;
};

// Where the keys come from.
struct CredentialSource {
  enum class Kind {
    keys,               // as they stand in a file or in the environment
    assumed_role,       // of STS, asked with the keys of `base`
    web_identity,       // of STS, for the token in `token_file`
    single_sign_on,     // of IAM Identity Center, for the token of a sign-in
    program,            // of a program's output
    container,          // of the address that a container is given
    instance_metadata,  // of the instance that this process runs on
  };

  Kind kind = Kind::keys;
  Keys keys = {};
  std::vector<CredentialSource> base = {};  // one, for an assumed role
  std::string role_arn = {};
  std::string session_name = {};
  std::string external_id = {};  // empty: none
  std::int64_t duration = 3600;  // seconds, of an assumed role
  std::string token_file = {};   // of a web identity, or a container's authorization
  std::string token = {};        // a container's authorization, if there is no file
  std::string url = {};          // of the container's or the instance's service
  SsoSource sso = {};
  std::vector<std::string> command = {};  // the program and its arguments

  friend bool operator==(const CredentialSource&, const CredentialSource&) = default;
};

// The services that are called, by the names that the variables AWS_ENDPOINT_URL_… have for them.
enum class ServiceKind { ec2, service_quotas, sts, s3, ebs, sso, sso_oidc };
inline constexpr ServiceKind kAllServices[] = {ServiceKind::ec2,     ServiceKind::service_quotas,
                                               ServiceKind::sts,     ServiceKind::s3,
                                               ServiceKind::ebs,     ServiceKind::sso,
                                               ServiceKind::sso_oidc};

// "EC2", "SERVICE_QUOTAS", …
std::string_view variable_name(ServiceKind service);
// "ec2", "servicequotas", …: in a host's name, a signature, messages.
std::string_view host_name(ServiceKind service);

// An account in a region, and how to reach it.
struct Account {
  std::string region;
  CredentialSource credentials;
  std::map<ServiceKind, std::string> endpoints = {};  // those that are configured
  std::string ca_file = {};                           // empty: the system's authorities

  // "https://ec2.eu-central-1.amazonaws.com": without a slash at its end.
  std::string endpoint(ServiceKind service) const { return endpoint(service, region); }
  // The same of a service that is in another region.
  std::string endpoint(ServiceKind service, const std::string& in_region) const;

  friend bool operator==(const Account&, const Account&) = default;
};

// What the files and the environment say cannot be used.
class AccountError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace nodepool::drivers::aws
