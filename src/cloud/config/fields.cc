#include "cloud/config/fields.h"

namespace nodepool::cloud {

using namespace config;

namespace {

const Schema& validation_schema() {
  static const Schema schema{
      .description =
          "Validation of uploads. A new upload is ready only after a node created from it has come "
          "up, has shown its SSH host keys, and has run the command successfully.",
      .fields = {
          {.key = "label",
           .type = label_name(),
           .required = Required::always,
           .description =
               "Label of one of the provider's pools, created from this image, with "
               "`host-key-checking`. It sets the flavor, networks and so on of the test node."},
          {.key = "command",
           .type = string(),
           .default_note = "none",
           .description =
               "Command that the node's shell runs over SSH. Exit status 0: the image is valid."},
          {.key = "timeout",
           .type = integer_between(1, 86400),
           .default_value = "600",
           .unit = "seconds",
           .description = "Maximum time of the command, login included."}}};
  return schema;
}

}  // namespace

const Field& image_name_field() {
  static const Field field = {.key = "name",
                              .type = string(),
                              .required = Required::always,
                              .description = "Name of the image in labels."};
  return field;
}

const Field& username_field() {
  static const Field field = {.key = "username",
                              .type = string(),
                              .description = "User to log in as. Recorded with the node."};
  return field;
}

const Field& python_path_field() {
  static const Field field = {
      .key = "python-path",
      .type = string(),
      .default_value = "auto",
      .description =
          "Path of the machine's Python interpreter, for Ansible. Recorded with the node."};
  return field;
}

const Field& shell_type_field() {
  static const Field field = {
      .key = "shell-type",
      .type = string(),
      .description = "Shell type of the machine, for Ansible. Recorded with the node."};
  return field;
}

const Fields& connection_fields() {
  static const Fields fields = {
      {.key = "connection-type",
       .type = string(),
       .default_value = "ssh",
       .description = "Connection type for requestors: `ssh`, `network_cli`, `winrm`, … SSH host "
                      "keys are read only for `ssh` and `network_cli`."},
      {.key = "connection-port",
       .type = integer_between(1, 65535),
       .default_note = "5986 for `winrm`, else 22",
       .description = "Connection port for requestors."},
  };
  return fields;
}

const Fields& access_fields() {
  static const Fields fields =
      joined({python_path_field(), shell_type_field()}, connection_fields());
  return fields;
}

const Field& diskimage_name_field() {
  static const Field field = {.key = "name",
                              .type = diskimage_name(),
                              .required = Required::always,
                              .description = "Name of an entry of the top-level `diskimages`."};
  return field;
}

const Field& pause_field() {
  static const Field field = flag_field("pause", "false", "Pause uploads of the image.");
  return field;
}

const Fields& diskimage_fields() {
  static const Fields fields = {
      diskimage_name_field(),
      pause_field(),
      {.key = "meta",
       .type = mapping_of(anything()),
       .default_note = "none",
       .description = "Properties of the image in the cloud."},
      {.key = "validate",
       .type = section(validation_schema()),
       .default_note = "none",
       .description = "Validation of uploads before their use."},
  };
  return fields;
}

Fields upload_fields(std::string_view timeout_description) {
  return {{.key = "image-name-format",
           .type = string(),
           .default_value = "{image_name}-{timestamp}",
           .description = "Name format of uploaded images in the cloud."},
          {.key = "image-upload-timeout",
           .type = integer(),
           .default_value = "3600",
           .unit = "seconds",
           .description = timeout_description},
          post_upload_hook_field()};
}

const Field& post_upload_hook_field() {
  static const Field field = {.key = "post-upload-hook",
                              .type = string(),
                              .description =
                                  "Program to run after each upload. Arguments: provider name, "
                                  "image id, file. If it fails, the upload fails."};
  return field;
}

Field diskimages_field(const Schema& entry) {
  return {.key = "diskimages",
          .type = list_of(section(entry)),
          .default_note = "none",
          .description = "Images to upload."};
}

Field cloud_images_field(const Schema& entry) {
  return {.key = "cloud-images",
          .type = list_of(section(entry)),
          .default_note = "none",
          .description = "Images that exist in the cloud."};
}

// Optional lists are empty by default.
Field pools_field(const Schema& entry, Required required) {
  return {.key = "pools",
          .type = list_of(section(entry)),
          .required = required,
          .default_note = required == Required::never ? "none" : "",
          .description = "Groups of machines."};
}

Field labels_field(const Schema& entry, Required required) {
  return {.key = "labels",
          .type = list_of(section(entry)),
          .required = required,
          .default_note = required == Required::never ? "none" : "",
          .description = "Types of machines."};
}

const Field& internal_ip_field() {
  static const Field field =
      flag_field("use-internal-ip", "false", "Connect to nodes at their private address.");
  return field;
}

const Field& host_key_field() {
  static const Field field =
      flag_field("host-key-checking", "true", "Read the SSH host keys before a machine is ready.");
  return field;
}

Field flag_field(std::string_view key, std::string_view default_value,
                 std::string_view description) {
  return {
      .key = key, .type = boolean(), .default_value = default_value, .description = description};
}

Fields of_pool(Fields provider) {
  for (Field& field : provider) {
    field.default_value = {};
    field.default_note = "provider's";
  }
  return provider;
}

const Field& boot_timeout_field() {
  static const Field field = {
      .key = "boot-timeout",
      .type = integer(),
      .default_value = "60",
      .unit = "seconds",
      .description = "Maximum time until a running machine shows its SSH host keys."};
  return field;
}

const Field& launch_timeout_field() {
  static const Field field = {.key = "launch-timeout",
                              .type = integer(),
                              .default_value = "3600",
                              .unit = "seconds",
                              .description = "Maximum duration of a launch attempt."};
  return field;
}

const Field& launch_retries_field() {
  static const Field field = {.key = "launch-retries",
                              .type = integer(),
                              .default_value = "3",
                              .description = "Number of launch attempts, including the first."};
  return field;
}

Fields launch_fields(std::string_view boot_timeout) {
  Fields fields = {boot_timeout_field(), launch_timeout_field(), launch_retries_field()};
  fields.front().default_value = boot_timeout;
  return fields;
}

Field rate_field(std::string_view default_value, std::string_view description) {
  return {.key = "rate",
          .type = one_of({integer(), number()}),
          .default_value = default_value,
          .unit = "calls/s",
          .description = description};
}

const Fields& core_and_memory_fields() {
  static const Fields fields = {
      {.key = "max-cores",
       .type = integer(),
       .default_note = "unlimited",
       .unit = "cores",
       .description = "Maximum cores of all nodes of a pool."},
      {.key = "max-ram",
       .type = integer(),
       .default_note = "unlimited",
       .unit = "MiB",
       .description = "Maximum memory of all nodes of a pool."},
  };
  return fields;
}

const Fields& limit_fields() {
  static const Fields fields = joined(
      core_and_memory_fields(),
      {{.key = "max-volumes",
        .type = integer(),
        .default_note = "unlimited",
        .unit = "volumes",
        .description = "Maximum number of volumes of all nodes of a pool. 0: unlimited."},
       {.key = "max-volume-gb",
        .type = integer(),
        .default_note = "unlimited",
        .unit = "GB",
        .description = "Maximum total size of volumes of all nodes of a pool. 0: unlimited."},
       {.key = "ignore-provider-quota",
        .type = boolean(),
        .default_value = "false",
        .description = "Ignore the cloud's quota; only these limits count."}});
  return fields;
}

const Field& label_name_field() {
  static const Field field = {.key = "name",
                              .type = label_name(),
                              .required = Required::always,
                              .description = "Name of an entry of the top-level `labels`."};
  return field;
}

const Fields& label_image_fields() {
  static const Fields fields = {
      {.key = "diskimage",
       .type = diskimage_name(),
       .description =
           "Uploaded image to create the machine from: an entry of the provider's `diskimages`."},
      {.key = "cloud-image",
       .type = string(),
       .description =
           "Existing image to create the machine from: an entry of the provider's `cloud-images`."},
  };
  return fields;
}

const Field& user_data_field() {
  static const Field field = {.key = "userdata",
                              .type = string(),
                              .description = "User data of the machine, for cloud-init."};
  return field;
}

const Field& console_log_field() {
  static const Field field = {
      .key = "console-log",
      .type = boolean(),
      .default_value = "false",
      .description = "Log the machine's console output if its SSH host keys cannot be read."};
  return field;
}

Field tags_field(std::string_view description) {
  return {.key = "tags",
          .type = mapping_of(anything()),
          .default_note = "none",
          .description = description};
}

const Field& dynamic_tags_field() {
  static const Field field = {.key = "dynamic-tags",
                              .type = mapping_of(string()),
                              .default_note = "none",
                              .description = kMadeOfRequest};
  return field;
}

}  // namespace nodepool::cloud
