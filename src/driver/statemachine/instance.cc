#include "driver/statemachine/instance.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace nodepool::driver {

Resource Machine::as_resource() const {
  std::string name = id.empty() ? external_id.string_value() : id;
  if (name.empty()) name = external_id.text;
  return {.type = type, .id = std::move(name), .metadata = metadata, .external_id = external_id};
}

std::vector<std::string> identifiers_in(const model::Json& external_id) {
  const std::string text = external_id.string_value();
  if (!text.empty()) return {text};
  const auto value = nlohmann::json::parse(external_id.text, nullptr, false);
  std::vector<std::string> found;
  if (!value.is_object()) return found;
  for (const auto& member : value) {
    if (member.is_string()) found.push_back(member.get<std::string>());
  }
  return found;
}

bool is_same_machine(const model::Json& left, const model::Json& right) {
  const auto one = nlohmann::json::parse(left.text, nullptr, false);
  const auto other = nlohmann::json::parse(right.text, nullptr, false);
  const auto has_value = [](const nlohmann::json& object, const nlohmann::json& text) {
    return std::ranges::find(object, text) != object.end();
  };
  if (one.is_string() && other.is_string()) return one == other;
  if (one.is_object() && other.is_string()) return has_value(one, other);
  if (one.is_string() && other.is_object()) return has_value(other, one);
  if (!one.is_object() || !other.is_object()) return false;
  bool is_same = false;
  for (const auto& [key, value] : one.items()) {
    if (!other.contains(key)) continue;
    if (other.at(key) != value) return false;
    is_same = true;
  }
  return is_same;
}

}  // namespace nodepool::driver
