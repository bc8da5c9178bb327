#include "drivers/ibmvpc/config/ibmvpc_schema.h"

#include "cloud/config/fields.h"
#include "config/nodepool_schema.h"

namespace nodepool::drivers::ibmvpc {

namespace {

using namespace config;

// Names of resource groups are made of them: `np_PROVIDER_POOL`.
Type name_without_underscores() {
  return string_matching("[^_]+", "a name without underscores");
}

Field text_field(std::string_view key, std::string_view description) {
  return {.key = key, .type = string(), .description = description};
}

// A text that is required, for daemons too.
Field name_field(std::string_view key, std::string_view description) {
  Field field = text_field(key, description);
  field.required = Required::always;
  return field;
}

Schema operating_system_schema() {
  return {.description = "Properties of the image's operating system.",
          .fields = {text_field("architecture", "Such as `amd64`."),
                     {.key = "dedicated-host-only",
                      .type = boolean(),
                      .description = "Only for dedicated hosts."},
                     text_field("display-name", "Name for users."),
                     text_field("family", "Such as `Debian GNU/Linux`."),
                     text_field("href", "URL in the API."),
                     text_field("name", "Such as `debian-12-amd64`."),
                     text_field("vendor", "Vendor."),
                     text_field("version", "Version.")}};
}

Schema image_filter_schema() {
  return {.description = "Properties of the image. All that are set must be equal.",
          .fields = {{.key = "operating-system",
                      .type = section(operating_system_schema()),
                      .default_note = "none",
                      .description = "Properties of the operating system."},
                     text_field("owner-type", "`provider` for images of IBM, `user` for own ones."),
                     text_field("status", "Such as `available` or `deprecated`.")}};
}

const Schema& cloud_image_schema() {
  static const Schema schema{
      .description = "An image that exists in the cloud.",
      .fields = joined({cloud::image_name_field(),
                        with(cloud::username_field(), Required::always),
                        {.key = "keys",
                         .type = list_of(string()),
                         .default_note = "none",
                         .description = "Names of the SSH keys in the cloud to authorize."},
                        text_field("image-id", "ID of the image."),
                        text_field("image-href", "URL of the image in the API."),
                        text_field("image-name", "Name of the image in the cloud."),
                        {.key = "image-filter",
                         .type = section(image_filter_schema()),
                         .description = "The first image listed with these properties is used."}},
                       cloud::access_fields()),
      .rules = {{.kind = Rule::Kind::exactly_one,
                 .keys = {"image-id", "image-href", "image-name", "image-filter"}}}};
  return schema;
}

const Schema& diskimage_schema() {
  static const Schema schema{
      .description = "An image of the top level, to upload.",
      .fields = joined({cloud::diskimage_name_field(),
                        name_field("operating-system",
                                   "Its operating system, by IBM's name, such as "
                                   "`debian-12-amd64`."),
                        cloud::pause_field()},
                       cloud::access_fields())};
  return schema;
}

const Schema& label_schema() {
  static const Schema schema{
      .description = "A type of machine in the pool.",
      .fields = joined(joined({cloud::label_name_field()}, cloud::label_image_fields()),
                       {name_field("profile", "Instance profile, such as `bx2-2x8`."),
                        {.key = "user-data",
                         .type = string(),
                         .default_note = "none",
                         .description = "User data, passed to the machine as it is."},
                        {.key = "volume-profile",
                         .type = string(),
                         .default_value = "general-purpose",
                         .description = "Profile of the boot volume."},
                        {.key = "volume-iops",
                         .type = integer(),
                         .default_note = "the profile's",
                         .description = "I/O operations per second of the boot volume, for a "
                                        "`volume-profile` like `custom`."}})};
  return schema;
}

// Of a pool, and of the provider as defaults for the pools. `note`: the default in the manual.
Fields place_fields(std::string_view note) {
  return {{.key = "zone",
           .type = string(),
           .default_note = note,
           .description = "Zone of the machines, such as `us-south-1`."},
          {.key = "subnet",
           .type = string(),
           .default_note = note,
           .description = "Name of the subnet of the machines, in the VPC and the zone."}};
}

// Of the provider; and of a pool, whose defaults are the provider's.
Fields flag_fields() {
  return {cloud::flag_field("public-ipv4", "false", "Give each machine a floating IP."),
          cloud::internal_ip_field(), cloud::host_key_field()};
}

const Schema& pool_schema() {
  static const Schema schema{
      .description = "A group of machines with the same limits.",
      .fields =
          joined({common_pool_fields(),
                  place_fields("provider's, which is then **required**"),
                  cloud::of_pool(flag_fields()),
                  {{.key = "name",
                    .type = name_without_underscores(),
                    .required = Required::always,
                    .description = "Name of the pool, unique in the provider. No underscores."},
                   {.key = "max-servers",
                    .type = integer(),
                    .required = Required::always,
                    .unit = "instances",
                    .description = "Maximum number of nodes of the pool. 0 or a negative number: "
                                   "the pool accepts no requests."},
                   {.key = "security-groups",
                    .type = list_of(string()),
                    .default_note = "the VPC's default one",
                    .description = "IDs of the machines' security groups, in the VPC."},
                   cloud::labels_field(label_schema())}})};
  return schema;
}

Schema quota_schema() {
  return {.description = "Limits of the provider, as IBM's API does not report quotas.",
          .fields = {{.key = "instances",
                      .type = integer(),
                      .default_note = "unlimited",
                      .description = "Maximum number of instances."},
                     {.key = "cores",
                      .type = integer(),
                      .default_note = "unlimited",
                      .description = "Maximum sum of their virtual processors."},
                     {.key = "ram",
                      .type = integer(),
                      .default_note = "unlimited",
                      .unit = "GB",
                      .description = "Maximum sum of their memory."}}};
}

Schema object_storage_schema() {
  return {.description = "Object storage for uploads of images.",
          .fields = {name_field("instance-name",
                                "Name of the instance of Cloud Object Storage. Not used: the name "
                                "of a bucket is unique."),
                     name_field("endpoint",
                                "URL of the endpoint, such as "
                                "`https://s3.us-south.cloud-object-storage.appdomain.cloud`."),
                     name_field("bucket-name", "Name of an existing bucket.")}};
}

Fields provider_fields() {
  return {
      {.key = "name",
       .type = name_without_underscores(),
       .required = Required::always,
       .description = "Name of the provider, unique in the file. No underscores."},
      name_field("vpc", "Name of the VPC."),
      name_field("region", "Region, such as `us-south`."),
      {.key = "credentials-file",
       .type = string(),
       .default_note = "see [Credentials](#credentials)",
       .description = "File with credentials."},
      {.key = "quota",
       .type = section(quota_schema()),
       .default_note = "unlimited",
       .description = "Limits of the provider."},
      {.key = "rate",
       .type = lenient_number(),
       .default_value = "1",
       .unit = "calls/s",
       .description = "Maximum calls per second. 0: unlimited."},
  };
}

Fields provider_image_fields() {
  return {cloud::post_upload_hook_field(),
          {.key = "image-format",
           .type = string(),
           .accepted = Accepted::by_daemons,
           .default_value = "qcow2",
           .description = "Format of uploaded images: `qcow2` or `vhd`."},
          {.key = "object-storage",
           .type = section(object_storage_schema()),
           .default_note = "none",
           .description = "Object storage for uploads of images. Required for these."},
          cloud::diskimages_field(diskimage_schema()),
          cloud::cloud_images_field(cloud_image_schema()),
          cloud::pools_field(pool_schema())};
}

}  // namespace

const Schema& ibmvpc_schema() {
  static const Schema schema{
      .description = "Machines in IBM Cloud VPC.",
      .fields = joined({provider_fields(), cloud::launch_fields("120"), provider_image_fields(),
                        place_fields("the pools'"), flag_fields()})};
  return schema;
}

}  // namespace nodepool::drivers::ibmvpc
