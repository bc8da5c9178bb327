#include "cloud/config/loading.h"

#include "config/duration.h"
#include "config/wording.h"

namespace nodepool::cloud {

namespace {

constexpr std::int64_t kSshPort = 22;
constexpr std::int64_t kWinrmPort = 5986;

// How to connect to a machine made from a diskimage of the top level.
driver::ImageAccess access_of(const config::DiskImage& image) {
  driver::ImageAccess access;
  access.username = image.username;
  access.python_path = image.python_path;
  access.shell_type = image.shell_type;
  return access;
}

// The Python Nodepool passes any value on to its client.
driver::Metadata load_meta(const config::Section& image) {
  driver::Metadata meta;
  const config::Value* given = image.find("meta");
  if (given == nullptr) return meta;
  if (!given->is_mapping()) throw image.error("meta", "must be a mapping");
  for (const config::Value::Entry& entry : given->as_mapping()) {
    meta[entry.key] = entry.value.is_null() ? "" : config::text_or_json(entry.value);
  }
  return meta;
}

driver::ImageValidation validation_of(const driver::ProviderImage& image,
                                      const config::Section& section, const MachinePools& pools) {
  driver::ImageValidation validation;
  validation.label = section.text("label");
  validation.command = section.optional_text("command").value_or("");
  validation.timeout = config::duration_of(section.integer("timeout"));
  if (!validation.command.empty() && image.access.connection_type != "ssh") {
    throw section.error("command", "the image's `connection-type` is not `ssh`");
  }
  for (const auto& [name, pool] : pools) {
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

driver::MachineLabel common_label(const config::Section& label, const config::Config& config) {
  config::find_label(config, label, "name", label.text("name"));
  driver::MachineLabel machine;
  if (label.schema().find("console-log") != nullptr) {
    machine.console_log = label.boolean("console-log");
  }
  return machine;
}

}  // namespace

void load_connection(const config::Section& image, driver::ImageAccess& access) {
  access.connection_type = image.text("connection-type");
  const std::int64_t usual = access.connection_type == "winrm" ? kWinrmPort : kSshPort;
  access.connection_port = image.optional_integer_or_text("connection-port").value_or(usual);
}

driver::ImageAccess load_access(const config::Section& image) {
  driver::ImageAccess access;
  if (image.schema().find("username") != nullptr) access.username = image.optional_text("username");
  access.python_path = image.text("python-path");
  access.shell_type = image.optional_text("shell-type");
  load_connection(image, access);
  return access;
}

CloudImages load_cloud_images(const config::Section& provider) {
  CloudImages images;
  for (const config::Section& image : provider.sections("cloud-images")) {
    const std::string name = image.text("name");
    images.insert_or_assign(name, load_access(image));
  }
  return images;
}

bool flag(const config::Section& pool, const config::Section& provider, std::string_view key) {
  const auto own = pool.optional_boolean(key);
  return own ? *own : provider.optional_boolean(key).value_or(false);
}

driver::ProviderImage load_upload_entry(const config::Section& section,
                                        const config::Config& config) {
  driver::ProviderImage image;
  image.name = section.text("name");
  image.pause = section.boolean("pause");
  const config::DiskImage& built = config::find_diskimage(config, section, "name", image.name);
  image.access = load_access(section);
  if (!image.access.username) image.access.username = built.username;
  return image;
}

driver::ProviderImage load_diskimage(const config::Section& section, const config::Config& config) {
  driver::ProviderImage image;
  image.name = section.text("name");
  image.access = access_of(config::find_diskimage(config, section, "name", image.name));
  load_connection(section, image.access);
  image.pause = section.boolean("pause");
  image.meta = load_meta(section);
  return image;
}

driver::ManagedImages load_managed_images(const config::Section& provider,
                                          const config::Config& config) {
  driver::ManagedImages managed;
  managed.name_format = provider.text("image-name-format");
  managed.post_upload_hook = provider.optional_text("post-upload-hook").value_or("");
  for (const config::Section& section : provider.sections("diskimages")) {
    driver::ProviderImage image = load_diskimage(section, config);
    const std::string name = image.name;
    managed.images.insert_or_assign(name, std::move(image));
  }
  return managed;
}

void load_validations(const config::Section& provider, const MachinePools& pools,
                      driver::ManagedImages& managed) {
  for (const config::Section& section : provider.sections("diskimages")) {
    const std::optional<config::Section> validate = section.section("validate");
    if (!validate) continue;
    driver::ProviderImage& image = managed.images.at(section.text("name"));
    image.validation = validation_of(image, *validate, pools);
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

driver::MachineLabel load_label(const config::Section& label, const config::Config& config,
                                const driver::ManagedImages& managed,
                                const CloudImages& cloud_images) {
  std::vector<config::Problem> unlisted;
  driver::MachineLabel machine = load_label(label, config, managed, cloud_images, unlisted);
  if (!unlisted.empty()) throw config::ConfigError(unlisted.front());
  return machine;
}

driver::MachineLabel load_label(const config::Section& label, const config::Config& config,
                                const driver::ManagedImages& managed,
                                const CloudImages& cloud_images,
                                std::vector<config::Problem>& warnings) {
  const auto diskimage = label.optional_text("diskimage");
  if (!diskimage) return load_cloud_image_label(label, config, cloud_images);
  driver::MachineLabel machine = common_label(label, config);
  machine.diskimage = *diskimage;
  machine.access = access_of(config::find_diskimage(config, label, "diskimage", *diskimage));
  const auto uploaded = managed.images.find(*diskimage);
  if (uploaded != managed.images.end()) {
    machine.access = uploaded->second.access;
  } else {
    warnings.push_back(
        label
            .error("diskimage",
                   "the provider's `diskimages` do not have " + config::in_quotes(*diskimage),
                   config::did_you_mean(*diskimage, config::keys_of(managed.images)))
            .problem());
  }
  return machine;
}

driver::MachineLabel load_cloud_image_label(const config::Section& label,
                                            const config::Config& config,
                                            const CloudImages& cloud_images) {
  driver::MachineLabel machine = common_label(label, config);
  const auto name = label.optional_text("cloud-image");
  if (!name) return machine;
  const auto image = cloud_images.find(*name);
  if (image == cloud_images.end()) {
    throw label.error("cloud-image", "the provider has no cloud image `" + *name + "`",
                      config::did_you_mean(*name, config::keys_of(cloud_images)));
  }
  machine.cloud_image = *name;
  machine.access = image->second;
  return machine;
}

}  // namespace nodepool::cloud
