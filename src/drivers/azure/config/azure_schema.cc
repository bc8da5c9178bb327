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
Fields network_fields() {
  return {
      {.key = "ipv4",
       .type = boolean(),
       .default_note = "true with `public-ipv4`, or without any IPv6",
       .description = "Assign private IPv4 addresses."},
      {.key = "ipv6",
       .type = boolean(),
       .default_note = "true with `public-ipv6`",
       .description = "Assign private IPv6 addresses; the subnet must have some."},
      cloud::flag_field("public-ipv4", "true", "Assign public IPv4 addresses. Implies `ipv4`."),
      cloud::flag_field("public-ipv6", "false", "Assign public IPv6 addresses. Implies `ipv6`."),
      cloud::internal_ip_field(),
      cloud::host_key_field()};
}

// How to log in to a machine made from an image.
Fields login_fields(Accepted password) {
  return joined(
      {{.key = "key",
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
        .description = "Set a random password, which is not recorded anywhere."}},
      cloud::access_fields());
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
                 cloud::tags_field("Tags that the image has.")}};
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
      .fields =
          joined({cloud::image_name_field(),
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
      .rules = {{.kind = Rule::Kind::exactly_one,
                 .keys = {"image-reference", "image-id", "image-filter", "shared-gallery-image",
                          "community-gallery-image"}}}};
  return schema;
}

const Schema& diskimage_schema() {
  static const Schema schema{
      .description = "An image of the top level to upload to this provider.",
      .fields = joined({cloud::diskimage_name_field(),
                        {.key = "username",
                         .type = string(),
                         .default_note = "diskimage's",
                         .description = "User to create and to log in as. Recorded with the node."},
                        cloud::pause_field(),
                        cloud::tags_field("Tags of the image in Azure.")},
                       login_fields(Accepted::by_daemons))};
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
                        cloud::tags_field("Tags of the machine."),
                        cloud::dynamic_tags_field(),
                        cloud::console_log_field()})};
  return schema;
}

const Schema& pool_schema() {
  static const Schema schema{
      .description = "A group of machines with the same network and limits.",
      .fields = joined(joined(common_pool_fields(), cloud::of_pool(network_fields())),
                       {cloud::labels_field(label_schema())})};
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
          cloud::rate_field("1")};
}

Fields image_fields() {
  return {cloud::post_upload_hook_field(),
          {.key = "zuul-public-key",
           .type = string(),
           .default_note = "none",
           .description = "Default `key` of the cloud images.",
           .deprecated = "the cloud images' `key`"},
          cloud::diskimages_field(diskimage_schema()),
          cloud::cloud_images_field(cloud_image_schema()),
          cloud::pools_field(pool_schema())};
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
                             .fields = joined({network_fields(), provider_fields(),
                                               cloud::launch_fields("120"), image_fields()})};
  return schema;
}

}  // namespace nodepool::drivers::azure
