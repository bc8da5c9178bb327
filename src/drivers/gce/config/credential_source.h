#pragma once

#include <optional>
#include <set>
#include <stdexcept>
#include <string>

#include "config/environment.h"

namespace nodepool::drivers::gce {

// The source of access tokens.
struct CredentialSource {
  enum class Kind {
    service_account,   // from `token_url`, for a JWT signed with a private key
    authorized_user,   // from `token_url`, for a refresh token
    external_account,  // from `token_url`, for a token of another identity provider
    metadata_server,   // from `token_url`, for the service account of this machine
  };

  Kind kind = Kind::metadata_server;
  std::string token_url = {};
  std::string email = {};  // of a service account
  std::string private_key_id = {};
  std::string private_key = {};    // PEM. Never log it.
  std::string client_id = {};      // of an authorized user
  std::string client_secret = {};  // never log it
  std::string refresh_token = {};  // never log it
  // Of an external account (workload identity federation).
  std::string audience = {};
  std::string subject_token_type = {};
  std::string subject_token_file = {};
  std::string subject_token_field = {};  // of the file's JSON object; empty: the file is the token
  std::string impersonation_url = {};    // of a service account; empty: none
  std::string quota_project = {};  // the project whose API quota an authorized user takes; or empty

  friend bool operator==(const CredentialSource&, const CredentialSource&) = default;
};

// A credentials file is missing or invalid.
class CredentialError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Finds Google's Application Default Credentials: the file GOOGLE_APPLICATION_CREDENTIALS, gcloud's
// (`gcloud auth application-default login`), or the metadata server (GCE_METADATA_HOST). Makes no
// calls. Throws CredentialError, without secrets.
CredentialSource find_credentials(const config::Environment& environment);

// The files that find_credentials() reads, whether or not they exist.
std::set<std::string> credential_files(const config::Environment& environment);

}  // namespace nodepool::drivers::gce
