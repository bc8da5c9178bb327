#include "drivers/openstack/config/openstack_config.h"

#include <stdexcept>

#include "config/nodepool_schema.h"
#include "config/outside_error.h"
#include "config/section.h"
#include "drivers/openstack/clouds/cloud_files.h"
#include "drivers/openstack/config/openstack_schema.h"

namespace nodepool::drivers::openstack {

using driver::ImageAccess;
using driver::MachineLabel;
using driver::MachinePool;

// An entry of `cloud-images`.
struct OpenStackConfig::CloudImage {
  CloudImageReference reference;
  ImageAccess access;
  bool config_drive = false;
};

// What labels may refer to.
struct OpenStackConfig::Images {
  std::map<std::string, CloudImage, std::less<>> cloud_images;
  std::map<std::string, bool, std::less<>> config_drives;  // of diskimages
};

namespace {

constexpr std::int64_t kSshPort = 22;
constexpr std::int64_t kWinrmPort = 5986;

void load_connection(const config::Section& section, ImageAccess& access) {
  access.connection_type = section.text("connection-type");
  const std::int64_t usual = access.connection_type == "winrm" ? kWinrmPort : kSshPort;
  access.connection_port = section.optional_integer("connection-port").value_or(usual);
}

// How to use a machine made from an image of the top level.
ImageAccess access_of(const config::DiskImage& image) {
  ImageAccess access;
  access.username = image.username;
  access.python_path = image.python_path;
  access.shell_type = image.shell_type;
  return access;
}

Cloud cloud_of(const config::Section& provider, const config::Environment& environment) {
  try {
    return find_cloud(provider.optional_text("cloud"), provider.optional_text("region-name"),
                      environment);
  } catch (const CloudsError& error) {
    throw config::OutsideError(provider.error("cloud", error.what()).problem());
  }
}

void load_limits(const config::Section& section, driver::PoolConfig& pool) {
  const auto limit = [&](const char* key, const char* resource, bool zero_counts) {
    const std::optional<std::int64_t> most = section.optional_integer(key);
    if (most && (*most != 0 || zero_counts)) pool.limits[resource] = static_cast<double>(*most);
  };
  limit("max-cores", "cores", true);
  limit("max-ram", "ram", true);
  limit("max-volumes", "volumes", false);
  limit("max-volume-gb", "volume-gb", false);
  pool.ignore_provider_quota = section.boolean("ignore-provider-quota");
}

}  // namespace

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
  load_validations(provider);
  // Last, so that what is wrong in the file itself is found without it.
  cloud_ = cloud_of(provider, environment);
  managed_images_->format = cloud_.image_format;
}

void OpenStackConfig::load_provider(const config::Section& provider) {
  using std::chrono::seconds;
  region_name_ = provider.optional_text("region-name");
  provider.refuse_null("rate");
  rate_ = provider.number("rate");
  boot_timeout_ = seconds(provider.integer("boot-timeout"));
  launch_timeout_ = seconds(provider.integer("launch-timeout"));
  launch_retries_ = std::max<std::int64_t>(1, provider.integer("launch-retries"));
  image_upload_timeout_ = seconds(provider.integer("image-upload-timeout"));
  clean_floating_ips_ = provider.boolean("clean-floating-ips");
  port_cleanup_interval_ = seconds(provider.integer("port-cleanup-interval"));
}

OpenStackConfig::Images OpenStackConfig::load_images(const config::Section& provider,
                                                     const config::Config& config) {
  Images found;
  driver::ManagedImages& managed = managed_images_.emplace();
  managed.name_format = provider.text("image-name-format");
  managed.post_upload_hook = provider.optional_text("post-upload-hook").value_or("");
  for (const config::Section& section : provider.sections("diskimages")) {
    driver::ProviderImage image;
    image.name = section.text("name");
    image.access = access_of(config::find_diskimage(config, section, "name", image.name));
    load_connection(section, image.access);
    image.pause = section.boolean("pause");
    for (auto& [key, value] : section.text_map("meta")) image.meta.emplace(key, value);
    found.config_drives[image.name] = section.optional_boolean("config-drive").value_or(false);
    managed.images.insert_or_assign(image.name, std::move(image));
  }
  for (const config::Section& section : provider.sections("cloud-images")) {
    CloudImage image;
    const std::string name = section.text("name");
    image.reference.id = section.optional_text("image-id").value_or("");
    image.reference.name = section.optional_text("image-name").value_or(name);
    image.access.username = section.optional_text("username");
    image.access.python_path = section.text("python-path");
    image.access.shell_type = section.optional_text("shell-type");
    load_connection(section, image.access);
    image.config_drive = section.optional_boolean("config-drive").value_or(false);
    found.cloud_images.insert_or_assign(name, std::move(image));
  }
  return found;
}

