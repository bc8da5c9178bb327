#pragma once

#include <chrono>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "config/environment.h"

namespace nodepool::drivers::gce {

// Where the token of another identity provider is: in a file, at a URL, or in the output of a
// program. One of these is set.
struct SubjectTokenSource {
  std::string file = {};
  std::string url = {};
  std::vector<std::pair<std::string, std::string>> headers = {};  // for the URL; never log them
  std::string field = {};  // of the JSON object in the file or at the URL; empty: all is the token
  std::vector<std::string> program = {};  // and its arguments
  config::Environment variables = {};     // for the program
  std::chrono::milliseconds time_limit = {};

  friend bool operator==(const SubjectTokenSource&, const SubjectTokenSource&) = default;
};

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
  SubjectTokenSource subject_token = {};
  // Of any kind but the metadata server: the service account to act as.
  std::string impersonation_url = {};       // empty: none
  std::vector<std::string> delegates = {};  // service accounts on the way to it
  std::string quota_project = {};           // the project whose API quota calls take; or empty

  friend bool operator==(const CredentialSource&, const CredentialSource&) = default;
};

// A credentials file is missing or invalid.
class CredentialError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Finds Google's Application Default Credentials: the file GOOGLE_APPLICATION_CREDENTIALS, gcloud's
// (`gcloud auth application-default login`), or the metadata server (GCE_METADATA_HOST). Makes no
// calls. A file may name a program only with GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1. Throws
// CredentialError, without secrets.
CredentialSource find_credentials(const config::Environment& environment);

// The files that find_credentials() reads, whether or not they exist.
std::set<std::string> credential_files(const config::Environment& environment);

}  // namespace nodepool::drivers::gce
