#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "json/json.h"
#include "model/record.h"
#include "model/shared_text.h"

// Reading and writing of records. Included by the sources of this module only, as it is costly to
// compile.
namespace nodepool::model::record_io {

using OrderedJson = json::Json;

// JSON as Python's json.dumps writes it.
std::string dump(const OrderedJson& value);

// The entries of a record, in their order. Throws RecordError if it is not a JSON object within the
// limits of json::parse_record.
using Entries = std::vector<std::pair<std::string, OrderedJson>>;
Entries parse_object(std::string_view text);

// The object with this key in the JSON object `text`. Returns nothing if there is none, or if the
// text exceeds the limits of json::parse. Does not parse a text without the key.
std::optional<OrderedJson> object_at(std::string_view text, std::string_view key);

// Reads fields of a JSON object in any order. The remaining keys are unknown ones.
class Reader {
 public:
  // Throws RecordError.
  explicit Reader(std::string_view text);
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Whether the key exists and was not taken yet.
  bool has(std::string_view key) { return find(key) != nullptr; }

  // Each sets `value`, unless the key is absent. Throws RecordError with the key if the value has
  // another type. A null resets an optional, and counts as absent otherwise.
  void field(const char* key, std::string& value);
  void field(const char* key, std::optional<std::string>& value);
  void field(const char* key, SharedText& value);
  void field(const char* key, double& value);
  void field(const char* key, std::optional<double>& value);
  void field(const char* key, std::int64_t& value);
  void field(const char* key, std::optional<std::int64_t>& value);
  void field(const char* key, bool& value);
  void field(const char* key, std::vector<std::string>& value);
  void field(const char* key, std::map<std::string, std::string>& value);
  void field(const char* key, Json& value);

  // Like field(), for what no decision reads: a value of another type counts as absent, and remains
  // among the rest().
  template <typename T>
  void note(const char* key, T& value) {
    const OrderedJson* const found = find(key);
    if (found == nullptr) return;
    constexpr bool kIsNumber = std::is_same_v<T, std::optional<double>>;
    const bool is_readable = kIsNumber ? found->is_number() : found->is_string();
    if (is_readable || found->is_null()) field(key, value);
  }

  // Takes the value of a key; a large integer as a rounded number. Returns null if absent.
  OrderedJson take(const char* key);

  // The keys that were not taken.
  UnknownKeys rest() const;

 private:
  // The value of a key that was not taken. Returns nullptr if there is none.
  OrderedJson* find(std::string_view key);

  Entries entries_;
  std::vector<bool> taken_;   // by position
  std::size_t position_ = 0;  // after the last key found: keys are mostly read in order
};

// Writes fields in the order of the calls, each key once, directly as text.
class Writer {
 public:
  // `rest`: what Reader::rest() has returned.
  explicit Writer(UnknownKeys rest = {}) : rest_(std::move(rest)) {}

  void field(std::string_view key, std::string_view value);
  void field(std::string_view key, const std::string& value) {
    field(key, std::string_view(value));
  }
  void field(std::string_view key, const char* value) { field(key, std::string_view(value)); }
  void field(std::string_view key, double value);
  void field(std::string_view key, std::int64_t value);
  void field(std::string_view key, bool value);
  void field(std::string_view key, const std::vector<std::string>& value);
  void field(std::string_view key, const std::map<std::string, std::string>& value);
  void field(std::string_view key, const Json& value);
  template <typename T>
  void field(std::string_view key, const std::optional<T>& value) {
    if (value) {
      field(key, *value);
    } else {
      field(key, Json());
    }
  }
  void field(std::string_view key, const SharedText& value) {
    if (value) {
      field(key, *value);
    } else {
      field(key, Json());
    }
  }
  // Like field(), but an absent value that Reader::note() could not read is written as it was.
  template <typename T>
  void note(std::string_view key, const T& value) {
    const auto raw = std::ranges::find(rest_, key, &UnknownKeys::value_type::first);
    if (raw == rest_.end()) return field(key, value);
    if (value) {
      field(key, value);
    } else {
      field(key, raw->second);
    }
    rest_.erase(raw);
  }

  // The record: the fields, then the rest.
  std::string text();

 private:
  // Writes the key. The value follows.
  void begin(std::string_view key);

  UnknownKeys rest_;
  std::string text_ = "{";
};

}  // namespace nodepool::model::record_io
