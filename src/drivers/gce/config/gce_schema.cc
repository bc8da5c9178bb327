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
          joined({cloud::image_name_field(),
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
                   .description = "SSH public key to authorize for `username`."}},
                 cloud::access_fields())};
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
                 {.key = "metadata",
                  .type = mapping_of(anything()),
                  .default_note = "none",
                  .description = "Metadata of the instance, such as `startup-script`. Not "
                                 "`ssh-keys` and `nodepool_…`."},
                 {.key = "labels",
                  .type = mapping_of(anything()),
                  .default_note = "none",
                  .description = "Labels of the instance in Google."},
                 cloud::console_log_field()}};
  return schema;
}

const Schema& pool_schema() {
  static const Schema schema{
      .description = "A group of machines with the same limits.",
      .fields = joined(
          common_pool_fields(),
          {{.key = "network",
            .type = string(),
            .default_note = "`default`; with `subnetwork`, its network",
            .description = "Network of the machines: its name, or `projects/P/global/networks/N`."},
           {.key = "subnetwork",
            .type = string(),
            .default_note = "the network's",
            .description = "Subnetwork of the machines: its name in the region, or "
                           "`projects/P/regions/R/subnetworks/S`."},
           cloud::internal_ip_field(),
           with(cloud::host_key_field(), Accepted::by_daemons),
           cloud::labels_field(label_schema())})};
  return schema;
}

}  // namespace

const Schema& gce_schema() {
  static const Schema schema{
      .description = "Machines in Google Compute Engine.",
      .fields = joined(
          {{{.key = "project",
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
            with(cloud::rate_field("2"), Accepted::by_daemons),
            {.key = "rate-limit",
             .type = integer(),
             .default_value = "1",
             .description = "Has no effect, as in the Python Nodepool."}},
           cloud::launch_fields(),
           {cloud::cloud_images_field(cloud_image_schema()), cloud::pools_field(pool_schema())}})};
  return schema;
}

}  // namespace nodepool::drivers::gce
