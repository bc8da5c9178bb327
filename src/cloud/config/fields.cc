#include "cloud/config/fields.h"

namespace nodepool::cloud {

using namespace config;

namespace {

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

}  // namespace

const Field& username_field() {
  static const Field field = {
      .key = "username", .type = string(), .description = "User to log in as; copied to the node."};
  return field;
}

const Field& python_path_field() {
  static const Field field = {
      .key = "python-path",
      .type = string(),
      .default_value = "auto",
      .description = "The machine's Python interpreter, for Ansible; copied to the node."};
  return field;
}

const Field& shell_type_field() {
  static const Field field = {
      .key = "shell-type",
      .type = string(),
      .description = "The machine's shell, for Ansible; copied to the node."};
  return field;
}

const Fields& connection_fields() {
  static const Fields fields = {
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

const Fields& diskimage_fields() {
  static const Fields fields = {
      {.key = "name",
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
       .description = "How an upload is tried out before it is used."},
  };
  return fields;
}

const Fields& upload_fields() {
  static const Fields fields = {
      {.key = "image-name-format",
       .type = string(),
       .default_value = "{image_name}-{timestamp}",
       .description = "What uploaded images are called in the cloud."},
      {.key = "image-upload-timeout",
       .type = integer(),
       .default_value = "3600",
       .unit = "seconds",
       .description = "How long the cloud may take to make an image usable once it is uploaded."},
      post_upload_hook_field(),
  };
  return fields;
}

const Field& post_upload_hook_field() {
  static const Field field = {
      .key = "post-upload-hook",
      .type = string(),
      .description =
          "A program that is run after each upload, with the provider's name, the "
          "image's id and the file. If it fails, the upload has failed."};
  return field;
}

Field diskimages_field(const Schema& entry) {
  return {.key = "diskimages",
          .type = list_of(section(entry)),
          .default_note = "none",
          .description = "The images that are uploaded."};
}

Field cloud_images_field(const Schema& entry) {
  return {.key = "cloud-images",
          .type = list_of(section(entry)),
          .default_note = "none",
          .description = "The images that are there already."};
}

const Field& boot_timeout_field() {
  static const Field field = {
      .key = "boot-timeout",
      .type = integer(),
      .default_value = "60",
      .unit = "seconds",
      .description = "How long to wait for a machine's SSH host keys once it runs."};
  return field;
}

const Field& launch_timeout_field() {
  static const Field field = {.key = "launch-timeout",
                              .type = integer(),
                              .default_value = "3600",
                              .unit = "seconds",
                              .description = "How long an attempt at making a machine may take."};
  return field;
}

const Field& launch_retries_field() {
  static const Field field = {
      .key = "launch-retries",
      .type = integer(),
      .default_value = "3",
      .description = "How many attempts there are, the first one included."};
  return field;
}

const Fields& core_and_memory_fields() {
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
  };
  return fields;
}

const Fields& limit_fields() {
  static const Fields fields =
      joined(core_and_memory_fields(),
             {{.key = "max-volumes",
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
               .description = "Whether only these limits count, and not the cloud's quota."}});
  return fields;
}

const Field& label_name_field() {
  static const Field field = {.key = "name",
                              .type = label_name(),
                              .required = Required::always,
                              .description = "The entry of the top-level `labels`."};
  return field;
}

const Fields& label_image_fields() {
  static const Fields fields = {
      {.key = "diskimage",
       .type = diskimage_name(),
       .description = "The image it is made from: one that is built and uploaded."},
      {.key = "cloud-image",
       .type = string(),
       .description = "The same: an entry of the provider's `cloud-images`."},
  };
  return fields;
}

const Field& user_data_field() {
  static const Field field = {.key = "userdata",
                              .type = string(),
                              .description = "What the machine gets as user data, for cloud-init."};
  return field;
}

const Field& console_log_field() {
  static const Field field = {
      .key = "console-log",
      .type = boolean(),
      .default_value = "false",
      .description =
          "Whether to log what the machine has written to its console when its SSH host "
          "keys cannot be read."};
  return field;
}

}  // namespace nodepool::cloud
