#include "api/token_file.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <iomanip>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "config/check.h"
#include "config/problem.h"
#include "config/section.h"
#include "config/yaml.h"

namespace nodepool::api {

namespace {

using config::Section;

constexpr std::size_t kTokenFileSize = std::size_t{4} << 20;
constexpr std::string_view kAnyTenant = "any";

config::Schema token_schema() {
  return {
      .description = "A client of the API.",
      .fields = {
          {.key = "name",
           .type = config::string_matching("[A-Za-z0-9][A-Za-z0-9._-]{0,62}",
                                           "at most 63 letters, digits, `.`, `_` and `-`, of "
                                           "which the first is a letter or digit"),
           .required = config::Required::always,
           .description =
               "Name of the client, which owns its requests and leases. Letters, digits, `.`, `_` "
               "and `-`. Several tokens may have the same name during a rotation."},
          {.key = "hash",
           .type = config::string_matching("sha256:[0-9a-f]{64}",
                                           "`sha256:` and the 64 digits that `nodepool "
                                           "token-create` prints"),
           .required = config::Required::always,
           .description = "SHA-256 of the token, as `nodepool token-create` prints it."},
          {.key = "scope",
           .type = config::word({"read", "request", "admin"}),
           .required = config::Required::always,
           .description =
               "`read`: read. `request`: also request nodes, and renew, hold and release its own. "
               "`admin`: also renew, hold and release those of others, hold and delete any node, "
               "build and pause images."},
          {.key = "tenant",
           .type = config::string(),
           .default_note = "none",
           .description = "Tenant whose limits count for its requests. The token can see and "
                          "change nothing of other tenants. `any`: all tenants; a request may name "
                          "one. Not set: all tenants are visible, and requests may not name one."},
          {.key = "labels",
           .type = config::list_of(config::string()),
           .default_note = "all",
           .description = "Labels that it may request."},
          {.key = "priorities",
           .type = config::list_of(config::word({"high", "normal", "low"})),
           .default_note = "all",
           .description = "Priorities that its requests may have."},
          {.key = "max-nodes",
           .type = config::integer_between(0, 1'000'000),
           .default_note = "unlimited",
           .unit = "nodes",
           .description = "Maximum number of nodes that it has and waits for, together."},
          {.key = "max-lease",
           .type = config::duration(),
           .default_note = "unlimited",
           .description =
               "Maximum duration of its leases, renewals included, and of its holds: `90m`, `4h`."},
          {.key = "rate",
           .type = config::lenient_number(),
           .default_value = "20",
           .unit = "calls a second",
           .description = "Average rate limit of its calls."},
          {.key = "expires",
           .type = config::anything(),
           .default_note = "never",
           .description = "Day on which it expires, at midnight UTC: `2027-01-31`. A past day: it "
                          "has expired."},
      }};
}

std::optional<double> midnight(const std::string& day) {
  std::tm time{};
  std::istringstream stream(day);
  stream >> std::get_time(&time, "%Y-%m-%d");
  if (stream.fail() || stream.peek() != std::istringstream::traits_type::eof()) {
    return std::nullopt;
  }
  return static_cast<double>(::timegm(&time));
}

Client::Scope scope_of(const std::string& word) {
  if (word == "admin") return Client::Scope::admin;
  return word == "request" ? Client::Scope::request : Client::Scope::read;
}

// Throws if the list is present and empty: it must not mean "all".
std::vector<std::string> allowed(const Section& section, std::string_view key) {
  std::vector<std::string> texts = section.texts(key);
  if (texts.empty() && section.has(key)) {
    throw section.error(key, "is empty: it would allow nothing",
                        fmt::format("leave it out to allow all {}", key));
  }
  return texts;
}

Client read_client(const Section& section) {
  Client client{.name = section.text("name"), .scope = scope_of(section.text("scope"))};
  client.tenant = section.optional_text("tenant").value_or("");
  client.may_name_tenants = client.tenant == kAnyTenant;
  if (client.may_name_tenants) client.tenant.clear();
  client.labels = allowed(section, "labels");
  client.priorities = allowed(section, "priorities");
  if (const auto nodes = section.optional_integer("max-nodes")) {
    client.max_nodes = static_cast<std::size_t>(*nodes);
  }
  if (const auto lease = section.optional_seconds("max-lease")) {
    if (*lease <= 0) throw section.error("max-lease", "must be more than 0", "for example `4h`");
    client.max_lease = std::chrono::seconds(*lease);
  }
  client.rate = section.number("rate");
  constexpr double kHighestRate = 1e6;
  if (!(client.rate > 0 && client.rate <= kHighestRate)) {
    throw section.error("rate", "must be more than 0 and at most 1000000 calls a second");
  }
  return client;
}

}  // namespace

const config::Schema& token_file_schema() {
  static const config::Schema schema{
      .description = "The clients of the API.",
      .fields = {{.key = "tokens",
                  .type = config::list_of(config::section(token_schema())),
                  .required = config::Required::always,
                  .description = "One entry for each token."}}};
  return schema;
}

Tokens Tokens::read(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0 && errno == ENOENT) return {};
  // If stat() fails otherwise, read_file() reports why.
  const bool is_foreign = status.st_uid != 0 && status.st_uid != ::geteuid();
  if (is_foreign || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    throw config::ConfigError(
        {.file = path,
         .message = "is writable by other users, who could grant themselves any right",
         .hint = "run chmod go-w; the owner must be root or the launcher's user"});
  }
  return parse(config::read_file(path, kTokenFileSize), path);
}

