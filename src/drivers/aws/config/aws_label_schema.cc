#include "drivers/aws/config/aws_label_schema.h"

#include "cloud/config/fields.h"

namespace nodepool::drivers::aws {

namespace {

using namespace config;

// Of the disk that a machine boots from.
Fields volume_fields() {
  return {{.key = "volume-size",
           .type = integer(),
           .default_note = "the image's",
           .unit = "GiB",
           .description = "Size of the disk that the machine boots from."},
          {.key = "iops",
           .type = integer(),
           .default_note = "as the type has it",
           .description = "Operations in a second that are provisioned for it."},
          {.key = "throughput",
           .type = integer(),
           .default_note = "as the type has it",
           .unit = "MiB/s",
           .description = "Throughput that is provisioned for it."}};
}

const Schema& fleet_schema() {
  static const Schema schema{
      .description = "Instance types of which AWS chooses one.",
      .fields = {{.key = "instance-types",
                  .type = list_of(string()),
                  .required = Required::always,
                  .description = "Those that will do."},
                 {.key = "allocation-strategy",
                  .type = word({"prioritized", "price-capacity-optimized", "capacity-optimized",
                                "diversified", "lowest-price"}),
                  .required = Required::always,
                  .description = "How AWS chooses."}}};
  return schema;
}

const Schema& profile_schema() {
  static const Schema schema{
      .description = "An instance profile of IAM.",
      .fields = {{.key = "name", .type = string(), .description = "Its name."},
                 {.key = "arn", .type = string(), .description = "Or its ARN."}},
      .rules = {{.kind = Rule::Kind::exactly_one, .keys = {"name", "arn"}}}};
  return schema;
}

Fields label_fields() {
  return {{.key = "instance-type", .type = string(), .description = "The EC2 instance type."},
          {.key = "fleet",
           .type = section(fleet_schema()),
           .default_note = "none",
           .description = "Several types to choose from."},
          {.key = "key-name",
           .type = string(),
           .required = Required::strictly,
           .description = "A key pair in EC2, for the image's first user."},
          {.key = "ebs-optimized",
           .type = boolean(),
           .default_value = "false",
           .description = "Whether the machine's way to its disks is its own."},
          {.key = "volume-type",
           .type = string(),
           .default_note = "the image's",
           .description = "Type of the disk that the machine boots from: `gp3`, `io2`, …"},
          cloud::user_data_field(),
          {.key = "iam-instance-profile",
           .type = section(profile_schema()),
           .default_note = "none",
           .description = "What the machine may do in AWS."},
          {.key = "tags",
           .type = mapping_of(anything()),
           .default_note = "none",
           .description = "Tags of the machine and its disk."},
          {.key = "dynamic-tags",
           .type = mapping_of(string()),
           .default_note = "none",
           .description = cloud::kMadeOfRequest},
          {.key = "use-spot",
           .type = boolean(),
           .default_value = "false",
           .description = "Whether the machine is a spot instance, which AWS may take away."},
          {.key = "imdsv2",
           .type = one_of({word({"required", "optional"}), nothing()}),
           .default_note = "the image's, or the account's",
           .description = "Whether the machine asks the metadata service with a token only."},
          {.key = "dedicated-host",
           .type = boolean(),
           .default_value = "false",
           .description = "Whether the machine gets a host of its own, which is allocated and "
                          "released with it. Needs the pool's `availability-zone`."},
          cloud::console_log_field()};
}

}  // namespace

const Schema& label_schema() {
  static const Schema schema{
      .description = "A kind of machine that the pool makes.",
      .fields = joined(
          joined(joined({cloud::label_name_field()}, cloud::label_image_fields()), label_fields()),
          volume_fields()),
      .rules = {{.kind = Rule::Kind::at_most_one, .keys = {"diskimage", "cloud-image"}},
                {.kind = Rule::Kind::at_most_one, .keys = {"instance-type", "fleet"}}}};
  return schema;
}

const Schema& diskimage_schema() {
  static const Schema schema{
      .description = "An image of the top level that is uploaded to this provider.",
      .fields = joined(
          joined(joined({{.key = "name",
                          .type = diskimage_name(),
                          .required = Required::always,
                          .description = "The entry of the top-level `diskimages`."},
                         {.key = "username",
                          .type = string(),
                          .default_note = "the diskimage's",
                          .description = "User to log in as; copied to the node."},
                         {.key = "pause",
                          .type = boolean(),
                          .default_value = "false",
                          .description = "Whether nothing is uploaded for now."},
                         cloud::python_path_field(),
                         cloud::shell_type_field()},
                        cloud::connection_fields()),
                 volume_fields()),
          {{.key = "volume-type",
            .type = string(),
            .default_value = "gp3",
            .description = "Type of the disk."},
           {.key = "architecture",
            .type = string(),
            .default_value = "x86_64",
            .description = "Of the AMI."},
           {.key = "ena-support",
            .type = boolean(),
            .default_value = "true",
            .description = "Whether the image has the driver of EC2's faster network cards."},
           {.key = "import-method",
            .type = word({"snapshot", "ebs-direct", "image"}),
            .default_value = "snapshot",
            .description = "How it gets into EC2."},
           {.key = "imds-support",
            .type = one_of({word({"v2.0"}), nothing()}),
            .default_note = "none",
            .description = "Whether machines ask the metadata service with a token only."},
           {.key = "tags",
            .type = mapping_of(anything()),
            .default_note = "none",
            .description = "Tags of the image in EC2."}})};
  return schema;
}

}  // namespace nodepool::drivers::aws
