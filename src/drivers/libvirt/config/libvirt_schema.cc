#include "drivers/libvirt/config/libvirt_schema.h"

#include "cloud/config/fields.h"
#include "config/nodepool_schema.h"

namespace nodepool::drivers::libvirt {

namespace {

using namespace config;

constexpr std::int64_t kMost = 1'000'000'000;

const Schema& host_schema() {
  static const Schema schema{
      .description = "A host with libvirt.",
      .fields = {
          {.key = "name",
           .type = string_matching("[A-Za-z0-9_.-]+", "letters, digits, `_`, `.` and `-`"),
           .default_note = "host of `uri`, else `localhost`",
           .description = "Name of the host, unique in the provider. It is a part of the nodes' "
                          "external ids: a host that is renamed loses its nodes."},
          {.key = "uri",
           .type = string(),
           .default_value = "qemu:///system",
           .description = "URI of the connection: `qemu:///system`, `qemu+ssh://USER@HOST/system`, "
                          "`qemu+tls://HOST/system`, `qemu+unix:///system?socket=PATH`."},
          {.key = "address",
           .type = string(),
           .default_note = "`127.0.0.1`",
           .description = "Address of the host at which ports of `user` networks are forwarded."},
      }};
  return schema;
}

const Schema& user_network_schema() {
  static const Schema schema{
      .description =
          "A user-mode network (SLIRP), which needs no privileges on the host. The "
          "node is reached at a port of the host.",
      .fields = {
          {.key = "ports",
           .type = string_matching("[0-9]+-[0-9]+", "two port numbers, as in `20000-20999`"),
           .required = Required::always,
           .description = "Ports of the host's `address`. Each node gets one, which is forwarded "
                          "to its `connection-port`."},
          {.key = "outgoing",
           .type = boolean(),
           .default_value = "false",
           .description = "Let nodes connect to other hosts. They then also reach the services on "
                          "the host's loopback interface."},
      }};
  return schema;
}

const Schema& network_schema() {
  static const Schema schema{
      .description = "A network card. The first one has the node's address.",
      .fields = {{.key = "network", .type = string(), .description = "A network of libvirt."},
                 {.key = "bridge", .type = string(), .description = "A bridge of the host."},
                 {.key = "direct",
                  .type = string(),
                  .description = "A network device of the host, shared by macvtap. The host itself "
                                 "cannot reach such nodes."},
                 {.key = "user",
                  .type = section(user_network_schema()),
                  .description = "A user-mode network."}},
      .rules = {
          {.kind = Rule::Kind::exactly_one, .keys = {"network", "bridge", "direct", "user"}}}};
  return schema;
}

const Schema& cloud_image_schema() {
  static const Schema schema{
      .description = "A volume of the storage pool from which machines are cloned.",
      .fields = joined({cloud::image_name_field(),
                        {.key = "volume",
                         .type = string(),
                         .default_note = "`name`",
                         .description = "Name of the volume in `storage-pool`, on every host that "
                                        "is to use it. Format: qcow2 or raw."},
                        cloud::username_field()},
                       cloud::access_fields())};
  return schema;
}

const Schema& diskimage_schema() {
  static const Schema schema{
      .description = "An image of the top level to upload into the storage pools of the hosts.",
      .fields = joined(cloud::diskimage_fields(), cloud::connection_fields())};
  return schema;
}

Field networks_field(std::string_view note) {
  return {.key = "networks",
          .type = list_of(section(network_schema())),
          .default_note = note,
          .description = "Network cards of the machines."};
}

Field keys_field(std::string_view note) {
  return {.key = "keys",
          .type = list_of(string()),
          .default_note = note,
          .description = "SSH public keys to authorize for the image's `username`."};
}

const Schema& label_schema() {
  static const Schema schema{
      .description = "A type of machine in the pool.",
      .fields = joined(
          joined({cloud::label_name_field()}, cloud::label_image_fields()),
          {{.key = "cpus",
            .type = integer_between(1, 4096),
            .default_value = "2",
            .description = "Number of virtual processors."},
           {.key = "memory",
            .type = integer_between(16, kMost),
            .default_value = "2048",
            .unit = "MiB",
            .description = "Memory."},
           {.key = "disk",
            .type = integer_between(1, kMost),
            .default_note = "as the image",
            .unit = "GiB",
            .description = "Size of the disk. A smaller one than the image's has no effect."},
           {.key = "machine",
            .type = string_matching("[A-Za-z0-9_.-]+", "letters, digits, `_`, `.` and `-`"),
            .default_value = "q35",
            .description = "Machine type of QEMU, such as `q35` or `pc`."},
           {.key = "firmware",
            .type = word({"bios", "efi"}),
            .default_value = "bios",
            .description = "Firmware. `efi`: an UEFI firmware of the host, without Secure Boot."},
           networks_field("provider's"),
           {.key = "host-devices",
            .type = list_of(string()),
            .default_note = "none",
            .description = "PCI devices of the host to pass to the machine, by libvirt's names "
                           "(`virsh nodedev-list`), such as `pci_0000_01_00_0`. A host on which "
                           "one of them is absent or in use gets no such machine."},
           keys_field("provider's"),
           cloud::user_data_field(),
           {.key = "userdata-format",
            .type = word({"cloud-init", "ignition", "none"}),
            .default_value = "cloud-init",
            .description = "How `userdata`, host name and keys reach the machine: on a NoCloud "
                           "disk; `userdata` alone, as Ignition's firmware setting; not at all."},
           cloud::console_log_field()}),
      .rules = {{.kind = Rule::Kind::exactly_one, .keys = {"diskimage", "cloud-image"}}}};
  return schema;
}

const Schema& pool_schema() {
  static const Schema schema{
      .description = "A group of machines with the same limits.",
      .fields = joined(
          joined(common_pool_fields(), cloud::core_and_memory_fields()),
          {{.key = "ignore-provider-quota",
            .type = boolean(),
            .default_value = "false",
            .description = "Ignore the total capacity of the hosts. Machines are still placed "
                           "only on hosts where they fit."},
           cloud::host_key_field(),
           cloud::labels_field(label_schema())})};
  return schema;
}

Fields provider_fields() {
  return {{.key = "hosts",
           .type = list_of(section(host_schema())),
           .default_note = "`qemu:///system`",
           .description = "Hosts of the machines. Each machine goes to the emptiest one where it "
                          "fits."},
          {.key = "storage-pool",
           .type = string(),
           .default_value = "default",
           .description = "Storage pool of images and disks, on every host: a directory or a file "
                          "system."},
          networks_field("`network: default`"),
          {.key = "virtualization",
           .type = word({"auto", "kvm", "qemu"}),
           .default_value = "auto",
           .description = "`kvm`: by the processor; `qemu`: emulated, ten times slower; `auto`: "
                          "`kvm` where the host offers it."},
          {.key = "cpu-overcommit",
           .type = one_of({integer(), number()}),
           .default_value = "1",
           .description = "Virtual processors per processor of a host."},
          {.key = "memory-reserve",
           .type = integer_between(0, kMost),
           .default_value = "1024",
           .unit = "MiB",
           .description = "Memory of each host that machines leave free."},
          {.key = "address-sources",
           .type = list_of(word({"lease", "agent", "arp"})),
           .default_note = "`lease`, `agent`",
           .description = "Where to look for addresses, in this order: DHCP leases of libvirt's "
                          "networks; the guest agent of QEMU; the host's ARP table."},
          keys_field("none"),
          cloud::rate_field("0", "Maximum calls per second to each host. 0: unlimited."),
          {.key = "image-format",
           .type = word({"qcow2", "raw"}),
           .default_value = "qcow2",
           .description = "Format in which images are built and uploaded."}};
}

}  // namespace

const Schema& libvirt_schema() {
  static const Schema schema{
      .description = "Virtual machines on one's own hosts, by libvirt and QEMU.",
      .fields = joined({provider_fields(),
                        cloud::upload_fields("Maximum duration of an upload to a host."),
                        cloud::launch_fields(),
                        {cloud::diskimages_field(diskimage_schema()),
                         cloud::cloud_images_field(cloud_image_schema()),
                         cloud::pools_field(pool_schema(), Required::always)}})};
  return schema;
}

}  // namespace nodepool::drivers::libvirt
