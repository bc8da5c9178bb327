#include "config/value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <utility>

#include <nlohmann/json.hpp>

namespace nodepool::config {

Value::Value() = default;
Value::Value(const Value&) = default;
Value::Value(Value&&) noexcept = default;
Value& Value::operator=(const Value&) = default;
Value& Value::operator=(Value&&) noexcept = default;
Value::~Value() = default;

Value::Value(Data data, Mark mark) : data_(std::move(data)), mark_(mark) {}

Value Value::null(Mark mark) {
  return {Data(), mark};
}
Value Value::boolean(bool value, Mark mark) {
  return {Data(value), mark};
}
Value Value::integer(std::int64_t value, Mark mark) {
  return {Data(value), mark};
}
Value Value::floating(double value, Mark mark) {
  return {Data(value), mark};
}
Value Value::string(std::string value, Mark mark) {
  return {Data(std::move(value)), mark};
}
Value Value::date(std::string text, Mark mark) {
  return {Data(Date{std::move(text)}), mark};
}
Value Value::list(List items, Mark mark) {
  return {Data(std::move(items)), mark};
}
Value Value::mapping(Mapping entries, Mark mark) {
  return {Data(std::move(entries)), mark};
}

const Value::Entry* Value::find_entry(std::string_view key) const {
  if (!is_mapping()) return nullptr;
  const auto found = std::ranges::find(as_mapping(), key, &Entry::key);
  return found == as_mapping().end() ? nullptr : &*found;
}

const Value* Value::find(std::string_view key) const {
  const Entry* entry = find_entry(key);
  return entry == nullptr ? nullptr : &entry->value;
}

namespace {

// Python's repr(): the shortest text that reads back as the same number, with a point or exponent.
std::string float_text(double value) {
  const double size = std::abs(value);
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e16) || !std::isfinite(value);
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value,
                                 plain ? std::chars_format::fixed : std::chars_format::scientific)
                       .ptr;
  std::string text(buffer, end);
  if (plain && std::isfinite(value) && !text.contains('.')) text += ".0";
  return text;
}

std::vector<const Value::Entry*> sorted_by_key(const Value::Mapping& mapping) {
  std::vector<const Value::Entry*> entries;
  entries.reserve(mapping.size());
  for (const Value::Entry& entry : mapping) entries.push_back(&entry);
  std::ranges::sort(entries, [](const auto* left, const auto* right) {
    return std::tie(left->key, left->key_kind) < std::tie(right->key, right->key_kind);
  });
  return entries;
}

bool same_mapping(const Value::Mapping& left, const Value::Mapping& right) {
  if (left.size() != right.size()) return false;
  const auto left_entries = sorted_by_key(left);
  const auto right_entries = sorted_by_key(right);
  return std::ranges::equal(left_entries, right_entries,
                            [](const auto* one, const auto* other) { return *one == *other; });
}

}  // namespace

std::string Value::text() const {
  switch (kind()) {
    case Kind::null:
      return "None";
    case Kind::boolean:
      return as_boolean() ? "True" : "False";
    case Kind::integer:
      return std::to_string(as_integer());
    case Kind::floating:
      return float_text(as_floating());
    case Kind::string:
      return as_string();
    case Kind::date:
      return as_date();
    case Kind::list:
    case Kind::mapping:
      return {};
  }
  std::unreachable();
}

std::optional<double> Value::to_number() const {
  switch (kind()) {
    case Kind::boolean:
      return as_boolean() ? 1 : 0;
    case Kind::integer:
      return static_cast<double>(as_integer());
    case Kind::floating:
      return as_floating();
    case Kind::string: {
      const std::string& text = as_string();
      char* end = nullptr;
      const double number = std::strtod(text.c_str(), &end);
      if (text.empty() || end != text.c_str() + text.size()) return std::nullopt;
      return number;
    }
    default:
      return std::nullopt;
  }
}

bool Value::truthy() const {
  switch (kind()) {
    case Kind::null:
      return false;
    case Kind::boolean:
      return as_boolean();
    case Kind::integer:
      return as_integer() != 0;
    case Kind::floating:
      return as_floating() != 0;
    case Kind::string:
      return !as_string().empty();
    case Kind::date:
      return true;
    case Kind::list:
      return !as_list().empty();
    case Kind::mapping:
      return !as_mapping().empty();
  }
  std::unreachable();
}

bool operator==(const Value& left, const Value& right) {
  if (left.kind() != right.kind()) return false;
  if (left.is_mapping()) return same_mapping(left.as_mapping(), right.as_mapping());
  if (left.kind() == Value::Kind::floating) {
    // NaN differs from itself, but the configuration has not changed.
    if (std::isnan(left.as_floating())) return std::isnan(right.as_floating());
  }
  return left.data_ == right.data_;
}

std::string_view describe(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::null:
      return "nothing";
    case Value::Kind::boolean:
      return "a boolean";
    case Value::Kind::integer:
      return "an integer";
    case Value::Kind::floating:
      return "a number with a decimal point";
    case Value::Kind::string:
      return "a string";
    case Value::Kind::date:
      return "a date";
    case Value::Kind::list:
      return "a list";
    case Value::Kind::mapping:
      return "a mapping";
  }
  std::unreachable();
}

nlohmann::json to_json(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::null:
      return nullptr;
    case Value::Kind::boolean:
      return value.as_boolean();
    case Value::Kind::integer:
      return value.as_integer();
    case Value::Kind::floating:
      return value.as_floating();
    case Value::Kind::string:
      return value.as_string();
    case Value::Kind::date:
      return value.as_date();
    case Value::Kind::list: {
      auto array = nlohmann::json::array();
      for (const Value& item : value.as_list()) array.push_back(to_json(item));
      return array;
    }
    case Value::Kind::mapping: {
      auto object = nlohmann::json::object();
      for (const Value::Entry& entry : value.as_mapping()) {
        object[entry.key] = to_json(entry.value);
      }
      return object;
    }
  }
  std::unreachable();
}

std::string text_or_json(const Value& value) {
  return value.is_scalar() ? value.text() : to_json(value).dump();
}

}  // namespace nodepool::config
