#pragma once

#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

#include "config/environment.h"

namespace nodepool::drivers::ibmvpc {

// How to get access tokens of IBM Cloud's IAM. One of the first two is set.
struct IamCredentials {
  std::string api_key = {};       // never log it
  std::string bearer_token = {};  // used as it is, cannot be renewed. Never log it.
  std::string token_url = {};     // for the API key

  friend bool operator==(const IamCredentials&, const IamCredentials&) = default;
};

// Credentials are missing or invalid.
class IamCredentialError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The file with credentials: `configured`, IBM_CREDENTIALS_FILE, or `ibm-credentials.env` in the
// working directory or the home directory if it exists. Empty if there is none.
std::string credentials_file(const std::optional<std::string>& configured,
                             const config::Environment& environment);

// Finds credentials like IBM's SDKs for the service `vpc`: the properties VPC_… in `file`, which
// may be empty, or in the environment if the file has none. Makes no calls. Throws
// IamCredentialError, without secrets.
IamCredentials find_credentials(const std::string& file, const config::Environment& environment);

// The value of a variable; empty if it is not set.
std::string variable(const config::Environment& environment, std::string_view name);

}  // namespace nodepool::drivers::ibmvpc
