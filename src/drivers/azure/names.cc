#include "drivers/azure/names.h"

#include "driver/cloud_error.h"
#include "drivers/azure/api/values.h"
#include "json/json.h"

namespace nodepool::drivers::azure {

std::string interface_name(std::string_view host) {
  return std::string(host) + "-nic";
}

std::string ipv4_address_name(std::string_view host) {
  return std::string(host) + "-v4-ip";
}

std::string ipv6_address_name(std::string_view host) {
  return std::string(host) + "-v6-ip";
}

std::string disk_name(std::string_view host) {
  return std::string(host) + "-disk";
}

model::Json external_id(const std::string& name) {
  return model::json_string(name);
}

std::string machine_name(const model::Json& external_id) {
  json::Json value;
  try {
    value = json::parse(external_id.text);
  } catch (const json::ParseError&) {
    value = nullptr;
  }
  if (!value.is_string() || value.get<std::string>().empty()) {
    throw driver::CloudError(driver::CloudError::Kind::not_found,
                             "invalid external id of a virtual machine: " + external_id.text);
  }
  return lowered(value.get<std::string>());
}

}  // namespace nodepool::drivers::azure
