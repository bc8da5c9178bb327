#pragma once

#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

#include "config/environment.h"

namespace nodepool::drivers::azure {

// The source of access tokens.
struct TokenSource {
  enum class Kind {
    client_secret,
    client_certificate,
    federated_token,   // of a workload identity
    managed_identity,  // of this machine, from the metadata service
  };

  Kind kind = Kind::managed_identity;
  // Of the login service with the tenant's token, or of the metadata service.
  std::string token_url = {};
  std::string audience = {};              // of the tokens; ends with "/"
  std::string client_id = {};             // empty: the machine's own identity
  std::string client_secret = {};         // never log it
  std::string certificate = {};           // PEM, with the private key. Never log it.
  std::string federated_token_file = {};  // read for each token, because it is replaced

  friend bool operator==(const TokenSource&, const TokenSource&) = default;
};

// A subscription, and how to call its API.
struct Subscription {
  std::string id;
  std::string base_url;  // of Azure Resource Manager, without "/" at the end
  TokenSource credentials;

  friend bool operator==(const Subscription&, const Subscription&) = default;
};

// A credentials file is missing or invalid.
class AuthFileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Reads the credentials file, of the form of `az … --sdk-auth`; without one (empty), takes the
// variables of Azure's SDKs. Makes no calls. Throws AuthFileError, without secrets.
Subscription find_subscription(const std::string& auth_path,
                               const config::Environment& environment);

// The files that find_subscription() reads, whether or not they exist.
std::set<std::string> credential_files(const std::string& auth_path,
                                       const config::Environment& environment);

}  // namespace nodepool::drivers::azure
