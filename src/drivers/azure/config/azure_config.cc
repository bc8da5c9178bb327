#include "drivers/azure/config/azure_config.h"

#include "cloud/config/loading.h"
#include "config/ca_bundle.h"
#include "config/nodepool_schema.h"
#include "config/outside_error.h"
#include "config/section.h"
#include "drivers/azure/config/azure_schema.h"

namespace nodepool::drivers::azure {

namespace {

std::string gallery_path(const char* kind, const config::Section& image) {
  std::string path =
      std::string("/") + kind + "/" + image.text("gallery-name") + "/Images/" + image.text("name");
  if (const auto version = image.optional_text("version")) path += "/Versions/" + *version;
  return path;
}

AzureImage load_cloud_image(const config::Section& section, const config::Section& provider) {
  AzureImage image;
  if (const auto reference = section.section("image-reference")) {
    for (const char* key : {"publisher", "offer", "sku", "version"}) {
      image.reference[key] = reference->text(key);
    }
  }
  if (const auto id = section.optional_text("image-id")) image.reference = {{"id", *id}};
  if (const auto shared = section.section("shared-gallery-image")) {
    image.reference = {{"sharedGalleryImageId", gallery_path("SharedGalleries", *shared)}};
  }
  if (const auto community = section.section("community-gallery-image")) {
    image.reference = {{"communityGalleryImageId", gallery_path("CommunityGalleries", *community)}};
  }
  if (const auto filter = section.section("image-filter")) {
    image.filter = {.name = filter->optional_text("name").value_or(""),
                    .location = filter->optional_text("location").value_or(""),
                    .tags = {}};
    for (auto& [key, value] : filter->text_map("tags")) image.filter->tags.emplace(key, value);
  }
  if (image.reference.empty() && !image.filter) {
    throw section.section_error(
        "set one of `image-reference`, `image-id`, `image-filter`, `shared-gallery-image` and "
        "`community-gallery-image`");
  }
  image.key = provider.optional_text("zuul-public-key").value_or("");
  return image;
}

void load_login(const config::Section& section, const driver::ImageAccess& access,
                AzureImage& image) {
  image.username = access.username.value_or("");
  if (const auto key = section.optional_text("key")) image.key = *key;
  image.password = section.optional_text("password").value_or("");
  image.generate_password = section.boolean("generate-password");
}

std::string load_subnet(const config::Section& provider, const AzureAccount& account) {
  if (const auto id = provider.optional_text("subnet-id")) return *id;
  const config::Value* value = provider.find("network");
  if (value == nullptr) throw provider.section_error("set either `subnet-id` or `network`");
  std::string group = account.resource_group;
  std::string subnet = "default";
  std::string network;
  if (value->is_mapping()) {
    const config::Section named(*value, network_schema(), provider.file(),
                                provider.path_of("network"));
    group = named.optional_text("resource-group").value_or(group);
    network = named.text("network");
    subnet = named.text("subnet");
  } else {
    network = provider.text("network");
  }
  return "/subscriptions/" + account.subscription.id + "/resourceGroups/" + group +
         "/providers/Microsoft.Network/virtualNetworks/" + network + "/subnets/" + subnet;
}

}  // namespace

// The images that labels may refer to.
struct AzureConfig::Images {
  cloud::CloudImages cloud_images;
  driver::ByName<AzureImage> of_cloud;
  driver::ByName<AzureImage> uploaded;  // by the diskimage's name
};

std::string auth_path_of(const config::ProviderSection& section,
                         const config::Environment& environment) {
  const config::Value* named = section.value.find("auth-path");
  const std::string path = named == nullptr || named->is_null() ? "" : named->text();
  return path.empty() ? config::variable(environment, "AZURE_AUTH_LOCATION") : path;
}

AzureConfig::AzureConfig(const config::ProviderSection& section, const config::Config& config,
                         const config::Environment& environment)
    : StateMachineConfig(section) {
  const config::Schema schema = config::provider_schema(azure_schema());
  const config::Section provider(section.value, schema, section.file, section.path);
  account_.location = provider.text("location");
  account_.resource_group = provider.text("resource-group");
  account_.group_location = provider.text("resource-group-location");
  rate_ = provider.number("rate");
  load_boot_and_retries(provider);
  load_launch_timeout(provider);
  const Images images = load_images(provider, config);
  for (const config::Section& pool : provider.sections("pools")) {
    load_pool(pool, provider, section, config, images);
  }
  load_subnet(provider, account_);
  try {
    account_.subscription = find_subscription(auth_path_of(section, environment), environment);
    account_.ca_file = config::ca_bundle(config::HttpLibrary::requests, environment, provider);
  } catch (const config::OutsideError& error) {
    outside_problem_ = error.problem();
  } catch (const AuthFileError& error) {
    outside_problem_ = provider.error("auth-path", error.what()).problem();
  }
  subnet_id_ = load_subnet(provider, account_);
}

AzureConfig::Images AzureConfig::load_images(const config::Section& provider,
                                             const config::Config& config) {
  Images images{.cloud_images = cloud::load_cloud_images(provider), .of_cloud = {}, .uploaded = {}};
  for (const config::Section& section : provider.sections("cloud-images")) {
    const std::string name = section.text("name");
    AzureImage image = load_cloud_image(section, provider);
    load_login(section, images.cloud_images.at(name), image);
    images.of_cloud.insert_or_assign(name, std::move(image));
  }
  driver::ManagedImages managed;
  managed.format = "vhd";
  managed.post_upload_hook = provider.optional_text("post-upload-hook").value_or("");
  for (const config::Section& section : provider.sections("diskimages")) {
    driver::ProviderImage uploaded = cloud::load_upload_entry(section, config);
    const std::string name = uploaded.name;
    for (auto& [key, value] : section.text_map("tags")) uploaded.meta.emplace(key, value);
    AzureImage image;
    load_login(section, uploaded.access, image);
    images.uploaded.insert_or_assign(name, std::move(image));
    managed.images.insert_or_assign(name, std::move(uploaded));
  }
  managed_images_ = std::move(managed);
  return images;
}

void AzureConfig::load_pool(const config::Section& section, const config::Section& provider,
                            const config::ProviderSection& provider_section,
                            const config::Config& config, const Images& images) {
  driver::PoolConfig pool = driver::load_common_pool(section, provider_section);
  if (!pool.max_servers) throw section.section_error("the key `max-servers` is missing");
  driver::MachinePool machines;
  machines.use_internal_ip = cloud::flag(section, provider, "use-internal-ip");
  AzurePool azure{.public_ipv4 = cloud::flag(section, provider, "public-ipv4"),
                  .public_ipv6 = cloud::flag(section, provider, "public-ipv6"),
                  .labels = {}};
  azure.ipv6 = azure.public_ipv6 || cloud::flag(section, provider, "ipv6");
  azure.ipv4 = azure.public_ipv4 || cloud::flag(section, provider, "ipv4") || !azure.ipv6;
  for (const config::Section& part : section.sections("labels")) {
    const std::string name = part.text("name");
    driver::MachineLabel machine =
        cloud::load_label(part, config, *managed_images_, images.cloud_images);
    machine.host_key_checking = cloud::flag(section, provider, "host-key-checking");
    AzureLabel label{.image = std::nullopt,
                     .size = part.section("hardware-profile")->text("vm-size"),
                     .volume_size = part.optional_integer("volume-size"),
                     .use_spot = part.boolean("use-spot"),
                     .user_data = part.optional_text("user-data").value_or(""),
                     .custom_data = part.optional_text("custom-data").value_or(""),
                     .tags = part.text_map("tags"),
                     .dynamic_tags = part.text_map("dynamic-tags")};
    const auto& known = machine.diskimage.empty() ? images.of_cloud : images.uploaded;
    const auto image =
        known.find(machine.diskimage.empty() ? machine.cloud_image : machine.diskimage);
    if (image != known.end()) label.image = image->second;
    machines.labels.insert_or_assign(name, std::move(machine));
    azure.labels.insert_or_assign(name, std::move(label));
  }
  azure_pools_.insert_or_assign(pool.name, std::move(azure));
  add_pool(std::move(pool), std::move(machines));
}

bool AzureConfig::same_as(const driver::ProviderConfig& other) const {
  const auto* azure = dynamic_cast<const AzureConfig*>(&other);
  return azure != nullptr && StateMachineConfig::same_as(other) && account_ == azure->account_;
}

}  // namespace nodepool::drivers::azure
