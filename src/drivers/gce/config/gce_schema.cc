#include "drivers/gce/config/gce_schema.h"

#include "cloud/config/fields.h"
#include "config/nodepool_schema.h"

namespace nodepool::drivers::gce {

namespace {

using namespace config;

const Schema& cloud_image_schema() {
  static const Schema schema{
      .description =
          "An existing image. Without `image-id`, both `image-project` and "
          "`image-family` are needed.",
      .fields =
          joined({{.key = "name",
                   .type = string(),
                   .required = Required::always,
                   .description = "Name of the image in labels."},
                  {.key = "image-id",
                   .type = string(),
                   .description = "Path of the image, such as "
                                  "`projects/debian-cloud/global/images/debian-12-bookworm-"
                                  "v20261110`. Overrides `image-project` and `image-family`."},
                  {.key = "image-project",
                   .type = string(),
                   .description = "Project of the image family."},
                  {.key = "image-family",
                   .type = string(),
                   .description = "Image family. Its newest image that is not deprecated is used."},
                  cloud::username_field(),
                  {.key = "key",
                   .type = string(),
                   .description = "SSH public key to authorize for `username`."},
                  cloud::python_path_field(),
                  cloud::shell_type_field()},
                 cloud::connection_fields())};
  return schema;
}

const Schema& label_schema() {
  static const Schema schema{
      .description = "A type of machine in the pool.",
      .fields = {cloud::label_name_field(),
                 {.key = "cloud-image",
                  .type = string(),
                  .required = Required::strictly,
                  .description = "Image to create the machine from: an entry of the provider's "
                                 "`cloud-images`."},
                 {.key = "instance-type",
                  .type = string(),
                  .required = Required::strictly,
                  .description = "Machine type, such as `e2-standard-4`."},
                 {.key = "volume-type",
                  .type = string(),
                  .default_value = "pd-standard",
                  .description = "Type of the boot disk."},
                 {.key = "volume-size",
                  .type = integer(),
                  .default_value = "10",
                  .unit = "GB",
                  .description = "Size of the boot disk."},
                 cloud::console_log_field()}};
  return schema;
}

const Schema& pool_schema() {
  static const Schema schema{
      .description = "A group of machines with the same limits.",
      .fields = joined(common_pool_fields(),
                       {{.key = "use-internal-ip",
                         .type = boolean(),
                         .default_value = "false",
                         .description = "Connect to nodes at their private address."},
                        {.key = "host-key-checking",
                         .type = boolean(),
                         .accepted = Accepted::by_daemons,
                         .default_value = "true",
                         .description = "Read the SSH host keys before a machine is ready."},
                        {.key = "labels",
                         .type = list_of(section(label_schema())),
                         .required = Required::always,
                         .description = "Types of machines."}})};
  return schema;
}

}  // namespace

const Schema& gce_schema() {
  static const Schema schema{
      .description = "Machines in Google Compute Engine.",
      .fields = {{.key = "project",
                  .type = string(),
                  .required = Required::strictly,
                  .description = "ID of the project."},
                 {.key = "region",
                  .type = string(),
                  .required = Required::strictly,
                  .description = "Region, whose quotas apply."},
                 {.key = "zone",
                  .type = string(),
                  .required = Required::strictly,
                  .description = "Zone of the machines, in `region`."},
                 {.key = "rate",
                  .type = one_of({integer(), number()}),
                  .accepted = Accepted::by_daemons,
                  .default_value = "2",
                  .unit = "calls/s",
                  .description = "Maximum calls per second. 0: unlimited."},
                 {.key = "rate-limit",
                  .type = integer(),
                  .default_value = "1",
                  .description = "Has no effect, as in the Python Nodepool."},
                 cloud::boot_timeout_field(),
                 cloud::launch_timeout_field(),
                 cloud::launch_retries_field(),
                 cloud::cloud_images_field(cloud_image_schema()),
                 {.key = "pools",
                  .type = list_of(section(pool_schema())),
                  .required = Required::strictly,
                  .description = "Groups of machines."}}};
  return schema;
}

}  // namespace nodepool::drivers::gce
