#include "drivers/aws/config/aws_label_schema.h"

#include "cloud/config/fields.h"

namespace nodepool::drivers::aws {

namespace {

using namespace config;

// Of the disk that a machine boots from.
Fields volume_fields() {
  return {{.key = "volume-size",
           .type = integer(),
           .default_note = "image's",
           .unit = "GiB",
           .description = "Size of the boot disk."},
          {.key = "iops",
           .type = integer(),
           .default_note = "set by the volume type",
           .description = "Provisioned I/O operations per second."},
          {.key = "throughput",
           .type = integer(),
           .default_note = "set by the volume type",
           .unit = "MiB/s",
           .description = "Provisioned throughput."}};
}

const Schema& fleet_schema() {
  static const Schema schema{
      .description = "Instance types from which AWS chooses one.",
      .fields = {{.key = "instance-types",
                  .type = list_of(string()),
                  .required = Required::always,
                  .description = "Acceptable instance types."},
                 {.key = "allocation-strategy",
                  .type = word({"prioritized", "price-capacity-optimized", "capacity-optimized",
                                "diversified", "lowest-price"}),
                  .required = Required::always,
                  .description = "Allocation strategy of the fleet."}}};
  return schema;
}

const Schema& profile_schema() {
  static const Schema schema{
      .description = "IAM instance profile.",
      .fields = {{.key = "name", .type = string(), .description = "Name of the profile."},
                 {.key = "arn", .type = string(), .description = "ARN of the profile."}},
      .rules = {{.kind = Rule::Kind::exactly_one, .keys = {"name", "arn"}}}};
  return schema;
}

Fields label_fields() {
  return {{.key = "instance-type", .type = string(), .description = "EC2 instance type."},
          {.key = "fleet",
           .type = section(fleet_schema()),
           .default_note = "none",
           .description = "Several instance types to choose from."},
          {.key = "key-name",
           .type = string(),
           .required = Required::strictly,
           .description = "EC2 key pair, for the image's default user."},
          {.key = "ebs-optimized",
           .type = boolean(),
           .default_value = "false",
           .description = "Use dedicated bandwidth to EBS."},
          {.key = "volume-type",
           .type = string(),
           .default_note = "image's",
           .description = "Type of the boot disk: `gp3`, `io2`, …"},
          cloud::user_data_field(),
          {.key = "iam-instance-profile",
           .type = section(profile_schema()),
           .default_note = "none",
           .description = "IAM instance profile of the machine: its permissions in AWS."},
          cloud::tags_field("Tags of the machine and its disk."),
          cloud::dynamic_tags_field(),
          {.key = "use-spot",
           .type = boolean(),
           .default_value = "false",
           .description = "Create a spot instance, which AWS may interrupt."},
          {.key = "imdsv2",
           .type = one_of({word({"required", "optional"}), nothing()}),
           .default_note = "image's, else the account's",
           .description = "Metadata service with session tokens (IMDSv2): `required` refuses "
                          "access without a token."},
          {.key = "dedicated-host",
           .type = boolean(),
           .default_value = "false",
           .description = "Allocate a dedicated host for the machine, and release it with the "
                          "machine. Needs the pool's `availability-zone`."},
          cloud::console_log_field()};
}

}  // namespace

const Schema& label_schema() {
  static const Schema schema{
      .description = "A type of machine in the pool.",
      .fields = joined(
          joined(joined({cloud::label_name_field()}, cloud::label_image_fields()), label_fields()),
          volume_fields()),
      .rules = {{.kind = Rule::Kind::at_most_one, .keys = {"diskimage", "cloud-image"}},
                {.kind = Rule::Kind::at_most_one, .keys = {"instance-type", "fleet"}}}};
  return schema;
}

const Schema& diskimage_schema() {
  static const Schema schema{
      .description = "An image of the top level to upload to this provider.",
      .fields =
          joined({{cloud::diskimage_name_field(),
                   {.key = "username",
                    .type = string(),
                    .default_note = "diskimage's",
                    .description = "User to log in as. Recorded with the node."},
                   cloud::pause_field()},
                  cloud::access_fields(),
                  volume_fields(),
                  {{.key = "volume-type",
                    .type = string(),
                    .default_value = "gp3",
                    .description = "Type of the boot disk."},
                   {.key = "architecture",
                    .type = string(),
                    .default_value = "x86_64",
                    .description = "Architecture of the AMI."},
                   {.key = "ena-support",
                    .type = boolean(),
                    .default_value = "true",
                    .description = "The image has the driver of EC2's enhanced networking (ENA)."},
                   {.key = "import-method",
                    .type = word({"snapshot", "ebs-direct", "image"}),
                    .default_value = "snapshot",
                    .description = "How the image is imported into EC2."},
                   {.key = "imds-support",
                    .type = one_of({word({"v2.0"}), nothing()}),
                    .default_note = "none",
                    .description = "`v2.0`: machines of the AMI require session tokens of the "
                                   "metadata service (IMDSv2)."},
                   cloud::tags_field("Tags of the image in EC2.")}})};
  return schema;
}

}  // namespace nodepool::drivers::aws
