#include "drivers/openstack/config/openstack_config.h"

#include <fmt/format.h>

#include "cloud/config/loading.h"
#include "config/ca_bundle.h"
#include "config/duration.h"
#include "config/nodepool_schema.h"
#include "config/outside_error.h"
#include "config/section.h"
#include "drivers/openstack/config/configured_cloud.h"
#include "drivers/openstack/config/import_arguments.h"
#include "drivers/openstack/config/openstack_schema.h"

namespace nodepool::drivers::openstack {

using driver::MachineLabel;
using driver::MachinePool;

// The images that labels may refer to.
struct OpenStackConfig::Images {
  cloud::CloudImages cloud_images;
  driver::ByName<CloudImageReference> references;  // of these
  driver::ByName<bool> cloud_image_drives;
  driver::ByName<bool> diskimage_drives;
};

OpenStackConfig::OpenStackConfig(const config::ProviderSection& section,
                                 const config::Config& config,
                                 const config::Environment& environment)
    : StateMachineConfig(section) {
  const config::Schema schema = config::provider_schema(openstack_schema());
  const config::Section provider(section.value, schema, section.file, section.path);
  load_provider(provider);
  const Images images = load_images(provider, config);
  for (const config::Section& pool : provider.sections("pools")) {
    load_pool(pool, section, config, images);
  }
  cloud::load_validations(provider, machine_pools_, *managed_images_);
  try {
    cloud_ = configured_cloud(provider, environment);
    managed_images_->format = cloud_.image_format;
    if (cloud_.verify && cloud_.cacert.empty()) {
      cloud_.cacert = config::ca_bundle(config::HttpLibrary::requests, environment, provider);
    }
    if (cloud_.image_api_use_tasks && !managed_images_->images.empty()) {
      warn(provider, "diskimages",
           "uploads will fail: `image_api_use_tasks` of the cloud is not supported",
           "set it to `false` in `clouds.yaml` if the cloud accepts direct uploads");
    }
  } catch (const config::OutsideError& error) {
    outside_problem_ = error.problem();
  }
}

void OpenStackConfig::load_provider(const config::Section& provider) {
  region_name_ = provider.optional_text("region-name");
  provider.refuse_null("rate");
  const double seconds_between_calls = provider.number("rate");
  rate_ = seconds_between_calls > 0 ? 1 / seconds_between_calls : 0;
  load_boot_and_retries(provider);
  load_launch_timeout(provider);
  image_upload_timeout_ = config::duration_of(provider.integer("image-upload-timeout"));
  clean_floating_ips_ = provider.boolean("clean-floating-ips");
  port_cleanup_interval_ = config::duration_of(provider.integer("port-cleanup-interval"));
}

OpenStackConfig::Images OpenStackConfig::load_images(const config::Section& provider,
                                                     const config::Config& config) {
  Images found;
  found.cloud_images = cloud::load_cloud_images(provider);
  managed_images_ = cloud::load_managed_images(provider, config);
  const auto wants_drive = [](const config::Section& section) {
    return section.optional_boolean("config-drive").value_or(false);
  };
  for (const config::Section& section : provider.sections("diskimages")) {
    found.diskimage_drives[section.text("name")] = wants_drive(section);
    warn_of_imports(section, config);
  }
  for (const config::Section& section : provider.sections("cloud-images")) {
    const std::string name = section.text("name");
    found.references.insert_or_assign(
        name, CloudImageReference{.id = section.optional_text("image-id").value_or(""),
                                  .name = section.optional_text("image-name").value_or(name)});
    found.cloud_image_drives[name] = wants_drive(section);
  }
  return found;
}

// An upload has the metadata of both the image and the provider.
void OpenStackConfig::warn_of_imports(const config::Section& image, const config::Config& config) {
  const std::string name = image.text("name");
  const config::Value& metadata = config::find_diskimage(config, image, "name", name).metadata;
  const driver::Metadata& meta = managed_images_->images.at(name).meta;
  constexpr const char* kReason = "has no effect: images are uploaded, not imported";
  for (const char* argument : kImportArguments) {
    if (meta.contains(argument)) warn(image, "meta", fmt::format("`{}` {}", argument, kReason));
    if (metadata.find(argument) == nullptr) continue;
    warn(image, "name", fmt::format("`{}` in the image's `metadata` {}", argument, kReason));
  }
}

void OpenStackConfig::warn(const config::Section& section, const char* key, std::string message,
                           std::string hint) {
  config_warnings_.push_back(section.error(key, std::move(message), std::move(hint)).problem());
}

void OpenStackConfig::load_pool(const config::Section& section,
                                const config::ProviderSection& provider,
                                const config::Config& config, const Images& images) {
  driver::PoolConfig pool = driver::load_common_pool(section, provider);
  cloud::load_limits(section, pool);
  MachinePool machine_pool;
  machine_pool.zones = section.texts("availability-zones");
  OpenStackPool openstack_pool;
  openstack_pool.auto_floating_ip = section.boolean("auto-floating-ip");
  openstack_pool.security_groups = section.texts("security-groups");
  for (const config::Section& label : section.sections("labels")) {
    load_label(label, section, config, images, machine_pool, openstack_pool);
  }
  openstack_pools_.insert_or_assign(pool.name, std::move(openstack_pool));
  add_pool(std::move(pool), std::move(machine_pool));
}

void OpenStackConfig::load_label(const config::Section& section,
                                 const config::Section& pool_section, const config::Config& config,
                                 const Images& images, MachinePool& machine_pool,
                                 OpenStackPool& pool) {
  const std::string name = section.text("name");
  MachineLabel machine = cloud::load_label(section, config, *managed_images_, images.cloud_images,
                                           validation_warnings_);
  OpenStackLabel label;
  if (!machine.cloud_image.empty()) {
    label.cloud_image = images.references.at(machine.cloud_image);
    label.config_drive = images.cloud_image_drives.at(machine.cloud_image);
  } else if (images.diskimage_drives.contains(machine.diskimage)) {
    label.config_drive = images.diskimage_drives.at(machine.diskimage);
  }
  machine.host_key_checking = section.optional_boolean("host-key-checking")
                                  .value_or(pool_section.boolean("host-key-checking"));
  label.min_ram = section.integer("min-ram");
  label.flavor_name = section.optional_text("flavor-name");
  label.key_name = section.optional_text("key-name");
  label.boot_from_volume = section.boolean("boot-from-volume");
  label.volume_size = section.integer("volume-size");
  label.instance_properties = section.text_map("instance-properties");
  label.dynamic_instance_properties = section.text_map("dynamic-instance-properties");
  label.userdata = section.optional_text("userdata");
  label.networks =
      section.has("networks") ? section.texts("networks") : pool_section.texts("networks");
  machine_pool.labels.insert_or_assign(name, std::move(machine));
  pool.labels.insert_or_assign(name, std::move(label));
}

bool OpenStackConfig::same_as(const driver::ProviderConfig& other) const {
  const auto* openstack = dynamic_cast<const OpenStackConfig*>(&other);
  return openstack != nullptr && StateMachineConfig::same_as(other) && cloud_ == openstack->cloud_;
}

}  // namespace nodepool::drivers::openstack
