#include "config/json_schema.h"

#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "config/nodepool_schema.h"

namespace nodepool::config {

namespace {

using Json = nlohmann::ordered_json;

Json of_section(const Schema& schema);

Json of_string(const Type& type) {
  Json json = {{"type", "string"}};
  if (!type.words.empty()) json["enum"] = type.words;
  // JSON Schema searches for a pattern anywhere in the string.
  if (!type.pattern.empty()) json["pattern"] = "^(?:" + std::string(type.pattern) + ")$";
  return json;
}

Json of_type(const Type& type) {
  switch (type.kind) {
    case Type::Kind::anything:
      return Json::object();
    case Type::Kind::null:
      return {{"type", "null"}};
    case Type::Kind::boolean:
      return {{"type", "boolean"}};
    case Type::Kind::integer: {
      Json json = {{"type", "integer"}};
      if (type.minimum) json["minimum"] = *type.minimum;
      if (type.maximum) json["maximum"] = *type.maximum;
      return json;
    }
    case Type::Kind::number:
      return {{"type", "number"}};
    case Type::Kind::lenient_number:
      return {{"type", {"number", "string"}}};
    case Type::Kind::string:
      return of_string(type);
    case Type::Kind::duration:
      return {{"type", {"integer", "string"}}, {"pattern", "^[0-9]+[smhd]?$"}};
    case Type::Kind::list:
      return {{"type", "array"}, {"items", of_type(type.parts[0])}};
    case Type::Kind::mapping:
      return {{"type", "object"}, {"additionalProperties", of_type(type.parts[0])}};
    case Type::Kind::section:
      return of_section(*type.section);
    case Type::Kind::one_of: {
      Json json = {{"anyOf", Json::array()}};
      for (const Type& part : type.parts) json["anyOf"].push_back(of_type(part));
      return json;
    }
  }
  std::unreachable();
}

Json of_field(const Field& field) {
  Json json = of_type(field.type);
  std::string description(field.description);
  if (!field.unit.empty()) description += " Unit: " + std::string(field.unit) + ".";
  if (!field.default_note.empty()) {
    description += " Default: " + std::string(field.default_note) + ".";
  }
  json["description"] = description;
  if (const auto value = default_of(field)) json["default"] = to_json(*value);
  if (!field.deprecated.empty()) json["deprecated"] = true;
  return json;
}

Json requires_key(std::string_view key) {
  Json keys = Json::array();
  keys.push_back(key);
  return {{"required", std::move(keys)}};
}

Json forbids_both(std::string_view one, std::string_view other) {
  Json keys = Json::array();
  keys.push_back(one);
  keys.push_back(other);
  return {{"not", {{"required", std::move(keys)}}}};
}

// Adds the conditions that together make up a rule.
void add_rule(const Rule& rule, Json& conditions) {
  if (rule.kind == Rule::Kind::exactly_one || rule.kind == Rule::Kind::at_least_one) {
    Json any = Json::array();
    for (const std::string_view key : rule.keys) any.push_back(requires_key(key));
    conditions.push_back({{"anyOf", std::move(any)}});
  }
  if (rule.kind == Rule::Kind::at_least_one) return;
  for (std::size_t i = 0; i < rule.keys.size(); ++i) {
    // `excludes` forbids pairs with the first key only.
    if (rule.kind == Rule::Kind::excludes && i > 0) break;
    for (std::size_t j = i + 1; j < rule.keys.size(); ++j) {
      conditions.push_back(forbids_both(rule.keys[i], rule.keys[j]));
    }
  }
}

Json of_section(const Schema& schema) {
  Json json = {{"type", "object"}};
  if (!schema.description.empty()) json["description"] = schema.description;
  json["properties"] = Json::object();
  Json required = Json::array();
  for (const Field& field : schema.fields) {
    // Editors reject what the strict check rejects.
    if (field.accepted == Accepted::by_daemons) continue;
    json["properties"][std::string(field.key)] = of_field(field);
    if (field.required != Required::never) required.push_back(field.key);
  }
  json["additionalProperties"] = schema.other_keys ? of_type(schema.other_keys->type) : Json(false);
  if (!required.empty()) json["required"] = std::move(required);

  Json conditions = Json::array();
  for (const Rule& rule : schema.rules) add_rule(rule, conditions);
  if (!conditions.empty()) json["allOf"] = std::move(conditions);
  return json;
}

// Each driver has a provider schema of its own.
Json of_providers(const DriverSchemas& drivers) {
  Json names = Json::array();
  Json conditions = Json::array();
  for (const auto& [name, schema] : drivers.schemas) {
    names.push_back(name);
    Json condition = {{"properties", {{"driver", {{"const", name}}}}}};
    // Without the key, only the default driver's condition holds.
    if (name != kDefaultDriver) condition.update(requires_key("driver"));
    conditions.push_back(
        {{"if", std::move(condition)}, {"then", {{"$ref", "#/$defs/provider-" + name}}}});
  }
  Json item = {{"type", "object"},
               {"properties", {{"name", {{"type", "string"}}}, {"driver", {{"enum", names}}}}},
               {"required", {"name"}},
               {"allOf", std::move(conditions)}};
  return {{"type", "array"}, {"items", std::move(item)}};
}

}  // namespace

Json json_schema(const DriverSchemas& drivers) {
  Json json = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
               {"title", "nodepool.yaml"}};
  json.update(of_section(nodepool_schema()));
  Json& providers = json["properties"]["providers"];
  providers.update(of_providers(drivers));
  json["$defs"] = Json::object();
  for (const auto& [name, schema] : drivers.schemas) {
    json["$defs"]["provider-" + name] = of_section(provider_schema(*schema));
  }
  return json;
}

}  // namespace nodepool::config
