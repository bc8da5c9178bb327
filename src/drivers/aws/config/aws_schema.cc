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
        .description = "The same for anything else that nodes take, such as the quota codes of "
                       "AWS (`L-1216C47A`: virtual CPUs of standard instances)."}});
  return fields;
}

// Of a pool; and of the provider, for pools that do not say.
Fields network_fields(Accepted accepted, bool has_default) {
  const auto with_default = [has_default](std::string_view value) {
    return has_default ? value : std::string_view();
  };
  const std::string_view note = has_default ? "" : "the provider's";
  return {{.key = "use-internal-ip",
           .type = boolean(),
           .accepted = Accepted::by_daemons,
           .default_value = with_default("false"),
           .default_note = note,
           .description = "Whether nodes are connected to at their private address."},
          {.key = "host-key-checking",
           .type = boolean(),
           .accepted = accepted,
           .default_value = with_default("true"),
           .default_note = note,
           .description = "Whether a machine counts as ready only when its SSH host keys have "
                          "been read."},
          {.key = "public-ipv4",
           .type = boolean(),
           .accepted = accepted,
           .default_value = with_default("true"),
           .default_note = note,
           .description = "Whether machines get a public IPv4 address."},
          {.key = "public-ipv6",
           .type = boolean(),
           .accepted = accepted,
           .default_value = with_default("false"),
           .default_note = note,
           .description = "Whether machines get an IPv6 address; the subnet has to have some."}};
}

const Schema& filter_schema() {
  static const Schema schema{
      .description = "A condition, in the words of EC2's `DescribeImages`.",
      .fields = {{.key = "name", .type = string(), .description = "What is compared."},
                 {.key = "Name", .type = string(), .description = "The same."},
                 {.key = "values",
                  .type = list_of(string()),
                  .default_note = "none",
                  .description = "What it may be; `*` and `?` stand for anything."},
                 {.key = "Values",
                  .type = list_of(string()),
                  .default_note = "none",
                  .description = "The same."}},
      .rules = {{.kind = Rule::Kind::exactly_one, .keys = {"name", "Name"}},
                {.kind = Rule::Kind::exactly_one, .keys = {"values", "Values"}}}};
  return schema;
}

const Schema& cloud_image_schema() {
  static const Schema schema{
      .description = "An image (AMI) that is there already.",
      .fields = joined(
          {{.key = "name",
            .type = string(),
            .required = Required::always,
            .description = "What labels call it."},
           {.key = "username",
            .type = string(),
            .required = Required::always,
            .description = "User to log in as; copied to the node."},
           {.key = "image-id", .type = string(), .description = "The AMI's id."},
           {.key = "image-filters",
            .type = list_of(section(filter_schema())),
            .default_note = "none",
            .description = "Conditions that the AMI meets; of several AMIs it is the newest."},
           cloud::python_path_field(),
           cloud::shell_type_field()},
          cloud::connection_fields()),
      .rules = {{.kind = Rule::Kind::exactly_one, .keys = {"image-id", "image-filters"}}}};
  return schema;
}

const Schema& pool_schema() {
  static const Schema schema{
      .description = "Machines with the same network and limits.",
      .fields = joined(joined(joined(common_pool_fields(), limit_fields()),
                              network_fields(Accepted::everywhere, false)),
                       {{.key = "availability-zone",
                         .type = string(),
                         .default_note = "AWS chooses",
                         .description = "The zone that the machines are in."},
                        {.key = "subnet-id",
                         .type = string(),
                         .default_note = "one of the default VPC",
                         .description = "The subnet that they are attached to."},
                        {.key = "security-group-id",
                         .type = string(),
                         .default_note = "the VPC's default",
                         .description = "Their security group."},
                        {.key = "public-ip-address",
                         .type = boolean(),
                         .description = "The same as `public-ipv4`, and goes over it.",
                         .deprecated = "`public-ipv4`"},
                        {.key = "labels",
                         .type = list_of(section(label_schema())),
                         .required = Required::strictly,
                         .description = "The kinds of machines."}})};
  return schema;
}

const Schema& object_storage_schema() {
  static const Schema schema{.description = "Where images are put to be imported.",
                             .fields = {{.key = "bucket-name",
                                         .type = string(),
                                         .required = Required::always,
                                         .description = "An S3 bucket that is there already."}}};
  return schema;
}

const Fields& provider_fields() {
  static const Fields fields = {
      {.key = "region-name",
       .type = string(),
       .required = Required::strictly,
       .default_note = "`AWS_DEFAULT_REGION`, the profile's",
       .description = "The region; also recorded with each node."},
      {.key = "profile-name",
       .type = string(),
       .default_note = "as AWS' own programs choose",
       .description = "The profile in AWS' files of credentials and configuration."},
      {.key = "rate",
       .type = one_of({integer(), number()}),
       .default_value = "2",
       .unit = "calls/s",
       .description = "Most calls in a second that change something; those that look may be ten "
                      "times as many. Less where AWS asks for it."},
      {.key = "boot-timeout",
       .type = integer(),
       .default_value = "180",
       .unit = "seconds",
       .description = "How long to wait for a machine's SSH host keys once it runs."},
      cloud::launch_timeout_field(),
      cloud::launch_retries_field(),
      {.key = "max-servers",
       .type = integer(),
       .default_note = "unlimited",
       .unit = "instances",
       .description = "For pools that do not say."}};
  return fields;
}

}  // namespace

const Schema& aws_schema() {
  static const Schema schema{
      .description = "Machines in Amazon EC2.",
      .fields = joined(
          joined(joined(provider_fields(), limit_fields()),
                 network_fields(Accepted::by_daemons, true)),
          {{.key = "object-storage",
            .type = section(object_storage_schema()),
            .default_note = "none",
            .description = "Where images are put to be imported."},
           {.key = "image-format",
            .type = word({"ova", "vhd", "vhdx", "vmdk", "raw"}),
            .default_value = "raw",
            .description = "What images are built and imported as."},
           {.key = "image-import-timeout",
            .type = integer(),
            .default_note = "not waited for",
            .unit = "seconds",
            .description = "How long to try again while AWS has too many imports under way."},
           cloud::post_upload_hook_field(),
           cloud::diskimages_field(diskimage_schema()),
           cloud::cloud_images_field(cloud_image_schema()),
           {.key = "pools",
            .type = list_of(section(pool_schema())),
            .required = Required::strictly,
            .description = "Groups of machines that are served together."}})};
  return schema;
}

}  // namespace nodepool::drivers::aws
