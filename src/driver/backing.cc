#include "driver/backing.h"

#include "json/json.h"

namespace nodepool::driver {

namespace {

using json::Json;

constexpr const char* kBackingNodeKey = "backing_node";
constexpr const char* kPurposeKey = "backs";

// Data that other programs may have written: returns null unless it is an object.
Json parsed(const model::Json& data, const char* key) {
  if (!data.text.contains(key)) return {};  // avoids parsing most data
  try {
    Json json = json::parse(data.text);
    if (json.is_object()) return json;
  } catch (const json::ParseError&) {
    // Counts as null.
  }
  return {};
}

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

std::optional<std::string> backing_node_of(const model::Node& node) {
  const Json data = parsed(node.driver_data, kBackingNodeKey);
  if (data.is_null()) return std::nullopt;
  std::string id = text_at(data, kBackingNodeKey);
  if (id.empty()) return std::nullopt;
  return id;
}

std::optional<BackingPurpose> backing_purpose_of(const model::NodeRequest& request) {
  const Json data = parsed(request.requestor_data, kPurposeKey);
  if (data.is_null()) return std::nullopt;
  const auto purpose = data.find(kPurposeKey);
  if (purpose == data.end() || !purpose->is_object()) return std::nullopt;
  BackingPurpose result{text_at(*purpose, "provider"), text_at(*purpose, "label"),
                        text_at(*purpose, "node")};
  if (result.provider.empty() || result.node.empty()) return std::nullopt;
  return result;
}

model::Json backing_purpose_data(const BackingPurpose& purpose) {
  Json data = Json::object();
  data[kPurposeKey] = {
      {"provider", purpose.provider}, {"label", purpose.label}, {"node", purpose.node}};
  return model::Json::parse(data.dump());
}

}  // namespace nodepool::driver
