#include <nlohmann/json.hpp>

#include "names.h"

namespace nodepool::stability {

namespace {

using nlohmann::json;

void add_value(Names& names, const std::string& path, const json& value) {
  if (value.is_array()) {
    for (const json& item : value) add_value(names, path + "[]", item);
    return;
  }
  if (!value.is_object()) return;
  for (const auto& [key, member] : value.items()) {
    const std::string below = path.ends_with(' ') ? path + key : path + "." + key;
    names.push_back(below);
    add_value(names, below, member);
  }
}

}  // namespace

void add_members(Names& names, const std::string& prefix, const std::string& object) {
  add_value(names, prefix, json::parse(object));
}

}  // namespace nodepool::stability
