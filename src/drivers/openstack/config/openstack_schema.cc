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
      .description =
          "Whether the machine gets a configuration drive. It is asked for only if "
          "this is `true`."};
  return field;
}

const Fields& image_fields() {
  static const Fields fields = joined({config_drive_field()}, cloud::connection_fields());
  return fields;
}

const Schema& diskimage_schema() {
  static const Schema schema{
      .description =
          "An image of the top level that is uploaded to this provider. User name, "
          "Python path and shell type are those of the top level.",
      .fields = joined(cloud::diskimage_fields(), image_fields())};
  return schema;
}

const Schema& cloud_image_schema() {
  static const Schema schema{
      .description = "An image that is in the cloud already.",
      .fields = joined(
          {{.key = "name",
            .type = string(),
            .required = Required::always,
            .description = "What labels call it; and the image's name or id in the cloud, if "
                           "neither `image-id` nor `image-name` is set."},
           {.key = "image-id",
            .type = string(),
            .description = "The image's id. It is used without looking whether it is there."},
           {.key = "image-name", .type = string(), .description = "The image's name or id."},
           cloud::username_field(),
           cloud::python_path_field(),
           cloud::shell_type_field()},
          image_fields()),
      .rules = {{.kind = Rule::Kind::at_most_one, .keys = {"image-id", "image-name"}}}};
  return schema;
}

const Schema& label_schema() {
  static const Schema schema{
      .description = "A kind of machine that the pool makes.",
      .fields = joined(
          joined({cloud::label_name_field()}, cloud::label_image_fields()),
          {{.key = "min-ram",
            .type = integer(),
            .default_value = "0",
            .unit = "MiB",
            .description = "Take the smallest flavor with at least as much memory. 0: the flavor "
                           "is chosen by its name alone."},
           {.key = "flavor-name",
            .type = string(),
            .description = "The flavor's name or id; with `min-ram`, a part of its name."},
           {.key = "key-name",
            .type = string(),
            .description = "A key pair in the cloud, for the image's first user."},
           cloud::console_log_field(),
           {.key = "boot-from-volume",
            .type = boolean(),
            .default_value = "false",
            .description = "Whether the machine's disk is a volume, which goes when it goes."},
           {.key = "volume-size",
            .type = integer(),
            .default_value = "50",
            .unit = "GB",
            .description = "Size of that volume."},
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
            .default_note = "the pool's",
            .description = "Names or ids of the networks the machine is attached to, in order. An "
                           "empty list: the cloud's default."},
           {.key = "host-key-checking",
            .type = boolean(),
            .default_note = "the pool's",
            .description = "Whether the machine counts as ready only when its SSH host keys have "
                           "been read."}}),
      .rules = {{.kind = Rule::Kind::exactly_one, .keys = {"diskimage", "cloud-image"}},
                {.kind = Rule::Kind::at_least_one, .keys = {"min-ram", "flavor-name"}}}};
  return schema;
}

const Schema& pool_schema() {
  static const Schema schema{
      .description = "Machines with the same networks and limits.",
      .fields = joined(
          joined(common_pool_fields(), cloud::limit_fields()),
          {{.key = "availability-zones",
            .type = list_of(string()),
            .default_note = "those that the cloud shows",
            .description = "Zones to choose from. All nodes of a request are in one zone."},
           {.key = "networks",
            .type = list_of(string()),
            .default_note = "the cloud's default",
            .description = "Names or ids of the networks the machines are attached to, in order."},
           {.key = "security-groups",
            .type = list_of(string()),
            .default_note = "the cloud's default",
            .description = "Names or ids of the machines' security groups."},
           {.key = "auto-floating-ip",
            .type = boolean(),
            .default_value = "true",
            .description = "Whether a machine that cannot be reached otherwise gets a floating "
                           "IP."},
           {.key = "host-key-checking",
            .type = boolean(),
            .default_value = "true",
            .description = "For labels that do not say."},
           {.key = "labels",
            .type = list_of(section(label_schema())),
            .default_note = "none",
            .description = "The kinds of machines."}})};
  return schema;
}

}  // namespace

const Schema& openstack_schema() {
  static const Schema schema{
      .description = "Machines in an OpenStack cloud.",
      .fields = joined(
          joined(
              {{.key = "cloud",
                .type = string(),
                .required = Required::strictly,
                .default_note = "as the `OS_*` variables say",
                .description = "The entry of `clouds.yaml`: how to reach the cloud, and as whom."},
               {.key = "region-name",
                .type = string(),
                .description = "The region; also recorded with each node."},
               {.key = "rate",
                .type = lenient_number(),
                .default_value = "1.0",
                .unit = "seconds",
                .description = "Least time between two calls of one service of the cloud. 0 is no "
                               "limit."},
               cloud::boot_timeout_field(),
               cloud::launch_timeout_field(),
               cloud::launch_retries_field(),
               {.key = "nodepool-id",
                .type = string(),
                .description = "Has no effect.",
                .deprecated = "nothing: it can go"}},
              cloud::upload_fields()),
          {{.key = "clean-floating-ips",
            .type = boolean(),
            .default_value = "false",
            .description = "Whether all floating IPs of the project that are not attached to "
                           "anything are deleted, also those of others."},
           {.key = "port-cleanup-interval",
            .type = integer(),
            .default_value = "600",
            .unit = "seconds",
            .description = "Ports of the project that are seen `DOWN` twice, so far apart, are "
                           "deleted, also those of others. 0: none."},
           cloud::diskimages_field(diskimage_schema()),
           cloud::cloud_images_field(cloud_image_schema()),
           {.key = "pools",
            .type = list_of(section(pool_schema())),
            .default_note = "none",
            .description = "Groups of machines that are served together."}})};
  return schema;
}

}  // namespace nodepool::drivers::openstack
