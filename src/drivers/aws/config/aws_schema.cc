#include "drivers/aws/config/aws_schema.h"

#include "cloud/config/fields.h"
#include "config/nodepool_schema.h"
#include "drivers/aws/config/aws_label_schema.h"

namespace nodepool::drivers::aws {

namespace {

using namespace config;

const Fields& limit_fields() {
  static const Fields fields = joined(
      cloud::core_and_memory_fields(),
      {{.key = "max-resources",
        .type = mapping_of(integer()),
        .default_note = "unlimited",
        .description = "Maximum of other resources of all nodes of a pool, such as the quota codes "
                       "of AWS (`L-1216C47A`: virtual CPUs of standard instances)."}});
  return fields;
}

// Of a pool; and of the provider, for pools that do not say.
Fields network_fields(Accepted accepted, bool has_default) {
  const auto with_default = [has_default](std::string_view value) {
    return has_default ? value : std::string_view();
  };
  const std::string_view note = has_default ? "" : "provider's";
  return {{.key = "use-internal-ip",
           .type = boolean(),
           .accepted = Accepted::by_daemons,
           .default_value = with_default("false"),
           .default_note = note,
           .description = "Connect to nodes at their private address."},
          {.key = "host-key-checking",
           .type = boolean(),
           .accepted = accepted,
           .default_value = with_default("true"),
           .default_note = note,
           .description = "Read the SSH host keys before a machine is ready."},
          {.key = "public-ipv4",
           .type = boolean(),
           .accepted = accepted,
           .default_value = with_default("true"),
           .default_note = note,
           .description = "Assign public IPv4 addresses."},
          {.key = "public-ipv6",
           .type = boolean(),
           .accepted = accepted,
           .default_value = with_default("false"),
           .default_note = note,
           .description = "Assign IPv6 addresses; the subnet must have some."}};
}

const Schema& filter_schema() {
  static const Schema schema{
      .description = "A filter of EC2's `DescribeImages`.",
      .fields = {{.key = "name", .type = string(), .description = "Name of the filter."},
                 {.key = "Name", .type = string(), .description = "Same as the lower-case key."},
                 {.key = "values",
                  .type = list_of(string()),
                  .default_note = "none",
                  .description = "Accepted values; `*` and `?` are wildcards."},
                 {.key = "Values",
                  .type = list_of(string()),
                  .default_note = "none",
                  .description = "Same as the lower-case key."}},
      .rules = {{.kind = Rule::Kind::exactly_one, .keys = {"name", "Name"}},
                {.kind = Rule::Kind::exactly_one, .keys = {"values", "Values"}}}};
  return schema;
}

const Schema& cloud_image_schema() {
  static const Schema schema{
      .description = "An existing image (AMI).",
      .fields = joined(
          {{.key = "name",
            .type = string(),
            .required = Required::always,
            .description = "Name of the image in labels."},
           {.key = "username",
            .type = string(),
            .required = Required::always,
            .description = "User to log in as. Recorded with the node."},
           {.key = "image-id", .type = string(), .description = "ID of the AMI."},
           {.key = "image-filters",
            .type = list_of(section(filter_schema())),
            .default_note = "none",
            .description = "Filters that the AMI matches. Of several AMIs, the newest is used."},
           cloud::python_path_field(),
           cloud::shell_type_field()},
          cloud::connection_fields()),
      .rules = {{.kind = Rule::Kind::exactly_one, .keys = {"image-id", "image-filters"}}}};
  return schema;
}

const Schema& pool_schema() {
  static const Schema schema{
      .description = "A group of machines with the same network and limits.",
      .fields = joined(joined(joined(common_pool_fields(), limit_fields()),
                              network_fields(Accepted::everywhere, false)),
                       {{.key = "availability-zone",
                         .type = string(),
                         .default_note = "chosen by AWS",
                         .description = "Availability zone of the machines."},
                        {.key = "subnet-id",
                         .type = string(),
                         .default_note = "a subnet of the default VPC",
                         .description = "Subnet of the machines."},
                        {.key = "security-group-id",
                         .type = string(),
                         .default_note = "VPC's default",
                         .description = "Security group of the machines."},
                        {.key = "public-ip-address",
                         .type = boolean(),
                         .description = "Same as `public-ipv4`; overrides it.",
                         .deprecated = "`public-ipv4`"},
                        {.key = "labels",
                         .type = list_of(section(label_schema())),
                         .required = Required::strictly,
                         .description = "Types of machines."}})};
  return schema;
}

const Schema& object_storage_schema() {
  static const Schema schema{.description = "Storage for image imports.",
                             .fields = {{.key = "bucket-name",
                                         .type = string(),
                                         .required = Required::always,
                                         .description = "Name of an existing S3 bucket."}}};
  return schema;
}

const Fields& provider_fields() {
  static const Fields fields = {
      {.key = "region-name",
       .type = string(),
       .required = Required::strictly,
       .default_note = "`AWS_DEFAULT_REGION`, else the profile's",
       .description = "Region. Recorded with each node."},
      {.key = "profile-name",
       .type = string(),
       .default_note = "`AWS_PROFILE`, `AWS_DEFAULT_PROFILE` or `default`",
       .description = "Profile in the AWS credentials and configuration files."},
      {.key = "rate",
       .type = one_of({integer(), number()}),
       .default_value = "2",
       .unit = "calls/s",
       .description = "Maximum changing calls per second. Read calls may be ten times as many. "
                      "Reduced while AWS throttles."},
      {.key = "boot-timeout",
       .type = integer(),
       .default_value = "180",
       .unit = "seconds",
       .description = "Maximum time until a running machine shows its SSH host keys."},
      cloud::launch_timeout_field(),
      cloud::launch_retries_field(),
      {.key = "max-servers",
       .type = integer(),
       .default_note = "unlimited",
       .unit = "instances",
       .description = "Default of the pools' `max-servers`."}};
  return fields;
}

}  // namespace

const Schema& aws_schema() {
  static const Schema schema{
      .description = "Machines in Amazon EC2.",
      .fields =
          joined(joined(joined(provider_fields(), limit_fields()),
                        network_fields(Accepted::by_daemons, true)),
                 {{.key = "object-storage",
                   .type = section(object_storage_schema()),
                   .default_note = "none",
                   .description = "Storage for image imports."},
                  {.key = "image-format",
                   .type = word({"ova", "vhd", "vhdx", "vmdk", "raw"}),
                   .default_value = "raw",
                   .description = "Format in which images are built and imported."},
                  {.key = "image-import-timeout",
                   .type = integer(),
                   .default_note = "no retry",
                   .unit = "seconds",
                   .description =
                       "How long to retry an import while AWS has too many imports in progress."},
                  cloud::post_upload_hook_field(),
                  cloud::diskimages_field(diskimage_schema()),
                  cloud::cloud_images_field(cloud_image_schema()),
                  {.key = "pools",
                   .type = list_of(section(pool_schema())),
                   .required = Required::strictly,
                   .description = "Groups of machines."}})};
  return schema;
}

}  // namespace nodepool::drivers::aws
