#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "config/environment.h"

namespace nodepool::drivers::ibmvpc {

// How to get access tokens of IBM Cloud's IAM.
struct IamCredentials {
  enum class Kind {
    api_key,       // from `url`
    bearer_token,  // used as it is, cannot be renewed
    container,     // from `url`, for the compute resource token of this container
    instance,      // from the metadata service of this instance of a VPC
  };

  Kind kind = Kind::api_key;
  std::string url = {};           // for tokens; of an instance: of the metadata service
  std::string api_key = {};       // never log it
  std::string bearer_token = {};  // never log it
  // The trusted profile of a container or an instance, by id, name or CRN. At most one is set; all
  // are empty for the default one of an instance.
  std::string profile_id = {};
  std::string profile_name = {};
  std::string profile_crn = {};
  std::vector<std::string> resource_token_files = {};  // of a container; the first readable one

  friend bool operator==(const IamCredentials&, const IamCredentials&) = default;
};

// Credentials are missing or invalid.
class IamCredentialError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The files in which credentials may be, whether or not they exist, in order: `configured`, or
// IBM_CREDENTIALS_FILE, or `ibm-credentials.env` in the working directory and the home directory.
std::vector<std::string> credentials_files(const std::optional<std::string>& configured,
                                           const config::Environment& environment);

// Finds credentials like IBM's SDKs for the service `vpc`: the properties VPC_… in the first of
// these files that exists, or in the environment if it has none. Makes no calls. Throws
// IamCredentialError, without secrets; also if a file is named and cannot be read.
IamCredentials find_credentials(const std::optional<std::string>& configured,
                                const config::Environment& environment);

}  // namespace nodepool::drivers::ibmvpc
