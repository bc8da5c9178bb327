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

// Reads one section of a file for a daemon: fills in the schema's defaults and is as forgiving as
// Python code that never looked at a type. A null value counts as a missing key.
//
//   Section node(value, node_schema(), file, "providers[0] (rack).pools[0].nodes[3]");
//   auto name = node.text("name");             // throws ConfigError if missing: Required::always
//   auto timeout = node.integer("timeout");    // 5 if missing: the schema's default
//
// All readers throw ConfigError, with the place of the value, when it cannot be used at all or when
// a key with Required::always is missing. Asking for a key the schema does not list, or for the
// value of a missing key without a default, is a programming error (std::logic_error).
//
// Keeps references: value and schema must outlive it.
class Section {
 public:
  // `path` leads to the section, e.g. "providers[0] (rack)"; empty for the top level. Throws
  // ConfigError if the value is no mapping.
  Section(const Value& value, const Schema& schema, std::string file, std::string path);

  const Value& value() const { return *value_; }
  const std::string& file() const { return file_; }
  const std::string& path() const { return path_; }

  // The value of the key; nullptr if it is missing or null.
  const Value* find(std::string_view key) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }

  bool boolean(std::string_view key) const;          // other kinds: whether they are truthy
  std::int64_t integer(std::string_view key) const;  // true is 1; 1.5 is cut to 1; no strings
  double number(std::string_view key) const;         // integers and numeric strings too
  std::string text(std::string_view key) const;      // any scalar, as Value::text()
  std::int64_t seconds(std::string_view key) const;  // an integer, or a text like "10m"

  // The same, but nothing when the key is missing and the schema has no default.
  std::optional<bool> optional_boolean(std::string_view key) const;
  std::optional<std::int64_t> optional_integer(std::string_view key) const;
  std::optional<double> optional_number(std::string_view key) const;
  std::optional<std::string> optional_text(std::string_view key) const;
  std::optional<std::int64_t> optional_seconds(std::string_view key) const;

  // A list of scalars; a single string is split at spaces. Empty when missing.
  std::vector<std::string> texts(std::string_view key) const;

  // A mapping of scalars. Empty when missing.
  std::map<std::string, std::string> text_map(std::string_view key) const;
  std::map<std::string, std::int64_t> integer_map(std::string_view key) const;

  // A nested section, or a list of them: where the field's type has a section(). Nothing or empty
  // when missing.
  std::optional<Section> section(std::string_view key) const;
  std::vector<Section> sections(std::string_view key) const;
  // The same list without its malformed items: for checks that go on after a mistake.
  std::vector<Section> usable_sections(std::string_view key) const;

  // Throws ConfigError if the key is there with a null value, for the few keys where that is no
  // missing key.
  void refuse_null(std::string_view key) const;

  // The path of a key of this section, e.g. "providers[0] (rack).pools".
  std::string path_of(std::string_view key) const;

  // An error at the key's value, or at the section itself when the key is missing, to be thrown.
  ConfigError error(std::string_view key, std::string message, std::string hint = {}) const;
  // An error about the section as a whole.
  ConfigError section_error(std::string message, std::string hint = {}) const;

 private:
  const Field& field(std::string_view key) const;
  // The value given for a listed key; throws ConfigError if it is missing and always required.
  const Value* given(std::string_view key) const;
  const Schema& nested_schema(std::string_view key) const;
  // The value that counts for the key: the given one, or the default.
  std::optional<Value> effective(std::string_view key) const;

  const Value* value_;
  const Schema* schema_;
  std::string file_;
  std::string path_;
};

}  // namespace nodepool::config
