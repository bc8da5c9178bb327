#include "drivers/example/example_config.h"

#include "cloud/config/fields.h"
#include "config/nodepool_schema.h"
#include "config/section.h"

namespace nodepool::drivers::example {

namespace {

using namespace config;

// The manual, the strict validation, the warnings and the defaults are all derived from the schema.
const Schema& cloud_image_schema() {
  static const Schema schema{
      .description = "An image in the cloud.",
      .fields = joined(
          {
              {.key = "name",
               .type = string(),
               .required = Required::always,
               .description =
                   "Name of the image in labels. Without `image-id`, also its ID in the cloud."},
              {.key = "image-id", .type = string(), .description = "ID of the image in the cloud."},
              cloud::username_field(),
              {.key = "key", .type = string(), .description = "SSH public key of this user."},
              cloud::python_path_field(),
          },
          cloud::connection_fields())};
  return schema;
}

const Schema& label_schema() {
  static const Schema schema{
      .description = "A type of machine in the pool.",
      .fields = {
          cloud::label_name_field(),
          {.key = "cloud-image",
           .type = string(),
           .required = Required::strictly,
           .description =
               "Image to create the machine from: an entry of the provider's `cloud-images`."},
          {.key = "instance-type",
           .type = string(),
           .required = Required::always,
           .description = "Size of the machine: `small`, `medium` or `large`."},
      }};
  return schema;
}

const Schema& pool_schema() {
  static const Schema schema{
      .description = "A group of machines.",
      .fields = joined(common_pool_fields(),
                       {{.key = "labels",
                         .type = list_of(section(label_schema())),
                         .required = Required::strictly,
                         .description = "Types of machines."},
                        {.key = "use-internal-ip",
                         .type = boolean(),
                         .default_value = "false",
                         .description = "Connect to machines at their private address."},
                        {.key = "host-key-checking",
                         .type = boolean(),
                         .accepted = Accepted::by_daemons,
                         .default_value = "true",
                         .description = "Read the SSH host keys before a machine is assigned."}})};
  return schema;
}

}  // namespace

const config::Schema& example_schema() {
  static const Schema schema{
      .description =
          "Simulated machines, in a cloud inside the launcher. A model for authors of drivers.",
      .fields = {
          {.key = "region",
           .type = string(),
           .required = Required::strictly,
           .description = "Region of the cloud: any name."},
          {.key = "project",
           .type = string(),
           .required = Required::strictly,
           .description = "Project in the cloud: any name. Each project has a quota of 10 "
                          "machines, 40 cores and 80 GiB."},
          {.key = "cloud-images",
           .type = list_of(section(cloud_image_schema())),
           .description = "Images for labels. The cloud has `debian-12`, `ubuntu-24.04`, and "
                          "`broken`, with which no machine comes up."},
          cloud::boot_timeout_field(),
          cloud::launch_retries_field(),
          {.key = "rate-limit",
           .type = integer(),
           .default_value = "1",
           .unit = "calls per second",
           .description = "Maximum calls of the cloud per second. 0: unlimited."},
          {.key = "pools",
           .type = list_of(section(pool_schema())),
           .required = Required::strictly,
           .description = "Groups of machines."},
      }};
  return schema;
}

ExampleConfig::ExampleConfig(const config::ProviderSection& section, const config::Config& config)
    : StateMachineConfig(section) {
  const Schema schema = provider_schema(example_schema());
  const Section provider(section.value, schema, section.file, section.path);
  region_ = provider.optional_text("region").value_or("");
  project_ = provider.optional_text("project").value_or("");
  rate_limit_ = static_cast<double>(provider.integer("rate-limit"));
  load_boot_and_retries(provider);
  for (const Section& image : provider.sections("cloud-images")) load_cloud_image(image);
  for (const Section& pool : provider.sections("pools")) load_pool(pool, section, config);
}

void ExampleConfig::load_cloud_image(const Section& section) {
  const std::string name = section.text("name");
  driver::ImageAccess access;
  access.username = section.optional_text("username");
  access.python_path = section.text("python-path");
  cloud::load_connection(section, access);
  cloud_images_.insert_or_assign(name, std::move(access));
  originals_.insert_or_assign(name,
                              OriginalImage{.id = section.optional_text("image-id").value_or(name),
                                            .ssh_key = section.optional_text("key").value_or("")});
}

void ExampleConfig::load_pool(const Section& section, const ProviderSection& provider,
                              const Config& config) {
  driver::PoolConfig pool = driver::load_common_pool(section, provider);
  driver::MachinePool machine_pool;
  machine_pool.use_internal_ip = section.boolean("use-internal-ip");
  for (const Section& label : section.sections("labels")) {
    load_label(label, section, config, machine_pool, labels_[pool.name]);
  }
  add_pool(std::move(pool), std::move(machine_pool));
}

void ExampleConfig::load_label(const Section& section, const Section& pool_section,
                               const Config& config, driver::MachinePool& machine_pool,
                               driver::ByName<ExampleLabel>& labels) {
  const std::string name = section.text("name");
  driver::MachineLabel machine = cloud::load_cloud_image_label(section, config, cloud_images_);
  machine.host_key_checking = pool_section.boolean("host-key-checking");
  ExampleLabel label;
  label.instance_type = section.text("instance-type");
  if (!machine.cloud_image.empty()) label.image = originals_.at(machine.cloud_image);
  machine_pool.labels.insert_or_assign(name, std::move(machine));
  labels.insert_or_assign(name, std::move(label));
}

}  // namespace nodepool::drivers::example
