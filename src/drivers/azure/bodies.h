#pragma once

#include <string>

#include "driver/images.h"
#include "drivers/azure/config/azure_config.h"
#include "json/json.h"

// The bodies of the calls that make a machine's resources.
namespace nodepool::drivers::azure {

// A machine to make.
struct MachineRequest {
  const AzureConfig& config;
  const AzurePool& pool;
  const AzureLabel& label;
  std::string host;
  driver::Metadata tags;
  bool console_log = false;
};

// A public address of the SKU Standard, which Azure deletes with its machine.
json::Json address_body(const MachineRequest& request, bool is_ipv6);

// An id is empty if the machine has no such address.
struct AddressIds {
  std::string ipv4;
  std::string ipv6;
};
json::Json interface_body(const MachineRequest& request, const AddressIds& addresses);

// `password` is empty if the machine has none. `image` is the API's `imageReference`.
json::Json machine_body(const MachineRequest& request, const json::Json& image,
                        const std::string& password, const std::string& interface_id);

// A password for the label's machine: the configured or a new one; empty: none. Never log it.
std::string password_for(const AzureImage& image);

}  // namespace nodepool::drivers::azure