void OpenStackConfig::load_pool(const config::Section& section,
                                const config::ProviderSection& provider,
                                const config::Config& config, const Images& images) {
  driver::PoolConfig pool = driver::load_common_pool(section, provider);
  load_limits(section, pool);
  MachinePool machine_pool;
  machine_pool.zones = section.texts("availability-zones");
  OpenStackPool openstack_pool;
  openstack_pool.auto_floating_ip = section.boolean("auto-floating-ip");
  openstack_pool.security_groups = section.texts("security-groups");
  for (const config::Section& label : section.sections("labels")) {
    pool.labels.insert(label.text("name"));
    load_label(label, section, config, images, machine_pool, openstack_pool);
  }
  machine_pools_.insert_or_assign(pool.name, std::move(machine_pool));
  openstack_pools_.insert_or_assign(pool.name, std::move(openstack_pool));
  pools_.insert_or_assign(pool.name, std::move(pool));
}

void OpenStackConfig::load_label(const config::Section& section,
                                 const config::Section& pool_section, const config::Config& config,
                                 const Images& images, MachinePool& machine_pool,
                                 OpenStackPool& pool) {
  const std::string name = section.text("name");
  config::find_label(config, section, "name", name);
  MachineLabel machine;
  OpenStackLabel label;
  if (const auto diskimage = section.optional_text("diskimage")) {
    machine.diskimage = *diskimage;
    machine.access = access_of(config::find_diskimage(config, section, "diskimage", *diskimage));
    if (const auto managed = managed_images_->images.find(*diskimage);
        managed != managed_images_->images.end()) {
      machine.access = managed->second.access;
      label.config_drive = images.config_drives.at(*diskimage);
    }
  } else if (const auto cloud_image = section.optional_text("cloud-image")) {
    const auto found = images.cloud_images.find(*cloud_image);
    if (found == images.cloud_images.end()) {
      throw section.error("cloud-image", "the provider has no cloud image `" + *cloud_image + "`");
    }
    machine.cloud_image = *cloud_image;
    machine.access = found->second.access;
    label.cloud_image = found->second.reference;
    label.config_drive = found->second.config_drive;
  }
  machine.console_log = section.boolean("console-log");
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

void OpenStackConfig::load_validations(const config::Section& provider) {
  for (const config::Section& section : provider.sections("diskimages")) {
    const std::optional<config::Section> validate = section.section("validate");
    if (!validate) continue;
    driver::ProviderImage& image = managed_images_->images.at(section.text("name"));
    image.validation = validation_of(image, *validate);
  }
}

driver::ImageValidation OpenStackConfig::validation_of(const driver::ProviderImage& image,
                                                       const config::Section& section) const {
  driver::ImageValidation validation;
  validation.label = section.text("label");
  validation.command = section.optional_text("command").value_or("");
  validation.timeout = std::chrono::seconds(section.integer("timeout"));
  if (!validation.command.empty() && image.access.connection_type != "ssh") {
    throw section.error("command", "the image's `connection-type` is not `ssh`");
  }
  for (const auto& [name, pool] : machine_pools_) {
    const auto label = pool.labels.find(validation.label);
    if (label == pool.labels.end() || label->second.diskimage != image.name) continue;
    if (!label->second.host_key_checking) continue;
    validation.pool = name;
    return validation;
  }
  throw section.error("label", "no pool of the provider has a label `" + validation.label +
                                   "` with the diskimage `" + image.name +
                                   "` and `host-key-checking`");
}

const OpenStackPool& OpenStackConfig::pool(std::string_view pool) const {
  const auto found = openstack_pools_.find(pool);
  if (found == openstack_pools_.end()) throw std::out_of_range("no pool " + std::string(pool));
  return found->second;
}

const OpenStackLabel& OpenStackConfig::label(std::string_view pool_name,
                                             std::string_view label) const {
  const auto& labels = pool(pool_name).labels;
  const auto found = labels.find(label);
  if (found == labels.end()) throw std::out_of_range("no label " + std::string(label));
  return found->second;
}

bool OpenStackConfig::same_as(const driver::ProviderConfig& other) const {
  const auto* openstack = dynamic_cast<const OpenStackConfig*>(&other);
  return openstack != nullptr && StateMachineConfig::same_as(other) && cloud_ == openstack->cloud_;
}

}  // namespace nodepool::drivers::openstack
