#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/problem.h"
#include "config/section.h"
#include "driver/statemachine/state_machine_config.h"

// Reads the keys of cloud/config/fields.h. Everything throws config::ConfigError.
namespace nodepool::cloud {

using CloudImages = std::map<std::string, driver::ImageAccess, std::less<>>;  // by name
using MachinePools = std::map<std::string, driver::MachinePool, std::less<>>;

// `connection-type` and `connection-port`.
void load_connection(const config::Section& image, driver::ImageAccess& access);

// The user to log in as, if the schema has this key, and access_fields().
driver::ImageAccess load_access(const config::Section& image);

// `cloud-images` with access_fields(): how to log in to their machines.
CloudImages load_cloud_images(const config::Section& provider);

// The pool's value, or the provider's; false if neither has one.
bool flag(const config::Section& pool, const config::Section& provider, std::string_view key);

// An entry of the provider's `diskimages` with access_fields(): name, pause and access. Without a
// user name, it has the top level's.
driver::ProviderImage load_upload_entry(const config::Section& section,
                                        const config::Config& config);

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

// A label, which must be an entry of the top level: its image, how to connect to its machines, and
// `console-log`, if the schema has it. The provider must list its diskimage.
driver::MachineLabel load_label(const config::Section& label, const config::Config& config,
                                const driver::ManagedImages& managed,
                                const CloudImages& cloud_images);

// The same, but a diskimage that the provider does not list adds a warning: a builder with another
// file may upload it.
driver::MachineLabel load_label(const config::Section& label, const config::Config& config,
                                const driver::ManagedImages& managed,
                                const CloudImages& cloud_images,
                                std::vector<config::Problem>& warnings);

// The same for a label that can only have a cloud image.
driver::MachineLabel load_cloud_image_label(const config::Section& label,
                                            const config::Config& config,
                                            const CloudImages& cloud_images);

}  // namespace nodepool::cloud
