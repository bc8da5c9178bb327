#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "api/client.h"
#include "config/schema.h"

namespace nodepool::api {

// The clients that come with a token. The file has what a token is checked against, not the token:
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

  // Reads such a file. If there is none, there are no tokens: deleting it revokes them all. One
  // that other users may write is refused, since they could give themselves any right. Throws
  // config::ConfigError.
  static Tokens read(const std::string& path);

  // Reads the text of such a file; `file` is for errors. Throws config::ConfigError.
  static Tokens parse(const std::string& text, const std::string& file);

  // The client whose token this is; null if it is nobody's, or no longer valid at `now`, in seconds
  // since the epoch. Takes the same time for all tokens that are wrong.
  const Client* find(std::string_view token, double now) const;

  std::size_t size() const { return by_hash_.size(); }

 private:
  struct Entry {
    Client client;
    std::optional<double> expires;  // seconds since the epoch; nothing: never
  };
  // A token is long and random, so what it hashes to is looked up like any key: who could guess by
  // the time it takes would have to guess hashes.
  std::map<std::string, Entry, std::less<>> by_hash_;
};

// A new token: 256 random bits as text. Throws std::runtime_error if there are none.
std::string new_token();

// The file's entry for a client, without its token: lines of YAML. `max_lease` and `expires` as the
// file has them; empty texts are left out.
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

// What the file may have, for the manual.
const config::Schema& token_file_schema();

// "sha256:" and 64 hexadecimal digits. A token needs no slower hash: it is no password, but 256
// random bits.
std::string hash_of(std::string_view token);

// 64 hexadecimal digits.
std::string sha256(std::string_view text);

}  // namespace nodepool::api
