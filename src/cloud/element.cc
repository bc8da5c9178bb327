#include "cloud/element.h"

#include <cmath>

#include "driver/cloud_error.h"

namespace nodepool::cloud {

namespace {

constexpr double kExact = 9007199254740992.0;  // 2^53

std::string scalar_text(const Json& value) {
  if (value.is_null()) return {};
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::vector<Element> elements(const Json& list, const std::string& where) {
  std::vector<Element> found;
  found.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    found.emplace_back(list[i], where + "[" + std::to_string(i) + "]");
  }
  return found;
}

}  // namespace

Element::Element(Json value, std::string where)
    : value_(std::move(value)), where_(std::move(where)) {
  if (!value_.is_object()) {
    throw driver::CloudError(driver::CloudError::Kind::failed, where_ + " is no object");
  }
}

const Json* Element::find(std::string_view key) const {
  const auto found = value_.find(key);
  return found == value_.end() || found->is_null() ? nullptr : &*found;
}

const Json& Element::at(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) fail(key, "is missing");
  return *value;
}

std::string Element::path(std::string_view key) const {
  return where_ + "." + std::string(key);
}

void Element::fail(std::string_view key, std::string_view problem) const {
  throw driver::CloudError(driver::CloudError::Kind::failed,
                           path(key) + " " + std::string(problem));
}

std::string Element::text(std::string_view key) const {
  const Json& value = at(key);
  if (!value.is_string()) fail(key, "is no text");
  return value.get<std::string>();
}

std::string Element::text_or(std::string_view key, std::string otherwise) const {
  return find(key) == nullptr ? std::move(otherwise) : text(key);
}

bool Element::boolean_or(std::string_view key, bool otherwise) const {
  const Json* value = find(key);
  if (value == nullptr) return otherwise;
  if (!value->is_boolean()) fail(key, "is no boolean");
  return value->get<bool>();
}

double Element::number(std::string_view key) const {
  const Json& value = at(key);
  if (!value.is_number()) fail(key, "is no number");
  const auto number = value.get<double>();
  if (!(std::abs(number) < kExact)) fail(key, "is out of range");  // that is no number, too
  return number;
}

std::int64_t Element::integer(std::string_view key) const {
  const double value = number(key);
  if (value != std::floor(value)) fail(key, "is no integer");
  return static_cast<std::int64_t>(value);
}

std::optional<double> Element::optional_number(std::string_view key) const {
  if (find(key) == nullptr) return std::nullopt;
  return number(key);
}

Element Element::object(std::string_view key) const {
  return {at(key), path(key)};
}

std::optional<Element> Element::optional_object(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  return Element(*value, path(key));
}

std::vector<Element> Element::list(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return {};
  if (!value->is_array()) fail(key, "is no list");
  return elements(*value, path(key));
}

std::vector<std::string> Element::texts_in(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return {};
  if (!value->is_array()) fail(key, "is no list");
  std::vector<std::string> found;
  for (const Json& each : *value) {
    if (!each.is_string()) fail(key, "is no list of texts");
    found.push_back(each.get<std::string>());
  }
  return found;
}

std::vector<std::pair<std::string, std::vector<Element>>> Element::lists(
    std::string_view key) const {
  std::vector<std::pair<std::string, std::vector<Element>>> found;
  const std::optional<Element> inner = optional_object(key);
  if (!inner) return found;
  for (const auto& [name, value] : inner->value_.items()) {
    if (!value.is_null() && !value.is_array()) inner->fail(name, "is no list");
    found.emplace_back(name, elements(value, inner->path(name)));
  }
  return found;
}

driver::Metadata Element::texts(std::string_view key) const {
  driver::Metadata found;
  const std::optional<Element> inner = optional_object(key);
  if (!inner) return found;
  for (const auto& [name, value] : inner->value_.items()) {
    found.insert_or_assign(name, scalar_text(value));
  }
  return found;
}

driver::Metadata Element::own_texts() const {
  driver::Metadata found;
  for (const auto& [name, value] : value_.items()) {
    if (value.is_string()) found.insert_or_assign(name, value.get<std::string>());
  }
  return found;
}

}  // namespace nodepool::cloud
