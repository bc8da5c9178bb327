#include "drivers/metastatic/backing_record.h"

#include <charconv>

#include "json/json.h"

namespace nodepool::drivers::metastatic {

namespace {

using json::Json;

constexpr std::string_view kOwnerPrefix = "NodePool:metastatic:";

// Returns null unless the text is a JSON object.
Json parsed(std::string_view text) {
  try {
    Json json = json::parse(text);
    if (json.is_object()) return json;
  } catch (const json::ParseError&) {
    // Written by another program.
  }
  return {};
}

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<double> number_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::optional<std::int64_t> integer_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<std::int64_t>();
}

std::optional<std::int64_t> parse_slot_number(std::string_view text) {
  std::int64_t slot = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), slot);
  if (error != std::errc() || end != text.data() + text.size() || slot < 0) return std::nullopt;
  return slot;
}

driver::Metadata metadata_at(const Json& object) {
  driver::Metadata metadata;
  const auto found = object.find("metadata");
  if (found == object.end() || !found->is_object()) return metadata;
  for (const auto& [key, value] : found->items()) {
    if (value.is_string()) metadata.emplace(key, value.get<std::string>());
  }
  return metadata;
}

std::map<std::int64_t, Tenant> tenants_at(const Json& object) {
  std::map<std::int64_t, Tenant> tenants;
  const auto found = object.find("nodes");
  if (found == object.end() || !found->is_object()) return tenants;
  for (const auto& [key, value] : found->items()) {
    const std::optional<std::int64_t> slot = parse_slot_number(key);
    if (slot && value.is_object()) {
      tenants.emplace(*slot, Tenant{text_at(value, "id"), metadata_at(value)});
    }
  }
  return tenants;
}

Json to_json(const driver::Metadata& metadata) {
  Json json = Json::object();
  for (const auto& [key, value] : metadata) json[key] = value;
  return json;
}

}  // namespace

std::string owner_of(std::string_view provider) {
  return std::string(kOwnerPrefix).append(provider);
}

// While a backing node is in use, only a launcher writes a comment: that its machine has ended.
// Those of operators and requestors come with another state.
std::optional<BackingRecord> backing_record_of(const model::Node& node, std::string_view owner) {
  if (node.state != model::NodeState::in_use) return std::nullopt;
  if (!node.user_data.text.contains(kOwnerPrefix)) return std::nullopt;  // avoids parsing most data
  const Json json = parsed(node.user_data.string_value());
  if (json.is_null() || text_at(json, "owner") != owner) return std::nullopt;
  BackingRecord record;
  record.owner = owner;
  record.label = text_at(json, "label");
  record.slots = integer_at(json, "slots").value_or(1);
  const auto failed = json.find("failed");
  record.end = node.comment.value_or("");
  const bool is_marked = failed != json.end() && failed->is_boolean() && failed->get<bool>();
  record.failed = is_marked || !record.end.empty();
  record.launched = number_at(json, "launched").value_or(0);
  record.used = number_at(json, "used");
  record.tenants = tenants_at(json);
  return record;
}

model::Json to_user_data(const BackingRecord& record) {
  Json json = Json::object();
  json["owner"] = record.owner;
  json["label"] = record.label;
  json["slots"] = record.slots;
  json["failed"] = record.failed;
  json["launched"] = record.launched;
  if (record.used) json["used"] = *record.used;
  Json nodes = Json::object();
  for (const auto& [slot, tenant] : record.tenants) {
    Json entry = Json::object();
    entry["id"] = tenant.external_id;
    entry["metadata"] = to_json(tenant.metadata);
    nodes[std::to_string(slot)] = std::move(entry);
  }
  json["nodes"] = std::move(nodes);
  return model::json_string(model::Json::parse(json.dump()).text);
}

std::optional<std::int64_t> free_slot(const BackingRecord& record,
                                      const std::set<std::int64_t>& occupied) {
  for (std::int64_t slot = 0; slot < record.slots; ++slot) {
    if (!record.tenants.contains(slot) && !occupied.contains(slot)) return slot;
  }
  return std::nullopt;
}

std::string to_string(const Slot& slot) {
  return slot.backing_node + ":" + std::to_string(slot.slot);
}

std::optional<Slot> parse_slot(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == 0 || colon == std::string_view::npos) return std::nullopt;
  const std::optional<std::int64_t> slot = parse_slot_number(text.substr(colon + 1));
  if (!slot) return std::nullopt;
  return Slot{std::string(text.substr(0, colon)), *slot};
}

std::optional<Slot> slot_of(const model::Node& node) {
  if (!node.driver_data.text.contains("backing_node")) return std::nullopt;
  const Json json = parsed(node.driver_data.text);
  if (json.is_null()) return std::nullopt;
  const std::string backing_node = text_at(json, "backing_node");
  const std::optional<std::int64_t> slot = integer_at(json, "slot");
  if (backing_node.empty() || !slot) return std::nullopt;
  return Slot{backing_node, *slot};
}

model::Json driver_data(const Slot& slot, std::string_view node_id,
                        const driver::Metadata& metadata) {
  Json json = Json::object();
  json["metadata"] = to_json(metadata);
  json["backing_node"] = slot.backing_node;
  json["slot"] = slot.slot;
  json["node"] = node_id;
  return model::Json::parse(json.dump());
}

}  // namespace nodepool::drivers::metastatic
