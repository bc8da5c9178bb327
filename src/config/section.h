#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema.h"
#include "config/value.h"

namespace nodepool::config {

// Reads one section of a file for a daemon: applies the schema's defaults and converts values as
// leniently as the Python Nodepool. A null value counts as a missing key.
//
//   Section node(value, node_schema(), file, "providers[0] (rack).pools[0].nodes[3]");
//   auto name = node.text("name");             // throws ConfigError if missing: Required::always
//   auto timeout = node.integer("timeout");    // 5 if missing: the schema's default
//
// All readers throw ConfigError, with the position of the value, if the value cannot be converted
// or a key with Required::always is missing. A key that the schema does not list, and a missing key
// without a default, are programming errors (std::logic_error).
//
// Keeps references: value and schema must outlive the section.
class Section {
 public:
  // `path` leads to the section, e.g. "providers[0] (rack)"; empty for the top level. Throws
  // ConfigError if the value is not a mapping.
  Section(const Value& value, const Schema& schema, std::string file, std::string path);

  const Value& value() const { return *value_; }
  const Schema& schema() const { return *schema_; }
  const std::string& file() const { return file_; }
  const std::string& path() const { return path_; }

  // The value of the key; nullptr if it is missing or null.
  const Value* find(std::string_view key) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }

  bool boolean(std::string_view key) const;          // truthiness of any kind
  std::int64_t integer(std::string_view key) const;  // true is 1; 1.5 is 1; no strings
  double number(std::string_view key) const;         // integers and numeric strings too
  std::string text(std::string_view key) const;      // any scalar, as Value::text()
  std::int64_t seconds(std::string_view key) const;  // an integer, or a text like "10m"
  // integer(), or a text like "22", for keys to which the Python Nodepool applies int() or str().
  std::int64_t integer_or_text(std::string_view key) const;

  // The same; nothing if the key is missing and the schema has no default.
  std::optional<bool> optional_boolean(std::string_view key) const;
  std::optional<std::int64_t> optional_integer(std::string_view key) const;
  std::optional<double> optional_number(std::string_view key) const;
  std::optional<std::string> optional_text(std::string_view key) const;
  std::optional<std::int64_t> optional_seconds(std::string_view key) const;
  std::optional<std::int64_t> optional_integer_or_text(std::string_view key) const;

  // A list of scalars; a single string is split at spaces. Empty when missing.
  std::vector<std::string> texts(std::string_view key) const;

  // A mapping of scalars. Empty when missing.
  std::map<std::string, std::string> text_map(std::string_view key) const;
  std::map<std::string, std::int64_t> integer_map(std::string_view key) const;

  // A nested section, or a list of them, for fields whose type has a section(). Nothing or empty
  // when missing.
  std::optional<Section> section(std::string_view key) const;
  std::vector<Section> sections(std::string_view key) const;
  // The same list without malformed items, for checks that continue after a mistake.
  std::vector<Section> usable_sections(std::string_view key) const;

  // Throws ConfigError if the key has a null value, for the few keys where null does not count as
  // missing.
  void refuse_null(std::string_view key) const;

  // The path of a key of this section, e.g. "providers[0] (rack).pools".
  std::string path_of(std::string_view key) const;

  // An error for the caller to throw, at the key's value, or at the section if the key is missing.
  ConfigError error(std::string_view key, std::string message, std::string hint = {}) const;
  // An error about the section as a whole.
  ConfigError section_error(std::string message, std::string hint = {}) const;

 private:
  const Field& field(std::string_view key) const;
  // The value of a listed key; nullptr if missing. Throws ConfigError if it is always required.
  const Value* given(std::string_view key) const;
  const Schema& nested_schema(std::string_view key) const;
  // The given value, or the default.
  std::optional<Value> effective(std::string_view key) const;

  const Value* value_;
  const Schema* schema_;
  std::string file_;
  std::string path_;
};

}  // namespace nodepool::config
