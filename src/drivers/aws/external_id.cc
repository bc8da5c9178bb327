#include "drivers/aws/external_id.h"

#include <nlohmann/json.hpp>

#include "driver/cloud_error.h"

namespace nodepool::drivers::aws {

model::Json to_json(const ExternalId& id) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!id.host.empty()) json["host"] = id.host;
  if (!id.instance.empty()) json["instance"] = id.instance;
  return model::Json::parse(json.dump());
}

ExternalId parse_external_id(const model::Json& json) {
  const auto value = nlohmann::json::parse(json.text, nullptr, false);
  const auto text_at = [&value](const char* key) {
    const auto found = value.find(key);
    return found != value.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  ExternalId id;
  if (value.is_string()) id.instance = value.get<std::string>();
  if (value.is_object()) id = {.instance = text_at("instance"), .host = text_at("host")};
  if (id == ExternalId()) {
    throw driver::CloudError(driver::CloudError::Kind::not_found,
                             "invalid external id of an instance: " + json.text);
  }
  return id;
}

}  // namespace nodepool::drivers::aws
