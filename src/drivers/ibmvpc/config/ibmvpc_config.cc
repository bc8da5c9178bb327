#include "drivers/ibmvpc/config/ibmvpc_config.h"

#include <algorithm>

#include "cloud/config/loading.h"
#include "config/ca_bundle.h"
#include "config/nodepool_schema.h"
#include "config/outside_error.h"
#include "config/section.h"
#include "drivers/ibmvpc/config/ibmvpc_schema.h"

namespace nodepool::drivers::ibmvpc {

namespace {

// The beginning of the names in the cloud; see image_name().
constexpr const char* kImageNameFormat = "npimage-{upload_id}";

std::string url_or(std::string url, const std::string& usual) {
  while (url.ends_with('/')) url.pop_back();
  return url.empty() ? usual : url;
}

// The pool's value, or the provider's.
std::string text_of(const config::Section& pool, const config::Section& provider, const char* key) {
  const auto own = pool.optional_text(key);
  return own ? *own : provider.optional_text(key).value_or("");
}

// The values of a filter for the operating system, by the API's names.
driver::Metadata operating_system_of(const config::Section& filter) {
  driver::Metadata wanted;
  const auto section = filter.section("operating-system");
  if (!section) return wanted;
  for (const char* key :
       {"architecture", "display-name", "family", "href", "name", "vendor", "version"}) {
    std::string name = key;
    std::ranges::replace(name, '-', '_');
    if (const auto value = section->optional_text(key)) wanted[name] = *value;
  }
  if (const auto only = section->optional_boolean("dedicated-host-only")) {
    wanted["dedicated_host_only"] = *only ? "true" : "false";
  }
  return wanted;
}

VpcImageSource load_source(const config::Section& image) {
  VpcImageSource source{.id = image.optional_text("image-id").value_or(""),
                        .href = image.optional_text("image-href").value_or(""),
                        .name = image.optional_text("image-name").value_or(""),
                        .operating_system = {},
                        .owner_type = {},
                        .status = {}};
  const auto filter = image.section("image-filter");
  if (filter) {
    source.operating_system = operating_system_of(*filter);
    source.owner_type = filter->optional_text("owner-type").value_or("");
    source.status = filter->optional_text("status").value_or("");
  } else if (source.id.empty() && source.href.empty() && source.name.empty()) {
    throw image.section_error(
        "set one of `image-id`, `image-href`, `image-name` and `image-filter`");
  }
  return source;
}

void refuse_underscores(const config::Section& section) {
  if (section.text("name").contains('_')) {
    throw section.error("name",
                        "must not contain underscores, because resource groups are named "
                        "`np_PROVIDER_POOL`");
  }
}

}  // namespace

// The images that labels may refer to.
struct IbmVpcConfig::Images {
  struct CloudImage {
    VpcImageSource source;
    std::vector<std::string> keys;
  };

