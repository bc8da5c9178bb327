#include "drivers/gce/config/gce_config.h"

#include <fmt/format.h>

#include "cloud/config/loading.h"
#include "config/ca_bundle.h"
#include "config/nodepool_schema.h"
#include "config/outside_error.h"
#include "config/section.h"
#include "drivers/gce/config/gce_schema.h"

namespace nodepool::drivers::gce {

namespace {

constexpr const char* kUsualBaseUrl = "https://compute.googleapis.com/compute/v1";

std::string base_url(const config::Environment& environment) {
  std::string url = config::variable(environment, "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE");
  while (url.ends_with('/')) url.pop_back();
  return url.empty() ? kUsualBaseUrl : url;
}

// The path of what the key names: a name in `folder`, or already a path. Empty: missing.
std::string path_in(const config::Section& pool, std::string_view key, const std::string& folder) {
  const std::string named = pool.optional_text(key).value_or("");
  return named.empty() || named.contains('/') ? named : folder + named;
}

driver::Metadata load_metadata(const config::Section& label) {
  driver::Metadata metadata;
  for (auto& [key, value] : label.text_map("metadata")) {
    if (key == "ssh-keys" || key.starts_with("nodepool_")) {
      throw label.error("metadata", fmt::format("Nodepool sets `{}` itself", key));
    }
    metadata.emplace(key, value);
  }
  return metadata;
}

}  // namespace

// The images that labels may refer to.
struct GceConfig::Images {
  cloud::CloudImages cloud_images;
  driver::ByName<ImageReference> references;  // of these
  driver::ByName<std::string> ssh_keys;       // of these; see GceLabel
};

GceConfig::GceConfig(const config::ProviderSection& section, const config::Config& config,
                     const config::Environment& environment)
    : StateMachineConfig(section) {
  const config::Schema schema = config::provider_schema(gce_schema());
  const config::Section provider(section.value, schema, section.file, section.path);
  account_ = {.project = provider.optional_text("project").value_or(""),
              .region = provider.optional_text("region").value_or(""),
              .zone = provider.optional_text("zone").value_or(""),
              .base_url = base_url(environment),
              .credentials = {}};
  rate_ = provider.number("rate");
  load_boot_and_retries(provider);
  load_launch_timeout(provider);
  const Images images = load_images(provider);
  for (const config::Section& pool : provider.sections("pools")) {
    load_pool(pool, section, config, images);
  }
  try {
    account_.credentials = find_credentials(environment);
    account_.ca_file = config::ca_bundle(config::HttpLibrary::httplib2, environment, provider);
  } catch (const config::OutsideError& error) {
    outside_problem_ = error.problem();
  } catch (const CredentialError& error) {
    outside_problem_ = provider.error("project", error.what()).problem();
  }
}

GceConfig::Images GceConfig::load_images(const config::Section& provider) {
  Images images{
      .cloud_images = cloud::load_cloud_images(provider), .references = {}, .ssh_keys = {}};
  for (const config::Section& section : provider.sections("cloud-images")) {
    const std::string name = section.text("name");
    const auto username = section.optional_text("username");
    const auto key = section.optional_text("key");
    if (key && username) images.ssh_keys.insert_or_assign(name, *username + ":" + *key);
    ImageReference reference{.id = section.optional_text("image-id").value_or(""),
                             .project = section.optional_text("image-project").value_or(""),
                             .family = section.optional_text("image-family").value_or("")};
    images.references.insert_or_assign(name, std::move(reference));
  }
  return images;
}

void GceConfig::load_pool(const config::Section& section, const config::ProviderSection& provider,
                          const config::Config& config, const Images& images) {
  driver::PoolConfig pool = driver::load_common_pool(section, provider);
  driver::MachinePool machines;
  machines.use_internal_ip = section.boolean("use-internal-ip");
  const std::string subnetwork =
      path_in(section, "subnetwork", "regions/" + account_.region + "/subnetworks/");
  std::string network = path_in(section, "network", "global/networks/");
  if (network.empty() && subnetwork.empty()) network = "global/networks/default";
  for (const config::Section& part : section.sections("labels")) {
    const std::string name = part.text("name");
    driver::MachineLabel machine = cloud::load_cloud_image_label(part, config, images.cloud_images);
    machine.host_key_checking = section.boolean("host-key-checking");
    GceLabel label{.image = std::nullopt,
                   .ssh_key = {},
                   .instance_type = part.optional_text("instance-type").value_or(""),
                   .volume_type = part.text("volume-type"),
                   .volume_size = part.integer_or_text("volume-size"),
                   .network = network,
                   .subnetwork = subnetwork,
                   .metadata = load_metadata(part),
                   .labels = {}};
    for (auto& [key, value] : part.text_map("labels")) label.labels.emplace(key, value);
    if (!machine.cloud_image.empty()) {
      label.image = images.references.at(machine.cloud_image);
      const auto key = images.ssh_keys.find(machine.cloud_image);
      if (key != images.ssh_keys.end()) label.ssh_key = key->second;
    }
    machines.labels.insert_or_assign(name, std::move(machine));
    labels_[pool.name].insert_or_assign(name, std::move(label));
  }
  add_pool(std::move(pool), std::move(machines));
}

bool GceConfig::same_as(const driver::ProviderConfig& other) const {
  const auto* gce = dynamic_cast<const GceConfig*>(&other);
  return gce != nullptr && StateMachineConfig::same_as(other) && gce->account_ == account_;
}

}  // namespace nodepool::drivers::gce
