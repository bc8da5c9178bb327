#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "api/client.h"
#include "config/schema.h"

namespace nodepool::api {

// The clients that authenticate with a token. The file has the hashes of tokens, not the tokens:
//
//   tokens:
//     - name: gitlab
//       hash: sha256:4c7d…
//       scope: request
//       tenant: acme
//       max-nodes: 20
//       max-lease: 4h
class Tokens {
 public:
  Tokens() = default;

  // Reads such a file. A missing file has no tokens: deleting it revokes them all. Throws
  // config::ConfigError, also if users other than root and the launcher's may write the file.
  static Tokens read(const std::string& path);

  // Parses the text of such a file; errors name `file`. Throws config::ConfigError.
  static Tokens parse(const std::string& text, const std::string& file);

  // The client of this token. Returns null if the token is unknown or has expired at `now`, in
  // seconds since the epoch. Takes the same time for all wrong tokens.
  const Client* find(std::string_view token, double now) const;

  std::size_t size() const { return by_hash_.size(); }

 private:
  struct Entry {
    Client client;
    std::optional<double> expires;  // seconds since the epoch; nothing: never
  };
  // An ordinary lookup is safe: tokens are long and random, so its timing tells only about hashes.
  std::map<std::string, Entry, std::less<>> by_hash_;
};

// A new token: 256 random bits as text. Throws std::runtime_error if the random generator fails.
std::string new_token();

// The file's entry for a token, as lines of YAML. All values are as in the file; empty ones are
// left out.
struct TokenEntry {
  std::string name;
  std::string scope;
  std::string hash;
  std::string tenant = {};
  std::string labels = {};      // separated by commas
  std::string priorities = {};  // the same
  std::string max_nodes = {};
  std::string max_lease = {};
  std::string expires = {};
};
std::string to_yaml(const TokenEntry& entry);

// The schema of the file.
const config::Schema& token_file_schema();

// "sha256:" and 64 hexadecimal digits. No slower hash is needed: a token is not a password, but 256
// random bits.
std::string hash_of(std::string_view token);

// 64 hexadecimal digits.
std::string sha256(std::string_view text);

}  // namespace nodepool::api
