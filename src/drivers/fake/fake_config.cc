#include "drivers/fake/fake_config.h"

#include "cloud/config/loading.h"
#include "config/nodepool_schema.h"
#include "config/outside_error.h"
#include "config/section.h"
#include "drivers/openstack/config/configured_cloud.h"
#include "drivers/openstack/config/openstack_schema.h"

namespace nodepool::drivers::fake {

const config::Schema& fake_schema() {
  static const config::Schema schema = [] {
    config::Schema extended = openstack::openstack_schema();
    extended.description = "Simulated machines.";
    extended.fields.push_back({.key = "fake-cloud",
                               .type = config::section(fake_behaviour_schema()),
                               .default_note = "none",
                               .description = "Behavior of the simulated cloud."});
    return extended;
  }();
  return schema;
}

// The images that labels may refer to.
struct FakeConfig::Images {
  cloud::CloudImages cloud_images;
  driver::ByName<config::Section> sections;  // of these
};

FakeConfig::FakeConfig(const config::ProviderSection& section, const config::Config& config,
                       const config::Environment& environment)
    : StateMachineConfig(section), cloud_name_(section.name) {
  static const config::Schema schema = config::provider_schema(fake_schema());
  const config::Section provider(section.value, schema, section.file, section.path);
  region_name_ = provider.optional_text("region-name");
  load_boot_and_retries(provider);
  load_launch_timeout(provider);
  const Images images = load_images(provider, config);
  for (const config::Section& pool : provider.sections("pools")) {
    load_pool(pool, section, config, images);
  }
  cloud::load_validations(provider, machine_pools_, *managed_images_);
  if (const auto cloud = provider.section("fake-cloud")) {
    cloud_name_ = cloud->optional_text("name").value_or(section.name);
    behaviour_ = load_behaviour(*cloud);
  }
  try {
    const openstack::Cloud entry = openstack::configured_cloud(provider, environment);
    cloud_entry_ = entry.name;
    managed_images_->format = entry.image_format;
  } catch (const config::OutsideError& error) {
    outside_problem_ = error.problem();
  }
}

FakeConfig::Images FakeConfig::load_images(const config::Section& provider,
                                           const config::Config& config) {
  Images images{.cloud_images = cloud::load_cloud_images(provider), .sections = {}};
  managed_images_ = cloud::load_managed_images(provider, config);
  for (const config::Section& section : provider.sections("cloud-images")) {
    images.sections.insert_or_assign(section.text("name"), section);
  }
  return images;
}

void FakeConfig::load_pool(const config::Section& section, const config::ProviderSection& provider,
                           const config::Config& config, const Images& images) {
  driver::PoolConfig pool = driver::load_common_pool(section, provider);
  cloud::load_limits(section, pool);
  driver::MachinePool machines;
  machines.zones = section.texts("availability-zones");
  for (const config::Section& part : section.sections("labels")) {
    const std::string name = part.text("name");
    driver::MachineLabel machine = cloud::load_label(part, config, *managed_images_,
                                                     images.cloud_images, validation_warnings_);
    machine.host_key_checking =
        part.optional_boolean("host-key-checking").value_or(section.boolean("host-key-checking"));
    FakeLabel label;
    if (!machine.cloud_image.empty()) {
      const config::Section& image = images.sections.at(machine.cloud_image);
      label.image_id = image.optional_text("image-id");
      label.image_name = image.optional_text("image-name").value_or(machine.cloud_image);
    }
    label.min_ram = part.integer("min-ram");
    label.flavor_name = part.optional_text("flavor-name").value_or("");
    label.boot_from_volume = part.boolean("boot-from-volume");
    label.volume_size = part.integer("volume-size");
    label.instance_properties = part.text_map("instance-properties");
    label.networks = part.has("networks") ? part.texts("networks") : section.texts("networks");
    machines.labels.insert_or_assign(name, std::move(machine));
    labels_[pool.name].insert_or_assign(name, std::move(label));
  }
  add_pool(std::move(pool), std::move(machines));
}

}  // namespace nodepool::drivers::fake
