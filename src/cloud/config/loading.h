#pragma once

#include <map>
#include <string>

#include "config/config.h"
#include "config/section.h"
#include "driver/statemachine/state_machine_config.h"

// Reads the keys of cloud/config/fields.h. Everything throws config::ConfigError.
namespace nodepool::cloud {

using CloudImages = std::map<std::string, driver::ImageAccess, std::less<>>;  // by name
using MachinePools = std::map<std::string, driver::MachinePool, std::less<>>;

// `connection-type` and `connection-port`.
void load_connection(const config::Section& image, driver::ImageAccess& access);

// An entry of the provider's `diskimages`, without `validate`. User name, Python path and shell
// type are from the top level.
driver::ProviderImage load_diskimage(const config::Section& section, const config::Config& config);

// The images that are uploaded, without their format and `validate`.
driver::ManagedImages load_managed_images(const config::Section& provider,
                                          const config::Config& config);

// `validate` of the diskimages, once the pools are known.
void load_validations(const config::Section& provider, const MachinePools& pools,
                      driver::ManagedImages& managed);

// `max-cores` and so on, and `ignore-provider-quota`.
void load_limits(const config::Section& section, driver::PoolConfig& pool);

// The image of a label and how to connect to its machines.
driver::MachineLabel load_label_image(const config::Section& label, const config::Config& config,
                                      const driver::ManagedImages& managed,
                                      const CloudImages& cloud_images);

// The same for a label that can only have a cloud image.
driver::MachineLabel load_cloud_image_label(const config::Section& label,
                                            const CloudImages& cloud_images);

}  // namespace nodepool::cloud
