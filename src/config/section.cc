#include "config/section.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>
#include <utility>

#include "config/duration.h"
#include "config/wording.h"

namespace nodepool::config {

namespace {

using ValueKind = Value::Kind;

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

std::string must_be(std::string_view what, const Value& value) {
  return "must be " + std::string(what) + ", not " + std::string(describe(value.kind()));
}

// Truncates; huge numbers and infinity become the largest integer.
std::optional<std::int64_t> whole(double number) {
  if (std::isnan(number)) return std::nullopt;
  constexpr double kLimit = 9.2e18;
  if (number >= kLimit) return kLargest;
  if (number <= -kLimit) return -kLargest;
  return static_cast<std::int64_t>(number);
}

std::optional<std::int64_t> as_integer(const Value& value) {
  switch (value.kind()) {
    case ValueKind::boolean:
      return value.as_boolean() ? 1 : 0;
    case ValueKind::integer:
      return value.as_integer();
    case ValueKind::floating:
      return whole(value.as_floating());
    default:
      return std::nullopt;
  }
}

// The schema of the first section() in a type, at any depth.
const Schema* nested(const Type& type) {
  if (type.section) return type.section.get();
  for (const Type& part : type.parts) {
    if (const Schema* schema = nested(part)) return schema;
  }
  return nullptr;
}

}  // namespace

Section::Section(const Value& value, const Schema& schema, std::string file, std::string path)
    : value_(&value), schema_(&schema), file_(std::move(file)), path_(std::move(path)) {
  if (!value.is_mapping()) throw section_error(must_be("a mapping", value));
}

const Value* Section::find(std::string_view key) const {
  const Value* value = value_->find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

const Field& Section::field(std::string_view key) const {
  const Field* field = schema_->find(key);
  if (field == nullptr) {
    throw std::logic_error("the schema of " + path_ + " has no key " + std::string(key));
  }
  return *field;
}

const Value* Section::given(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr && field(key).required == Required::always) {
    throw section_error("the key " + in_quotes(key) + " is missing");
  }
  return value;
}

std::optional<Value> Section::effective(std::string_view key) const {
  if (schema_->find(key) == nullptr && schema_->other_keys) {
    const Value* value = find(key);
    return value == nullptr ? std::nullopt : std::optional(*value);
  }
  const Field& listed = field(key);
  const Value* value = given(key);
  return value == nullptr ? default_of(listed) : std::optional(*value);
}

const Schema& Section::nested_schema(std::string_view key) const {
  const Schema* schema = nested(field(key).type);
  if (schema == nullptr) {
    throw std::logic_error("the key " + path_of(key) + " has no section in its schema");
  }
  return *schema;
}

namespace {

template <typename T>
T demanded(std::optional<T> value, std::string_view key) {
  if (value) return *std::move(value);
  throw std::logic_error("the key " + std::string(key) + " has no default");
}

}  // namespace

std::optional<bool> Section::optional_boolean(std::string_view key) const {
  const auto value = effective(key);
  if (!value) return std::nullopt;
  return value->truthy();
}

std::optional<std::int64_t> Section::optional_integer(std::string_view key) const {
  const auto value = effective(key);
  if (!value) return std::nullopt;
  const auto number = as_integer(*value);
  if (!number) throw error(key, must_be("an integer", *value));
  return number;
}

std::optional<double> Section::optional_number(std::string_view key) const {
  const auto value = effective(key);
  if (!value) return std::nullopt;
  const auto number = value->to_number();
  if (!number) throw error(key, must_be("a number", *value));
  return number;
}

std::optional<std::string> Section::optional_text(std::string_view key) const {
  const auto value = effective(key);
  if (!value) return std::nullopt;
  if (!value->is_scalar()) throw error(key, must_be("a string", *value));
  return value->text();
}

std::optional<std::int64_t> Section::optional_seconds(std::string_view key) const {
  const auto value = effective(key);
  if (!value || !value->is_string()) return optional_integer(key);
  const auto duration = parse_duration(value->as_string());
  if (!duration) throw error(key, "must be " + expected(field(key).type));
  return duration->count();
}

std::optional<std::int64_t> Section::optional_integer_or_text(std::string_view key) const {
  const auto value = effective(key);
  if (!value || !value->is_string()) return optional_integer(key);
  const std::string& text = value->as_string();
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [last, problem] = std::from_chars(text.data(), end, number);
  if (problem != std::errc() || last != end) throw error(key, must_be("an integer", *value));
  return number;
}

bool Section::boolean(std::string_view key) const {
  return demanded(optional_boolean(key), key);
}

std::int64_t Section::integer(std::string_view key) const {
  return demanded(optional_integer(key), key);
}

double Section::number(std::string_view key) const {
  return demanded(optional_number(key), key);
}

std::string Section::text(std::string_view key) const {
  return demanded(optional_text(key), key);
}

std::int64_t Section::seconds(std::string_view key) const {
  return demanded(optional_seconds(key), key);
}

std::int64_t Section::integer_or_text(std::string_view key) const {
  return demanded(optional_integer_or_text(key), key);
}

std::vector<std::string> Section::texts(std::string_view key) const {
  const auto value = effective(key);
  if (!value) return {};
  if (value->is_string()) return words_of(value->as_string());
  if (!value->is_list()) throw error(key, must_be("a list", *value));
  std::vector<std::string> texts;
  for (const Value& item : value->as_list()) {
    if (!item.is_scalar() || item.is_null()) {
      throw error(key, "every item " + must_be("a string", item));
    }
    texts.push_back(item.text());
  }
  return texts;
}

std::map<std::string, std::string> Section::text_map(std::string_view key) const {
  const auto value = effective(key);
  if (!value) return {};
  if (!value->is_mapping()) throw error(key, must_be("a mapping", *value));
  std::map<std::string, std::string> texts;
  for (const Value::Entry& entry : value->as_mapping()) {
    if (!entry.value.is_scalar()) {
      throw error(key, in_quotes(entry.key) + " " + must_be("a string", entry.value));
    }
    texts[entry.key] = entry.value.is_null() ? std::string() : entry.value.text();
  }
  return texts;
}

std::map<std::string, std::int64_t> Section::integer_map(std::string_view key) const {
  const auto value = effective(key);
  if (!value) return {};
  if (!value->is_mapping()) throw error(key, must_be("a mapping", *value));
  std::map<std::string, std::int64_t> integers;
  for (const Value::Entry& entry : value->as_mapping()) {
    const auto number = as_integer(entry.value);
    if (!number) throw error(key, in_quotes(entry.key) + " " + must_be("an integer", entry.value));
    integers[entry.key] = *number;
  }
  return integers;
}

std::optional<Section> Section::section(std::string_view key) const {
  const Schema& schema = nested_schema(key);
  const Value* value = given(key);
  if (value == nullptr) return std::nullopt;
  return Section(*value, schema, file_, path_of(key));
}

std::vector<Section> Section::sections(std::string_view key) const {
  const Schema& schema = nested_schema(key);
  const Value* value = given(key);
  if (value == nullptr) return {};
  if (!value->is_list()) throw error(key, must_be("a list", *value));
  std::vector<Section> sections;
  for (std::size_t i = 0; const Value& item : value->as_list()) {
    sections.emplace_back(item, schema, file_, path_of_item(path_of(key), i++));
  }
  return sections;
}

std::vector<Section> Section::usable_sections(std::string_view key) const {
  const Schema& schema = nested_schema(key);
  const Value* value = find(key);
  if (value == nullptr || !value->is_list()) return {};
  std::vector<Section> sections;
  for (std::size_t i = 0; const Value& item : value->as_list()) {
    const std::string path = path_of_item(path_of(key), i++);
    if (item.is_mapping()) sections.emplace_back(item, schema, file_, path);
  }
  return sections;
}

void Section::refuse_null(std::string_view key) const {
  const Value* value = value_->find(key);
  if (value != nullptr && value->is_null()) {
    throw error(key, "has no value", "set a value or remove the key");
  }
}

std::string Section::path_of(std::string_view key) const {
  return path_below(path_, key);
}

ConfigError Section::error(std::string_view key, std::string message, std::string hint) const {
  const Value::Entry* entry = value_->find_entry(key);
  Mark mark = value_->mark();
  if (entry != nullptr) mark = entry->value.is_null() ? entry->mark : entry->value.mark();
  return ConfigError({.file = file_,
                      .mark = mark,
                      .path = path_of(key),
                      .message = std::move(message),
                      .hint = std::move(hint)});
}

ConfigError Section::section_error(std::string message, std::string hint) const {
  return ConfigError({.file = file_,
                      .mark = value_->mark(),
                      .path = path_,
                      .message = std::move(message),
                      .hint = std::move(hint)});
}

}  // namespace nodepool::config
