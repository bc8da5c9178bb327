#include "drivers/aws/config/aws_config.h"

#include "cloud/config/loading.h"
#include "config/ca_bundle.h"
#include "config/duration.h"
#include "config/nodepool_schema.h"
#include "config/outside_error.h"
#include "config/section.h"
#include "drivers/aws/account/find_account.h"
#include "drivers/aws/config/aws_schema.h"

namespace nodepool::drivers::aws {

using driver::MachineLabel;
using driver::MachinePool;

namespace {

AmiReference load_reference(const config::Section& image) {
  AmiReference reference;
  reference.id = image.optional_text("image-id").value_or("");
  for (const config::Section& filter : image.sections("image-filters")) {
    const char* name = filter.has("Name") ? "Name" : "name";
    const char* values = filter.has("Values") ? "Values" : "values";
    if (!filter.has(name)) throw filter.error("name", "a filter needs a name");
    reference.filters.push_back({.name = filter.text(name), .values = filter.texts(values)});
  }
  return reference;
}

void load_limits(const config::Section& section, driver::Limits& limits) {
  constexpr std::pair<const char*, const char*> kKeys[] = {
      {"max-servers", "instances"}, {"max-cores", "cores"}, {"max-ram", "ram"}};
  for (const auto& [key, resource] : kKeys) {
    const auto most = section.optional_integer(key);
    if (most) limits[resource] = static_cast<double>(*most);
  }
  for (const auto& [resource, most] : section.integer_map("max-resources")) {
    limits[resource] = static_cast<double>(most);
  }
}

void check_dedicated_host(const config::Section& section, const AwsLabel& label,
                          const MachinePool& pool) {
  if (!label.dedicated_host) return;
  const auto refuse = [&section](const char* message) {
    throw section.error("dedicated-host", message);
  };
  if (label.use_spot) refuse("a dedicated host does not go with `use-spot`");
  if (pool.zones.empty()) refuse("a dedicated host needs the pool's `availability-zone`");
}

VolumeOptions load_volume(const config::Section& section) {
  return {.type = section.optional_text("volume-type").value_or(""),
          .size = section.optional_integer("volume-size"),
          .iops = section.optional_integer("iops"),
          .throughput = section.optional_integer("throughput")};
}

UploadOptions::Method load_method(const config::Section& image, const config::Section& provider) {
  using Method = UploadOptions::Method;
  const std::string word = image.text("import-method");
  if (word == "ebs-direct") {
    if (provider.text("image-format") != "raw") {
      throw provider.error("image-format", "`import-method: ebs-direct` requires the format `raw`");
    }
    return Method::ebs_direct;
  }
  if (!provider.section("object-storage")) {
    throw image.error("import-method",
                      "`import-method: " + word +
                          "` requires the provider's `object-storage` with a `bucket-name`; "
                          "`ebs-direct` does not");
  }
  if (word == "snapshot") return Method::snapshot;
  if (image.optional_text("imds-support")) {
    throw image.error("imds-support",
                      "not supported with `import-method: image`, only with `snapshot` and "
                      "`ebs-direct`");
  }
  return Method::image;
}

}  // namespace

// The images that labels may refer to.
struct AwsConfig::Images {
  cloud::CloudImages cloud_images;
  driver::ByName<AmiReference> references;  // of these
};

AwsConfig::AwsConfig(const config::ProviderSection& section, const config::Config& config,
                     const config::Environment& environment)
    : StateMachineConfig(section) {
  const config::Schema schema = config::provider_schema(aws_schema());
  const config::Section provider(section.value, schema, section.file, section.path);
  rate_ = provider.number("rate");
  load_boot_and_retries(provider);
  load_launch_timeout(provider);
  const Images images = load_images(provider, config);
  for (const config::Section& pool : provider.sections("pools")) {
    load_pool(pool, provider, section, config, images);
  }
  try {
    account_ = find_account(provider.optional_text("profile-name"),
                            provider.optional_text("region-name"), environment);
    if (account_.ca_file.empty()) {
      account_.ca_file = config::ca_bundle(config::HttpLibrary::botocore, environment, provider);
    }
  } catch (const config::OutsideError& error) {
    outside_problem_ = error.problem();
  } catch (const AccountError& error) {
    outside_problem_ = provider.error("profile-name", error.what()).problem();
  }
}

void AwsConfig::load_uploads(const config::Section& provider, const config::Config& config) {
  driver::ManagedImages managed;
  managed.format = provider.text("image-format");
  if (const auto storage = provider.section("object-storage")) {
    bucket_ = storage->text("bucket-name");
  }
  import_timeout_ =
      config::duration_of(provider.optional_integer("image-import-timeout").value_or(0));
  managed.post_upload_hook = provider.optional_text("post-upload-hook").value_or("");
  for (const config::Section& section : provider.sections("diskimages")) {
    driver::ProviderImage image = cloud::load_upload_entry(section, config);
    const std::string name = image.name;
    for (auto& [key, value] : section.text_map("tags")) image.meta.emplace(key, value);
    UploadOptions options{.method = load_method(section, provider),
                          .architecture = section.text("architecture"),
                          .ena_support = section.boolean("ena-support"),
                          .imds_support = section.optional_text("imds-support").value_or(""),
                          .volume = load_volume(section)};
    uploads_.insert_or_assign(name, std::move(options));
    managed.images.insert_or_assign(name, std::move(image));
  }
  managed_images_ = std::move(managed);
}

AwsConfig::Images AwsConfig::load_images(const config::Section& provider,
                                         const config::Config& config) {
  load_uploads(provider, config);
  Images found{.cloud_images = cloud::load_cloud_images(provider), .references = {}};
  for (const config::Section& section : provider.sections("cloud-images")) {
    found.references.insert_or_assign(section.text("name"), load_reference(section));
  }
  return found;
}

void AwsConfig::load_pool(const config::Section& section, const config::Section& provider,
                          const config::ProviderSection& provider_section,
                          const config::Config& config, const Images& images) {
  driver::PoolConfig pool = driver::load_common_pool(section, provider_section);
  pool.limits.clear();
  load_limits(provider, pool.limits);
  load_limits(section, pool.limits);
  if (!pool.max_servers) pool.max_servers = provider.optional_integer("max-servers");
  MachinePool machine_pool;
  if (const auto zone = section.optional_text("availability-zone")) machine_pool.zones = {*zone};
  machine_pool.use_internal_ip = cloud::flag(section, provider, "use-internal-ip");
  AwsPool aws_pool;
  aws_pool.subnet_id = section.optional_text("subnet-id");
  aws_pool.security_group_id = section.optional_text("security-group-id");
  aws_pool.public_ipv4 = section.optional_boolean("public-ip-address")
                             .value_or(cloud::flag(section, provider, "public-ipv4"));
  aws_pool.public_ipv6 = cloud::flag(section, provider, "public-ipv6");
  for (const config::Section& label : section.sections("labels")) {
    load_label(label, section, provider, config, images, machine_pool, aws_pool);
  }
  aws_pools_.insert_or_assign(pool.name, std::move(aws_pool));
  add_pool(std::move(pool), std::move(machine_pool));
}

void AwsConfig::load_label(const config::Section& section, const config::Section& pool_section,
                           const config::Section& provider, const config::Config& config,
                           const Images& images, MachinePool& machine_pool, AwsPool& pool) {
  const std::string name = section.text("name");
  MachineLabel machine = cloud::load_label(section, config, *managed_images_, images.cloud_images);
  AwsLabel label;
  if (!machine.cloud_image.empty()) {
    const AmiReference& reference = images.references.at(machine.cloud_image);
    if (!reference.is_empty()) label.cloud_image = reference;
  }
  machine.host_key_checking = cloud::flag(pool_section, provider, "host-key-checking");
  label.instance_type = section.optional_text("instance-type").value_or("");
  label.key_name = section.optional_text("key-name");
  label.ebs_optimized = section.boolean("ebs-optimized");
  label.volume = load_volume(section);
  label.userdata = section.optional_text("userdata");
  if (const auto profile = section.section("iam-instance-profile")) {
    label.profile_name = profile->optional_text("name").value_or("");
    label.profile_arn = profile->optional_text("arn").value_or("");
  }
  label.tags = section.text_map("tags");
  label.dynamic_tags = section.text_map("dynamic-tags");
  label.use_spot = section.boolean("use-spot");
  label.imdsv2 = section.optional_text("imdsv2").value_or("");
  label.dedicated_host = section.boolean("dedicated-host");
  if (const auto fleet = section.section("fleet")) {
    label.fleet = {.instance_types = fleet->texts("instance-types"),
                   .allocation_strategy = fleet->text("allocation-strategy")};
  }
  check_dedicated_host(section, label, machine_pool);
  machine_pool.labels.insert_or_assign(name, std::move(machine));
  pool.labels.insert_or_assign(name, std::move(label));
}

bool AwsConfig::same_as(const driver::ProviderConfig& other) const {
  const auto* aws = dynamic_cast<const AwsConfig*>(&other);
  return aws != nullptr && StateMachineConfig::same_as(other) && account_ == aws->account_;
}

}  // namespace nodepool::drivers::aws
