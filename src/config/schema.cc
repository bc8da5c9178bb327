#include "config/schema.h"

#include <algorithm>
#include <utility>

#include "config/scalar.h"

namespace nodepool::config {

using Kind = Type::Kind;

Type anything() {
  return {.kind = Kind::anything};
}
Type nothing() {
  return {.kind = Kind::null};
}
Type boolean() {
  return {.kind = Kind::boolean};
}
Type integer() {
  return {.kind = Kind::integer};
}

Type integer_between(std::int64_t minimum, std::int64_t maximum) {
  return {.kind = Kind::integer, .minimum = minimum, .maximum = maximum};
}

Type number() {
  return {.kind = Kind::number};
}
Type lenient_number() {
  return {.kind = Kind::lenient_number};
}
Type string() {
  return {.kind = Kind::string};
}
Type string_matching(std::string_view pattern, std::string_view meaning) {
  return {.kind = Kind::string, .pattern = pattern, .meaning = meaning};
}
Type duration() {
  return {.kind = Kind::duration};
}

Type word(std::vector<std::string_view> words) {
  return {.kind = Kind::string, .words = std::move(words)};
}

Type label_name() {
  return {.kind = Kind::string, .refers = Type::Refers::to_label};
}
Type label_names() {
  return {.kind = Kind::string, .refers = Type::Refers::to_labels_by_space};
}
Type diskimage_name() {
  return {.kind = Kind::string, .refers = Type::Refers::to_diskimage};
}

Type list_of(Type item) {
  return {.kind = Kind::list, .parts = {std::move(item)}};
}
Type mapping_of(Type value) {
  return {.kind = Kind::mapping, .parts = {std::move(value)}};
}

Type section(Schema schema) {
  return {.kind = Kind::section, .section = std::make_shared<const Schema>(std::move(schema))};
}

Type one_of(std::vector<Type> alternatives) {
  return {.kind = Kind::one_of, .parts = std::move(alternatives)};
}

std::optional<Value> default_of(const Field& field) {
  if (field.default_value.empty()) return std::nullopt;
  if (field.type.kind == Kind::string) return Value::string(std::string(field.default_value));
  return resolve_plain_scalar(field.default_value);
}

const Field* Schema::find(std::string_view key) const {
  const auto found = std::ranges::find(fields, key, &Field::key);
  return found == fields.end() ? nullptr : &*found;
}

Field with(Field field, Required required) {
  field.required = required;
  return field;
}

Field with(Field field, Accepted accepted) {
  field.accepted = accepted;
  return field;
}

Fields joined(std::initializer_list<Fields> lists) {
  Fields all;
  for (const Fields& list : lists) all = joined(std::move(all), list);
  return all;
}

Fields joined(Fields base, const Fields& overlay) {
  for (const Field& field : overlay) {
    const auto same = std::ranges::find(base, field.key, &Field::key);
    if (same == base.end()) {
      base.push_back(field);
    } else {
      *same = field;
    }
  }
  return base;
}

}  // namespace nodepool::config