  cloud::CloudImages access;            // of the cloud images
  driver::ByName<CloudImage> of_cloud;  // the rest of them
};

IbmVpcConfig::IbmVpcConfig(const config::ProviderSection& section, const config::Config& config,
                           const config::Environment& environment)
    : StateMachineConfig(section) {
  const config::Schema schema = config::provider_schema(ibmvpc_schema());
  const config::Section provider(section.value, schema, section.file, section.path);
  refuse_underscores(provider);
  const std::string region = provider.text("region");
  account_ = {.region = region,
              .vpc_url = url_or(config::variable(environment, "VPC_URL"),
                                "https://" + region + ".iaas.cloud.ibm.com/v1"),
              .groups_url = url_or(config::variable(environment, "RESOURCE_MANAGER_URL"),
                                   "https://resource-controller.cloud.ibm.com"),
              .credentials = {}};
  vpc_ = provider.text("vpc");
  rate_ = provider.number("rate");
  load_quota(provider);
  load_boot_and_retries(provider);
  load_launch_timeout(provider);
  const Images images = load_images(provider);
  load_uploads(provider, config);
  for (const config::Section& pool : provider.sections("pools")) {
    load_pool(pool, provider, section, config, images);
  }
  try {
    const auto file = provider.optional_text("credentials-file");
    account_.credentials = find_credentials(file, environment);
    account_.ca_file = config::ca_bundle(config::HttpLibrary::requests, environment, provider);
    if (!image_bucket_.endpoint.empty()) {
      account_.storage_ca_file =
          config::ca_bundle(config::HttpLibrary::botocore, environment, provider);
    }
  } catch (const config::OutsideError& error) {
    outside_problem_ = error.problem();
  } catch (const IamCredentialError& error) {
    outside_problem_ = provider.error("credentials-file", error.what()).problem();
  }
}

void IbmVpcConfig::load_quota(const config::Section& provider) {
  const auto quota = provider.section("quota");
  if (!quota) return;
  for (const char* resource : {"instances", "cores", "ram"}) {
    const auto limit = quota->optional_integer(resource);
    if (limit) quota_[resource] = static_cast<double>(*limit);
  }
}

IbmVpcConfig::Images IbmVpcConfig::load_images(const config::Section& provider) {
  Images images{.access = cloud::load_cloud_images(provider), .of_cloud = {}};
  for (const config::Section& section : provider.sections("cloud-images")) {
    Images::CloudImage image{.source = load_source(section), .keys = section.texts("keys")};
    images.of_cloud.insert_or_assign(section.text("name"), std::move(image));
  }
  return images;
}

// Without `object-storage`, uploads fail, but those of another builder can be used.
void IbmVpcConfig::load_uploads(const config::Section& provider, const config::Config& config) {
  if (const auto storage = provider.section("object-storage")) {
    image_bucket_ = {.endpoint = url_or(storage->text("endpoint"), ""),
                     .name = storage->text("bucket-name")};
  }
  driver::ManagedImages managed;
  managed.format = provider.text("image-format");
  managed.name_format = kImageNameFormat;
  managed.post_upload_hook = provider.optional_text("post-upload-hook").value_or("");
  for (const config::Section& section : provider.sections("diskimages")) {
    driver::ProviderImage image = cloud::load_upload_entry(section, config);
    const std::string name = image.name;
    operating_systems_.insert_or_assign(name, section.text("operating-system"));
    managed.images.insert_or_assign(name, std::move(image));
  }
  managed_images_ = std::move(managed);
}

void IbmVpcConfig::load_pool(const config::Section& pool, const config::Section& provider,
                             const config::ProviderSection& section, const config::Config& config,
                             const Images& images) {
  refuse_underscores(pool);
  driver::PoolConfig loaded = driver::load_common_pool(pool, section);
  const VpcLabel defaults{.image = std::nullopt,
                          .keys = {},
                          .profile = {},
                          .user_data = {},
                          .volume_profile = {},
                          .volume_iops = std::nullopt,
                          .security_groups = pool.texts("security-groups"),
                          .zone = text_of(pool, provider, "zone"),
                          .subnet = text_of(pool, provider, "subnet"),
                          .public_ipv4 = cloud::flag(pool, provider, "public-ipv4")};
  if (defaults.zone.empty()) throw pool.section_error("set `zone` in the pool or the provider");
  if (defaults.subnet.empty()) {
    throw pool.section_error("set `subnet` in the pool or the provider");
  }
  driver::MachinePool machines;
  machines.use_internal_ip = cloud::flag(pool, provider, "use-internal-ip");
  for (const config::Section& label : pool.sections("labels")) {
    load_label(label, defaults, config, images, machines, labels_[loaded.name]);
  }
  const bool is_checked = cloud::flag(pool, provider, "host-key-checking");
  for (auto& [name, machine] : machines.labels) machine.host_key_checking = is_checked;
  add_pool(std::move(loaded), std::move(machines));
}

void IbmVpcConfig::load_label(const config::Section& label, const VpcLabel& defaults,
                              const config::Config& config, const Images& images,
                              driver::MachinePool& machines, driver::ByName<VpcLabel>& labels) {
  const std::string name = label.text("name");
  driver::MachineLabel machine = cloud::load_label(label, config, *managed_images_, images.access);
  VpcLabel loaded = defaults;
  loaded.profile = label.text("profile");
  loaded.user_data = label.optional_text("user-data").value_or("");
  loaded.volume_profile = label.text("volume-profile");
  loaded.volume_iops = label.optional_integer("volume-iops");
  if (loaded.volume_iops && !label.has("volume-profile")) {
    throw label.error("volume-iops", "needs a `volume-profile` whose IOPS can be chosen: `custom`");
  }
  if (!machine.cloud_image.empty()) {
    const Images::CloudImage& image = images.of_cloud.at(machine.cloud_image);
    loaded.image = image.source;
    loaded.keys = image.keys;
  }
  machines.labels.insert_or_assign(name, std::move(machine));
  labels.insert_or_assign(name, std::move(loaded));
}

std::set<std::string> credential_files(const config::ProviderSection& section,
                                       const config::Environment& environment) {
  const config::Value* named = section.value.find("credentials-file");
  std::optional<std::string> configured;
  if (named != nullptr && named->is_scalar() && !named->is_null()) configured = named->text();
  const std::vector<std::string> files = credentials_files(configured, environment);
  return {files.begin(), files.end()};
}

bool IbmVpcConfig::same_as(const driver::ProviderConfig& other) const {
  const auto* ibm = dynamic_cast<const IbmVpcConfig*>(&other);
  return ibm != nullptr && StateMachineConfig::same_as(other) && ibm->account_ == account_;
}

}  // namespace nodepool::drivers::ibmvpc
