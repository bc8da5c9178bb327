#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "config/problem.h"

namespace nodepool::config {

// One YAML value with its position in the file. Immutable once parsed.
class Value {
 public:
  // In the order of the alternatives in data_.
  enum class Kind { null, boolean, integer, floating, string, date, list, mapping };

  struct Entry;
  using List = std::vector<Value>;
  using Mapping = std::vector<Entry>;  // in the order of the file, each key once

  Value();  // null, nowhere
  Value(const Value&);
  Value(Value&&) noexcept;
  Value& operator=(const Value&);
  Value& operator=(Value&&) noexcept;
  ~Value();

  // Factories, for the parser and for tests.
  static Value null(Mark mark = {});
  static Value boolean(bool value, Mark mark = {});
  static Value integer(std::int64_t value, Mark mark = {});
  static Value floating(double value, Mark mark = {});
  static Value string(std::string value, Mark mark = {});
  static Value date(std::string text, Mark mark = {});  // kept as it was written
  static Value list(List items, Mark mark = {});
  static Value mapping(Mapping entries, Mark mark = {});

  Kind kind() const { return static_cast<Kind>(data_.index()); }
  Mark mark() const { return mark_; }

  bool is_null() const { return kind() == Kind::null; }
  bool is_string() const { return kind() == Kind::string; }
  bool is_list() const { return kind() == Kind::list; }
  bool is_mapping() const { return kind() == Kind::mapping; }
  bool is_scalar() const { return !is_list() && !is_mapping(); }

  // The content. Throw std::bad_variant_access for another kind: check kind() first.
  bool as_boolean() const { return std::get<bool>(data_); }
  std::int64_t as_integer() const { return std::get<std::int64_t>(data_); }
  double as_floating() const { return std::get<double>(data_); }
  const std::string& as_string() const { return std::get<std::string>(data_); }
  const std::string& as_date() const { return std::get<Date>(data_).text; }
  const List& as_list() const { return std::get<List>(data_); }
  const Mapping& as_mapping() const { return std::get<Mapping>(data_); }

  // The value of `key`, which may be null; nullptr if the key is missing or this is not a mapping.
  const Value* find(std::string_view key) const;
  const Entry* find_entry(std::string_view key) const;

  // A scalar as Python's str() prints it: "True", "22.1", "None"; a date as it was written. Empty
  // for a list or a mapping.
  std::string text() const;

  // The result of Python's float(): for a number, a boolean, or numeric text.
  std::optional<double> to_number() const;

  // The result of Python's bool(): false for null, zero and everything empty.
  bool truthy() const;

  // Compares the content. Ignores marks and the order of mapping keys, so moving a section within
  // its file is no change.
  friend bool operator==(const Value& left, const Value& right);

 private:
  struct Date {
    std::string text;
    friend bool operator==(const Date&, const Date&) = default;
  };
  using Data =
      std::variant<std::monostate, bool, std::int64_t, double, std::string, Date, List, Mapping>;

  Value(Data data, Mark mark);

  Data data_;
  Mark mark_;
};

// A key of a mapping with its value.
struct Value::Entry {
  std::string key;  // the text() of the key
  Value value;
  Mark mark = {};                // of the key
  Kind key_kind = Kind::string;  // what the key was in YAML: `8080:` is an integer

  friend bool operator==(const Entry& left, const Entry& right) {
    return left.key == right.key && left.key_kind == right.key_kind && left.value == right.value;
  }
};

// "an integer", "a mapping", ..., for messages.
std::string_view describe(Value::Kind kind);

// The same content as JSON; dates become strings.
nlohmann::json to_json(const Value& value);

// Value::text() of a scalar, and the JSON of a list or a mapping.
std::string text_or_json(const Value& value);

}  // namespace nodepool::config
