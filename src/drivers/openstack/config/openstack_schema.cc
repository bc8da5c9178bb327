#include "drivers/openstack/config/openstack_schema.h"

#include "config/nodepool_schema.h"

namespace nodepool::drivers::openstack {

namespace {

using namespace config;

const Fields& connection_fields() {
  static const Fields fields = {
      {.key = "config-drive",
       .type = boolean(),
       .description = "Whether the machine gets a configuration drive. It is asked for only if "
                      "this is `true`."},
      {.key = "connection-type",
       .type = string(),
       .default_value = "ssh",
       .description = "How requestors connect: `ssh`, `network_cli`, `winrm`, … SSH host keys are "
                      "read for the first two only."},
      {.key = "connection-port",
       .type = integer_between(1, 65535),
       .default_note = "5986 for `winrm`, else 22",
       .description = "Port to connect to."},
  };
  return fields;
}

const Schema& validation_schema() {
  static const Schema schema{
      .description =
          "A new upload counts as ready only after a node that was made from it has come "
          "up, has shown its SSH host keys, and has run the command.",
      .fields = {{.key = "label",
                  .type = label_name(),
                  .required = Required::always,
                  .description = "A label of one of the provider's pools that is made from this "
                                 "image, with `host-key-checking`: the node's flavor, networks and "
                                 "so on."},
                 {.key = "command",
                  .type = string(),
                  .default_note = "none",
                  .description = "What the node's shell runs, over SSH. Exit status 0: the image "
                                 "is good."},
                 {.key = "timeout",
                  .type = integer_between(1, 86400),
                  .default_value = "600",
                  .unit = "seconds",
                  .description = "How long the command may take, logging in included."}}};
  return schema;
}

const Schema& diskimage_schema() {
  static const Schema schema{
      .description =
          "An image of the top level that is uploaded to this provider. User name, "
          "Python path and shell type are those of the top level.",
      .fields = joined({{.key = "name",
                         .type = diskimage_name(),
                         .required = Required::always,
                         .description = "The entry of the top-level `diskimages`."},
                        {.key = "pause",
                         .type = boolean(),
                         .default_value = "false",
                         .description = "Whether nothing is uploaded for now."},
                        {.key = "meta",
                         .type = mapping_of(anything()),
                         .default_note = "none",
                         .description = "Properties of the image in the cloud."},
                        {.key = "validate",
                         .type = section(validation_schema()),
                         .default_note = "none",
                         .description = "How an upload is tried out before it is used."}},
                       connection_fields())};
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
           {.key = "username",
            .type = string(),
            .description = "User to log in as; copied to the node."},
           {.key = "python-path",
            .type = string(),
            .default_value = "auto",
            .description = "The machine's Python interpreter, for Ansible; copied to the node."},
           {.key = "shell-type",
            .type = string(),
            .description = "The machine's shell, for Ansible; copied to the node."}},
          connection_fields()),
      .rules = {{.kind = Rule::Kind::at_most_one, .keys = {"image-id", "image-name"}}}};
  return schema;
}

const Schema& label_schema() {
  static const Schema schema{
      .description = "A kind of machine that the pool makes.",
      .fields =
          {{.key = "name",
            .type = label_name(),
            .required = Required::always,
            .description = "The entry of the top-level `labels`."},
           {.key = "diskimage",
            .type = diskimage_name(),
            .description = "The image it is made from: one that is built and uploaded."},
           {.key = "cloud-image",
            .type = string(),
            .description = "The same: an entry of the provider's `cloud-images`."},
           {.key = "min-ram",
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
           {.key = "console-log",
            .type = boolean(),
            .default_value = "false",
            .description = "Whether to log what the machine has written to its console when its "
                           "SSH host keys cannot be read."},
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
            .description = "The same, made of the request: `{request.id}`, `{request.labels[0]}`, "
                           "`{request.requestor}`, `{request.requestor_data}`, "
                           "`{request.relative_priority}`, `{request.event_id}`, "
                           "`{request.created_time}`, `{request.tenant_name}`."},
           {.key = "userdata",
            .type = string(),
            .description = "What the machine gets as user data, for cloud-init."},
           {.key = "networks",
            .type = list_of(string()),
            .default_note = "the pool's",
            .description = "Names or ids of the networks the machine is attached to, in order. An "
                           "empty list: the cloud's default."},
           {.key = "host-key-checking",
            .type = boolean(),
            .default_note = "the pool's",
            .description = "Whether the machine counts as ready only when its SSH host keys have "
                           "been read."}},
      .rules = {{.kind = Rule::Kind::exactly_one, .keys = {"diskimage", "cloud-image"}},
                {.kind = Rule::Kind::at_least_one, .keys = {"min-ram", "flavor-name"}}}};
  return schema;
}

const Fields& pool_limit_fields() {
  static const Fields fields = {
      {.key = "max-cores",
       .type = integer(),
       .default_note = "unlimited",
       .unit = "cores",
       .description = "Most that the pool's nodes may take together."},
      {.key = "max-ram",
       .type = integer(),
       .default_note = "unlimited",
       .unit = "MiB",
       .description = "The same for memory."},
      {.key = "max-volumes",
       .type = integer(),
       .default_note = "unlimited",
       .unit = "volumes",
       .description = "The same for volumes. 0 is no limit."},
      {.key = "max-volume-gb",
       .type = integer(),
       .default_note = "unlimited",
       .unit = "GB",
       .description = "The same for the size of all volumes. 0 is no limit."},
      {.key = "ignore-provider-quota",
       .type = boolean(),
       .default_value = "false",
       .description = "Whether only these limits count, and not the cloud's quota."},
  };
  return fields;
}

const Schema& pool_schema() {
  static const Schema schema{
      .description = "Machines with the same networks and limits.",
      .fields = joined(
          joined(common_pool_fields(), pool_limit_fields()),
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
      .fields = {
          {.key = "cloud",
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
          {.key = "boot-timeout",
           .type = integer(),
           .default_value = "60",
           .unit = "seconds",
           .description = "How long to wait for a machine's SSH host keys once it runs."},
          {.key = "launch-timeout",
           .type = integer(),
           .default_value = "3600",
           .unit = "seconds",
           .description = "How long an attempt at making a machine may take."},
          {.key = "launch-retries",
           .type = integer(),
           .default_value = "3",
           .description = "How many attempts there are, the first one included."},
          {.key = "nodepool-id",
           .type = string(),
           .description = "Has no effect.",
           .deprecated = "nothing: it can go"},
          {.key = "image-name-format",
           .type = string(),
           .default_value = "{image_name}-{timestamp}",
           .description = "What uploaded images are called in the cloud."},
          {.key = "image-upload-timeout",
           .type = integer(),
           .default_value = "3600",
           .unit = "seconds",
           .description = "How long the cloud may take to make an image usable once it is "
                          "uploaded."},
          {.key = "post-upload-hook",
           .type = string(),
           .description = "A program that is run after each upload, with the provider's name, the "
                          "image's id and the file. If it fails, the upload has failed."},
          {.key = "clean-floating-ips",
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
          {.key = "diskimages",
           .type = list_of(section(diskimage_schema())),
           .default_note = "none",
           .description = "The images that are uploaded."},
          {.key = "cloud-images",
           .type = list_of(section(cloud_image_schema())),
           .default_note = "none",
           .description = "The images that are there already."},
          {.key = "pools",
           .type = list_of(section(pool_schema())),
           .default_note = "none",
           .description = "Groups of machines that are served together."}}};
  return schema;
}

}  // namespace nodepool::drivers::openstack
