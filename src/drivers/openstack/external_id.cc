#include "drivers/openstack/external_id.h"

#include <nlohmann/json.hpp>

#include "driver/cloud_error.h"

namespace nodepool::drivers::openstack {

model::Json to_external_id(const std::string& server_id) {
  return model::Json::parse(nlohmann::json(server_id).dump());
}

std::string server_id_of(const model::Json& external_id) {
  const auto value = nlohmann::json::parse(external_id.text, nullptr, false);
  if (!value.is_string() || value.get<std::string>().empty()) {
    throw driver::CloudError(driver::CloudError::Kind::permanent,
                             "invalid external id of a server: " + external_id.text);
  }
  return value.get<std::string>();
}

}  // namespace nodepool::drivers::openstack
