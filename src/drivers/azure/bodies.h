#pragma once

#include <string>

#include "driver/images.h"
#include "drivers/azure/config/azure_config.h"
#include "drivers/azure/names.h"
#include "json/json.h"

// The body of the call that makes a machine.
namespace nodepool::drivers::azure {

// A machine to make.
struct MachineRequest {
  const AzureConfig& config;
  const AzurePool& pool;
  const AzureLabel& label;
  std::string host;
  PartNames parts;
  driver::Metadata tags;
  bool console_log = false;
};

// A machine with its interface, addresses and disk, which Azure deletes with it. `password` is
// empty if the machine has none. `image` is the API's `imageReference`.
json::Json machine_body(const MachineRequest& request, const json::Json& image,
                        const std::string& password);

// A password for the label's machine: the configured or a new one; empty: none. Never log it.
std::string password_for(const AzureImage& image);

}  // namespace nodepool::drivers::azure
