#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace nodepool::drivers::aws {

// The keys that sign calls. Never log them.
struct Keys {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token;  // empty: long-lived keys

  friend bool operator==(const Keys&, const Keys&) = default;
};

// The source of the keys.
struct CredentialSource {
  enum class Kind {
    keys,               // from a file or the environment
    assumed_role,       // from STS, with the keys of `base`
    web_identity,       // from STS, with the token in `token_file`
    program,            // from a program's output
    container,          // from the container's credentials service
    instance_metadata,  // from the metadata service of this instance
  };

  Kind kind = Kind::keys;
  Keys keys = {};
  std::vector<CredentialSource> base = {};  // one, for an assumed role
  std::string role_arn = {};
  std::string session_name = {};
  std::string external_id = {};           // empty: none
  std::int64_t duration = 3600;           // seconds, of an assumed role
  std::string token_file = {};            // of a web identity, or a container's authorization
  std::string token = {};                 // a container's authorization, without a file
  std::string url = {};                   // of the container's or the instance's service
  std::vector<std::string> command = {};  // the program and its arguments
  // Of the instance's service: whether it must issue session tokens (IMDSv2). If not, a service
  // that does not issue one within this time, in seconds, is called without it (IMDSv1).
  bool needs_session = false;
  std::int64_t session_timeout = 1;

  friend bool operator==(const CredentialSource&, const CredentialSource&) = default;
};

// The services that the driver calls.
enum class ServiceKind { ec2, service_quotas, sts, s3, ebs };
inline constexpr ServiceKind kAllServices[] = {ServiceKind::ec2, ServiceKind::service_quotas,
                                               ServiceKind::sts, ServiceKind::s3, ServiceKind::ebs};

// "ec2", "servicequotas", …: for host names, signatures and messages.
std::string_view host_name(ServiceKind service);

// An account in a region, and its endpoints.
struct Account {
  std::string region;
  CredentialSource credentials;
  std::map<ServiceKind, std::string> endpoints = {};  // configured ones
  std::string ca_file = {};                           // see http::TransferOptions
  bool is_fips = false;                   // whether the hosts have validated cryptography
  std::set<ServiceKind> dual_stack = {};  // services with hosts for IPv4 and IPv6

  // "https://ec2.eu-central-1.amazonaws.com": without a slash at the end.
  std::string endpoint(ServiceKind service) const;

  friend bool operator==(const Account&, const Account&) = default;
};

// The files or the environment are invalid.
class AccountError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace nodepool::drivers::aws
