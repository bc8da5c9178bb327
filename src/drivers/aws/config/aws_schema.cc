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

// Of a provider; and of a pool, whose defaults are the provider's.
Fields network_fields(Accepted accepted) {
  return {with(cloud::internal_ip_field(), Accepted::by_daemons),
          with(cloud::host_key_field(), accepted),
          with(cloud::flag_field("public-ipv4", "true", "Assign public IPv4 addresses."), accepted),
          with(cloud::flag_field("public-ipv6", "false",
                                 "Assign IPv6 addresses; the subnet must have some."),
               accepted)};
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
          {cloud::image_name_field(),
           with(cloud::username_field(), Required::always),
           {.key = "image-id", .type = string(), .description = "ID of the AMI."},
           {.key = "image-filters",
            .type = list_of(section(filter_schema())),
            .default_note = "none",
            .description = "Filters that the AMI matches. Of several AMIs, the newest is used."}},
          cloud::access_fields()),
      .rules = {{.kind = Rule::Kind::exactly_one, .keys = {"image-id", "image-filters"}}}};
  return schema;
}

const Schema& pool_schema() {
  static const Schema schema{
      .description = "A group of machines with the same network and limits.",
      .fields = joined(joined(joined(common_pool_fields(), limit_fields()),
                              cloud::of_pool(network_fields(Accepted::everywhere))),
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
                        cloud::labels_field(label_schema(), Required::strictly)})};
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
      cloud::rate_field("2",
                        "Maximum changing calls per second. Read calls may be ten times as many. "
                        "Reduced while AWS throttles.")};
  return fields;
}

const Field& max_servers_field() {
  static const Field field = {.key = "max-servers",
                              .type = integer(),
                              .default_note = "unlimited",
                              .unit = "instances",
                              .description = "Default of the pools' `max-servers`."};
  return field;
}

}  // namespace

const Schema& aws_schema() {
  static const Schema schema{
      .description = "Machines in Amazon EC2.",
      .fields =
          joined({provider_fields(),
                  cloud::launch_fields("180"),
                  {max_servers_field()},
                  limit_fields(),
                  network_fields(Accepted::by_daemons),
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
                   cloud::pools_field(pool_schema())}})};
  return schema;
}

}  // namespace nodepool::drivers::aws
