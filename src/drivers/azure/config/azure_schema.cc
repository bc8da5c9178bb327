#include "drivers/azure/config/azure_schema.h"

#include "cloud/config/fields.h"
#include "config/nodepool_schema.h"

namespace nodepool::drivers::azure {

namespace {

using namespace config;

Field text_field(std::string_view key, Required required, std::string_view description) {
  return {.key = key, .type = string(), .required = required, .description = description};
}

// Of a provider; and of a pool, whose defaults are the provider's.
Fields network_fields(bool is_pool) {
  const auto with_default = [is_pool](std::string_view value) {
    return is_pool ? std::string_view() : value;
  };
  const std::string_view note = is_pool ? "provider's" : "";
  const auto field = [&](std::string_view key, std::string_view value,
                         std::string_view description) {
    return Field{.key = key,
                 .type = boolean(),
                 .default_value = with_default(value),
                 .default_note = note,
                 .description = description};
  };
  Field ipv4 = field("ipv4", "", "Assign private IPv4 addresses.");
  Field ipv6 = field("ipv6", "", "Assign private IPv6 addresses; the subnet must have some.");
  if (!is_pool) {
    ipv4.default_note = "true with `public-ipv4`, or without any IPv6";
    ipv6.default_note = "true with `public-ipv6`";
  }
  return {ipv4,
          ipv6,
          field("public-ipv4", "true", "Assign public IPv4 addresses. Implies `ipv4`."),
          field("public-ipv6", "false", "Assign public IPv6 addresses. Implies `ipv6`."),
          field("use-internal-ip", "false", "Connect to nodes at their private address."),
          field("host-key-checking", "true", "Read the SSH host keys before a machine is ready.")};
}

// How to log in to a machine made from an image.
Fields login_fields(Accepted password) {
  return {{.key = "key",
           .type = string(),
           .default_note = "none",
           .description = "SSH public key to authorize for `username`."},
          {.key = "password",
           .type = string(),
           .accepted = password,
           .default_note = "none",
           .description = "Password of `username`, for Windows. Azure wants 12 to 72 characters of "
                          "three kinds."},
          {.key = "generate-password",
           .type = boolean(),
           .accepted = password,
           .default_value = "false",
           .description = "Set a random password, which is not recorded anywhere."},
          cloud::python_path_field(),
          cloud::shell_type_field()};
}

const Schema& reference_schema() {
  static const Schema schema{
      .description = "An image of the marketplace.",
      .fields = {text_field("publisher", Required::always, "Publisher, such as `Debian`."),
                 text_field("offer", Required::always, "Offer, such as `debian-12`."),
                 text_field("sku", Required::always, "SKU, such as `12-gen2`."),
                 text_field("version", Required::always, "Version, or `latest`.")}};
  return schema;
}

const Schema& filter_schema() {
  static const Schema schema{
      .description =
          "Conditions on the images of the resource group; all must hold. Of several "
          "images, the last by name is used.",
      .fields = {text_field("name", Required::never, "Name of the image."),
                 text_field("location", Required::never, "Location of the image."),
                 {.key = "tags",
                  .type = mapping_of(anything()),
                  .default_note = "none",
                  .description = "Tags that the image has."}}};
  return schema;
}

const Schema& gallery_schema() {
  static const Schema schema{
      .description = "An image of a gallery.",
      .fields = {text_field("gallery-name", Required::always, "Public name of the gallery."),
                 text_field("name", Required::always, "Name of the image definition."),
                 {.key = "version",
                  .type = string(),
                  .default_note = "latest",
                  .description = "Version of the image."}}};
  return schema;
}

const Schema& cloud_image_schema() {
  static const Schema schema{
      .description = "An existing image.",
      .fields = joined(
          joined({text_field("name", Required::always, "Name of the image in labels."),
                  text_field("username", Required::always,
                             "User to create and to log in as. Recorded with the node."),
                  {.key = "image-reference",
                   .type = section(reference_schema()),
                   .description = "An image of the marketplace."},
                  text_field("image-id", Required::never,
                             "Resource id of an image, or of an image in a gallery."),
                  {.key = "image-filter",
                   .type = section(filter_schema()),
                   .description = "An image of the resource group."},
                  {.key = "shared-gallery-image",
                   .type = section(gallery_schema()),
                   .description = "An image of a gallery that is shared with the subscription."},
                  {.key = "community-gallery-image",
                   .type = section(gallery_schema()),
                   .description = "An image of a community gallery."}},
                 login_fields(Accepted::everywhere)),
          cloud::connection_fields()),
      .rules = {{.kind = Rule::Kind::exactly_one,
                 .keys = {"image-reference", "image-id", "image-filter", "shared-gallery-image",
                          "community-gallery-image"}}}};
  return schema;
}

const Schema& diskimage_schema() {
  static const Schema schema{
      .description = "An image of the top level to upload to this provider.",
      .fields = joined(
          joined({{.key = "name",
                   .type = diskimage_name(),
                   .required = Required::always,
                   .description = "Name of an entry of the top-level `diskimages`."},
                  {.key = "username",
                   .type = string(),
                   .default_note = "diskimage's",
                   .description = "User to create and to log in as. Recorded with the node."},
                  {.key = "pause",
                   .type = boolean(),
                   .default_value = "false",
                   .description = "Pause uploads of the image."},
                  {.key = "tags",
                   .type = mapping_of(anything()),
                   .default_note = "none",
                   .description = "Tags of the image in Azure."}},
                 login_fields(Accepted::by_daemons)),
          cloud::connection_fields())};
  return schema;
}

const Schema& hardware_schema() {
  static const Schema schema{
      .description = "The hardware of a machine.",
      .fields = {text_field("vm-size", Required::always, "Size, such as `Standard_D2s_v3`.")}};
  return schema;
}

const Schema& label_schema() {
  static const Schema schema{
      .description = "A type of machine in the pool.",
      .fields = joined(joined({cloud::label_name_field()}, cloud::label_image_fields()),
                       {{.key = "hardware-profile",
                         .type = section(hardware_schema()),
                         .required = Required::always,
                         .description = "Hardware of the machine."},
                        {.key = "volume-size",
                         .type = integer(),
                         .default_note = "image's",
                         .unit = "GB",
                         .description = "Size of the disk."},
                        {.key = "use-spot",
                         .type = boolean(),
                         .default_value = "false",
                         .description = "Create a spot machine, which Azure may evict: it is then "
                                        "deleted."},
                        {.key = "user-data",
                         .type = string(),
                         .default_note = "none",
                         .description = "User data of the machine, which its metadata service "
                                        "shows."},
                        {.key = "custom-data",
                         .type = string(),
                         .default_note = "none",
                         .description = "Custom data of the machine, for cloud-init."},
                        {.key = "tags",
                         .type = mapping_of(anything()),
                         .default_note = "none",
                         .description = "Tags of the machine."},
                        {.key = "dynamic-tags",
                         .type = mapping_of(string()),
                         .default_note = "none",
                         .description = cloud::kMadeOfRequest},
                        cloud::console_log_field()})};
  return schema;
}

const Schema& pool_schema() {
  static const Schema schema{.description = "A group of machines with the same network and limits.",
                             .fields = joined(joined(common_pool_fields(), network_fields(true)),
                                              {{.key = "labels",
                                                .type = list_of(section(label_schema())),
                                                .required = Required::always,
                                                .description = "Types of machines."}})};
  return schema;
}

Fields provider_fields() {
  return {text_field("location", Required::always, "Location of the machines, such as `westus`."),
          text_field("resource-group", Required::always,
                     "Resource group of everything that is created. Created if it is missing, and "
                     "never deleted."),
          text_field("resource-group-location", Required::always,
                     "Location of the resource group, for its creation."),
          {.key = "auth-path",
           .type = string(),
           .required = Required::strictly,
           .default_note = "`AZURE_AUTH_LOCATION`, else other variables",
           .description = "File with the credentials."},
          {.key = "subnet-id",
           .type = string(),
           .description = "Resource id of the machines' subnet. Overrides `network`."},
          {.key = "network",
           .type = one_of({string(), section(network_schema())}),
           .description = "Name of the machines' virtual network, or a mapping."},
          {.key = "rate",
           .type = one_of({integer(), number()}),
           .default_value = "1",
           .unit = "calls/s",
           .description = "Maximum calls per second. 0: unlimited."},
          {.key = "boot-timeout",
           .type = integer(),
           .default_value = "120",
           .unit = "seconds",
           .description = "Maximum time until a running machine shows its SSH host keys."},
          cloud::launch_timeout_field(),
          cloud::launch_retries_field(),
          cloud::post_upload_hook_field(),
          {.key = "zuul-public-key",
           .type = string(),
           .default_note = "none",
           .description = "Default `key` of the cloud images.",
           .deprecated = "the cloud images' `key`"},
          cloud::diskimages_field(diskimage_schema()),
          cloud::cloud_images_field(cloud_image_schema()),
          {.key = "pools",
           .type = list_of(section(pool_schema())),
           .required = Required::strictly,
           .description = "Groups of machines."}};
}

}  // namespace

const Schema& network_schema() {
  static const Schema schema{
      .description = "A subnet of a virtual network.",
      .fields = {text_field("network", Required::always, "Name of the virtual network."),
                 {.key = "resource-group",
                  .type = string(),
                  .default_note = "provider's",
                  .description = "Resource group of the virtual network."},
                 {.key = "subnet",
                  .type = string(),
                  .default_value = "default",
                  .description = "Name of the subnet."}}};
  return schema;
}

const Schema& azure_schema() {
  static const Schema schema{.description = "Machines in Microsoft Azure.",
                             .fields = joined(network_fields(false), provider_fields())};
  return schema;
}

}  // namespace nodepool::drivers::azure