Tokens Tokens::parse(const std::string& text, const std::string& file) {
  const config::Value document = config::parse_yaml(text, file);
  // Rights depend on it: every problem rejects the file.
  const std::vector<config::Problem> problems =
      config::check(document, token_file_schema(), {.file = file});
  if (!problems.empty()) throw config::ConfigError(problems.front());
  const Section root(document, token_file_schema(), file, "");
  Tokens tokens;
  for (const Section& section : root.sections("tokens")) {
    Entry entry{.client = read_client(section), .expires = {}};
    if (const auto day = section.optional_text("expires")) {
      const std::optional<double> end = midnight(*day);
      if (!end) throw section.error("expires", "must be a day", "for example `2027-01-31`");
      entry.expires = end;
    }
    const std::string hash = section.text("hash");
    if (tokens.by_hash_.contains(hash)) throw section.error("hash", "occurs twice");
    tokens.by_hash_.emplace(hash, std::move(entry));
  }
  return tokens;
}

const Client* Tokens::find(std::string_view token, double now) const {
  const auto found = by_hash_.find(hash_of(token));
  if (found == by_hash_.end()) return nullptr;
  const bool is_over = found->second.expires && now >= *found->second.expires;
  return is_over ? nullptr : &found->second.client;
}

std::string sha256(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) {
    throw std::runtime_error("SHA-256 is not available");
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string digits;
  for (unsigned i = 0; i < size; ++i) {
    digits += kDigits[digest.at(i) >> 4U];
    digits += kDigits[digest.at(i) & 15U];
  }
  return digits;
}

std::string new_token() {
  constexpr std::size_t kBytes = 32;
  std::array<unsigned char, kBytes> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    throw std::runtime_error("creating a token failed: the random generator returned an error");
  }
  std::string token = "np_";  // recognized by secret scanners
  for (const unsigned char byte : bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    token += kDigits[byte >> 4U];
    token += kDigits[byte & 15U];
  }
  return token;
}

std::string to_yaml(const TokenEntry& entry) {
  std::string text = "  - name: " + entry.name + "\n    hash: " + entry.hash +
                     "\n    scope: " + entry.scope + "\n";
  const auto list = [](const std::string& items) {
    return items.empty() ? items : "[" + items + "]";
  };
  const std::pair<std::string_view, std::string> rest[] = {{"tenant", entry.tenant},
                                                           {"labels", list(entry.labels)},
                                                           {"priorities", list(entry.priorities)},
                                                           {"max-nodes", entry.max_nodes},
                                                           {"max-lease", entry.max_lease},
                                                           {"expires", entry.expires}};
  for (const auto& [key, value] : rest) {
    if (!value.empty()) text.append("    ").append(key).append(": ").append(value).append("\n");
  }
  return text;
}

std::string hash_of(std::string_view token) {
  return "sha256:" + sha256(token);
}

}  // namespace nodepool::api
