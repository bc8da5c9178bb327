#include "drivers/openstack/config/openstack_schema.h"

#include "cloud/config/fields.h"
#include "config/nodepool_schema.h"

namespace nodepool::drivers::openstack {

namespace {

using namespace config;

const Field& config_drive_field() {
  static const Field field = {
      .key = "config-drive",
      .type = boolean(),
      .description = "Attach a configuration drive. Requested only if `true`."};
  return field;
}

const Fields& image_fields() {
  static const Fields fields = joined({config_drive_field()}, cloud::connection_fields());
  return fields;
}

const Schema& diskimage_schema() {
  static const Schema schema{.description =
                                 "An image of the top level to upload to this provider. User name, "
                                 "Python path and shell type are set at the top level.",
                             .fields = joined(cloud::diskimage_fields(), image_fields())};
  return schema;
}

const Schema& cloud_image_schema() {
  static const Schema schema{
      .description = "An image that exists in the cloud.",
      .fields = joined(
          {{.key = "name",
            .type = string(),
            .required = Required::always,
            .description = "Name of the image in labels. Without `image-id` and `image-name`, also "
                           "its name or ID in the cloud."},
           {.key = "image-id",
            .type = string(),
            .description = "ID of the image. It is used without a lookup."},
           {.key = "image-name", .type = string(), .description = "Name or ID of the image."},
           cloud::username_field(),
           cloud::python_path_field(),
           cloud::shell_type_field()},
          image_fields()),
      .rules = {{.kind = Rule::Kind::at_most_one, .keys = {"image-id", "image-name"}}}};
  return schema;
}

const Schema& label_schema() {
  static const Schema schema{
      .description = "A type of machine in the pool.",
      .fields =
          joined(joined({cloud::label_name_field()}, cloud::label_image_fields()),
                 {{.key = "min-ram",
                   .type = integer(),
                   .default_value = "0",
                   .unit = "MiB",
                   .description = "Minimum memory: the smallest flavor with at least as much is "
                                  "used. 0: the flavor is chosen by name only."},
                  {.key = "flavor-name",
                   .type = string(),
                   .description = "Name or ID of the flavor; with `min-ram`, a part of its name."},
                  {.key = "key-name",
                   .type = string(),
                   .description = "Key pair in the cloud, for the image's default user."},
                  cloud::console_log_field(),
                  {.key = "boot-from-volume",
                   .type = boolean(),
                   .default_value = "false",
                   .description = "Boot from a volume, which is deleted with the machine."},
                  {.key = "volume-size",
                   .type = integer(),
                   .default_value = "50",
                   .unit = "GB",
                   .description = "Size of the boot volume."},
                  {.key = "instance-properties",
                   .type = mapping_of(anything()),
                   .default_note = "none",
                   .description = "Metadata of the machine in the cloud."},
                  {.key = "dynamic-instance-properties",
                   .type = mapping_of(string()),
                   .default_note = "none",
                   .description = cloud::kMadeOfRequest},
                  cloud::user_data_field(),
                  {.key = "networks",
                   .type = list_of(string()),
                   .default_note = "pool's",
                   .description = "Names or IDs of the machine's networks, in order. Empty list: "
                                  "the cloud's default."},
                  {.key = "host-key-checking",
                   .type = boolean(),
                   .default_note = "pool's",
                   .description = "Read the SSH host keys before the machine is ready."}}),
      .rules = {{.kind = Rule::Kind::exactly_one, .keys = {"diskimage", "cloud-image"}},
                {.kind = Rule::Kind::at_least_one, .keys = {"min-ram", "flavor-name"}}}};
  return schema;
}

const Schema& pool_schema() {
  static const Schema schema{
      .description = "A group of machines with the same networks and limits.",
      .fields = joined(
          joined(common_pool_fields(), cloud::limit_fields()),
          {{.key = "availability-zones",
            .type = list_of(string()),
            .default_note = "zones listed by the cloud",
            .description =
                "Availability zones to choose from. All nodes of a request are in one zone."},
           {.key = "networks",
            .type = list_of(string()),
            .default_note = "cloud's default",
            .description = "Names or IDs of the machines' networks, in order."},
           {.key = "security-groups",
            .type = list_of(string()),
            .default_note = "cloud's default",
            .description = "Names or IDs of the machines' security groups."},
           {.key = "auto-floating-ip",
            .type = boolean(),
            .default_value = "true",
            .description = "Assign a floating IP to machines without another public address."},
           {.key = "host-key-checking",
            .type = boolean(),
            .default_value = "true",
            .description = "Default of the labels."},
           cloud::labels_field(label_schema(), Required::never)})};
  return schema;
}

}  // namespace

const Schema& openstack_schema() {
  static const Schema schema{
      .description = "Machines in an OpenStack cloud.",
      .fields = joined(
          {{{.key = "cloud",
             .type = string(),
             .required = Required::strictly,
             .default_note = "set by the `OS_*` variables",
             .description = "Entry of `clouds.yaml`: endpoint and credentials."},
            {.key = "region-name",
             .type = string(),
             .description = "Region. Recorded with each node."},
            {.key = "rate",
             .type = lenient_number(),
             .default_value = "1.0",
             .unit = "seconds",
             .description =
                 "Minimum time between two calls of one service of the cloud. 0: unlimited."}},
           cloud::launch_fields(),
           {{.key = "nodepool-id",
             .type = string(),
             .description = "Has no effect.",
             .deprecated = "remove it"}},
           cloud::upload_fields(
               "Maximum time until the cloud has made a sent image usable. While it is sent: "
               "maximum time without progress, plus one second per MiB; at least 10 minutes."),
           {{.key = "clean-floating-ips",
             .type = boolean(),
             .default_value = "false",
             .description = "Delete all unattached floating IPs of the project, including those of "
                            "other users."},
            {.key = "port-cleanup-interval",
             .type = integer(),
             .default_value = "600",
             .unit = "seconds",
             .description = "Delete ports of the project, including those of other users, that are "
                            "`DOWN` in two checks at least this far apart. 0: off."},
            cloud::diskimages_field(diskimage_schema()),
            cloud::cloud_images_field(cloud_image_schema()),
            cloud::pools_field(pool_schema(), Required::never)}})};
  return schema;
}

}  // namespace nodepool::drivers::openstack
