#include "driver/backing.h"

#include "json/json.h"

namespace nodepool::driver {

namespace {

using json::Json;

constexpr const char* kBackingNodeKey = "backing_node";
constexpr const char* kLeaseRequestKey = "backs";

// Of somebody else's data: anything that is no object with an object of its own reads as null.
Json parsed(const model::Json& data, const char* key) {
  if (!data.text.contains(key)) return {};  // most: not worth reading
  try {
    Json json = json::parse(data.text);
    if (json.is_object()) return json;
  } catch (const json::ParseError&) {
    // Too deep, say.
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
  const Json data = parsed(request.requestor_data, kLeaseRequestKey);
  if (data.is_null()) return std::nullopt;
  const auto order = data.find(kLeaseRequestKey);
  if (order == data.end() || !order->is_object()) return std::nullopt;
  BackingPurpose result{text_at(*order, "provider"), text_at(*order, "label"),
                        text_at(*order, "node")};
  if (result.provider.empty() || result.node.empty()) return std::nullopt;
  return result;
}

model::Json backing_purpose_data(const BackingPurpose& order) {
  Json data = Json::object();
  data[kLeaseRequestKey] = {
      {"provider", order.provider}, {"label", order.label}, {"node", order.node}};
  return model::Json::parse(data.dump());
}

}  // namespace nodepool::driver
