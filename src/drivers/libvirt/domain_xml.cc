#include "drivers/libvirt/domain_xml.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include <pugixml.hpp>

#include "driver/ownership.h"

namespace nodepool::drivers::libvirt {

namespace {

// FNV-1a, which is the same everywhere and always.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : text) {
    hash ^= static_cast<unsigned char>(letter);
    hash *= 0x100000001b3;
  }
  return hash ^ (hash >> 32U);
}

std::string owner_digits(const driver::Metadata& owner_tags) {
  const std::string owner = driver::value_of(owner_tags, driver::kProviderNameKey) + '/' +
                            driver::value_of(owner_tags, driver::kInstallationIdKey);
  return fmt::format("{:08x}", static_cast<std::uint32_t>(hash_of(owner)));
}

// A UUID of version 8 (RFC 9562), of one attempt for one node: defining the domain twice makes one,
// and does not change the domain of another attempt, or of another owner.
std::string uuid_of(const DomainSpec& spec) {
  const std::string created = driver::value_of(spec.owner_tags, driver::kNodeCreatedKey);
  const std::string unique = fmt::format("{}/{}/{}", spec.name, created, spec.attempt);
  const std::uint64_t high = hash_of(unique);
  const std::uint64_t low = hash_of(unique + "/uuid");
  return fmt::format("{:08x}-{:04x}-8{:03x}-8{:03x}-{:012x}", high >> 32U, (high >> 16U) & 0xffffU,
                     high & 0xfffU, low >> 52U, low & 0xffffffffffffU);
}

pugi::xml_node add(pugi::xml_node parent, const char* name,
                   std::initializer_list<std::pair<const char*, std::string>> attributes = {},
                   const std::string& text = {}) {
  pugi::xml_node node = parent.append_child(name);
  for (const auto& [key, value] : attributes) node.append_attribute(key) = value.c_str();
  if (!text.empty()) node.text() = text.c_str();
  return node;
}

std::string serialized(const pugi::xml_document& document) {
  std::ostringstream out;
  document.save(out, "", pugi::format_raw | pugi::format_no_declaration);
  return out.str();
}

void add_metadata(pugi::xml_node domain, const DomainSpec& spec) {
  const pugi::xml_node ours =
      add(add(domain, "metadata"), "np:node", {{"xmlns:np", kTagNamespace}});
  for (const auto& [key, value] : spec.owner_tags) add(ours, "np:tag", {{"key", key}}, value);
  if (spec.port != 0) add(ours, "np:port", {}, std::to_string(spec.port));
}

// The translation cache of an emulator would otherwise grow to a gigabyte.
std::int64_t translation_cache(std::int64_t memory) {
  return std::clamp<std::int64_t>(memory / 4, 32, 512);
}

void add_processor(pugi::xml_node domain, const DomainSpec& spec) {
  const LibvirtLabel& label = spec.label;
  add(domain, "memory", {{"unit", "MiB"}}, std::to_string(label.memory));
  add(domain, "vcpu", {}, std::to_string(label.cpus));
  if (label.user_data_format == UserDataFormat::ignition && !label.user_data.empty()) {
    // libvirt 9 does not escape commas in texts, so this is a file.
    add(add(domain, "sysinfo", {{"type", "fwcfg"}}), "entry",
        {{"name", "opt/com.coreos/config"},
         {"file", spec.pool_path + '/' + configuration_name(spec.name)}});
  }
  pugi::xml_node os = add(domain, "os");
  if (label.efi) os.append_attribute("firmware") = "efi";
  add(os, "type", {{"machine", label.machine}}, "hvm");
  // Otherwise libvirt may choose a firmware that only starts what Microsoft has signed.
  if (label.efi) {
    add(add(os, "firmware"), "feature", {{"enabled", "no"}, {"name", "secure-boot"}});
  }
  const pugi::xml_node features = add(domain, "features");
  add(features, "acpi");
  add(features, "apic");
  if (!spec.has_kvm) {
    add(add(features, "tcg"), "tb-cache", {{"unit", "MiB"}},
        std::to_string(translation_cache(label.memory)));
  }
  add(domain, "cpu", {{"mode", spec.has_kvm ? "host-passthrough" : "maximum"}});
  add(domain, "on_crash", {}, "destroy");
}

void add_disk(pugi::xml_node devices, const DomainSpec& spec, const std::string& volume,
              const std::string& format, const std::string& target) {
  const pugi::xml_node disk = add(devices, "disk", {{"type", "volume"}, {"device", "disk"}});
  // The disk of a node need not survive the host.
  add(disk, "driver", {{"name", "qemu"}, {"type", format}, {"cache", "unsafe"}});
  add(disk, "source", {{"pool", spec.storage_pool}, {"volume", volume}});
  add(disk, "target", {{"dev", target}, {"bus", "virtio"}});
  if (format == "raw") add(disk, "readonly");
}

// libvirt 9 cannot forward ports of user-mode networks, so these are arguments of QEMU.
void add_user_network(pugi::xml_node domain, const DomainSpec& spec, const NetworkCard& card,
                      std::size_t number) {
  pugi::xml_node commands = domain.child("qemu:commandline");
  if (!commands) commands = add(domain, "qemu:commandline");
  std::string network = fmt::format("user,id=np{}", number);
  if (!card.outgoing) network += ",restrict=on";
  if (spec.port != 0 && number == 0) {
    network += fmt::format(",hostfwd=tcp:{}:{}-:{}", spec.host_address, spec.port,
                           spec.label.connection_port);
  }
  // QEMU would choose a slot before it has libvirt's own devices, which are in the first slots.
  constexpr std::size_t kFirstSlot = 0x10;
  const bool has_pcie = spec.label.machine.find("q35") != std::string::npos;
  const std::string device =
      fmt::format("virtio-net-pci,netdev=np{},mac={},romfile=,bus={},addr=0x{:x}", number,
                  spec.macs.at(number), has_pcie ? "pcie.0" : "pci.0", kFirstSlot + number);
  for (const std::string& argument :
       {std::string("-netdev"), network, std::string("-device"), device}) {
    add(commands, "qemu:arg", {{"value", argument}});
  }
}

void add_network(pugi::xml_node devices, const DomainSpec& spec, const NetworkCard& card,
                 std::size_t number) {
  pugi::xml_node interface = add(devices, "interface");
  const auto set = [&](const char* type, const char* source) {
    interface.append_attribute("type") = type;
    add(interface, "source", {{source, card.source}});
  };
  switch (card.kind) {
    case NetworkCard::Kind::bridge:
      set("bridge", "bridge");
      break;
    case NetworkCard::Kind::direct:
      set("direct", "dev");
      break;
    default:
      set("network", "network");
  }
  add(interface, "mac", {{"address", spec.macs.at(number)}});
  add(interface, "model", {{"type", "virtio"}});
  if (!spec.label.efi) add(interface, "rom", {{"enabled", "no"}});  // no booting from networks
}

// `name`: pci_DOMAIN_BUS_SLOT_FUNCTION, hexadecimal.
void add_host_device(pugi::xml_node devices, const std::string& name) {
  const pugi::xml_node device =
      add(devices, "hostdev", {{"mode", "subsystem"}, {"type", "pci"}, {"managed", "yes"}});
  pugi::xml_node address = add(add(device, "source"), "address");
  std::istringstream parts(name.substr(std::min(name.size(), name.find('_') + 1)));
  for (const char* key : {"domain", "bus", "slot", "function"}) {
    std::string part;
    std::getline(parts, part, '_');
    address.append_attribute(key) = ("0x" + part).c_str();
  }
}

void add_devices(pugi::xml_node domain, const DomainSpec& spec) {
  const pugi::xml_node devices = add(domain, "devices");
  add_disk(devices, spec, disk_name(spec.name), "qcow2", "vda");
  if (spec.label.user_data_format == UserDataFormat::cloud_init) {
    add_disk(devices, spec, configuration_name(spec.name), "raw", "vdb");
  }
  for (std::size_t i = 0; i < spec.label.networks.size(); ++i) {
    const NetworkCard& card = spec.label.networks[i];
    if (card.kind == NetworkCard::Kind::user) {
      add_user_network(domain, spec, card, i);
    } else {
      add_network(devices, spec, card, i);
    }
  }
  for (const std::string& name : spec.label.host_devices) add_host_device(devices, name);
  const pugi::xml_node serial = add(devices, "serial", {{"type", "pty"}});
  add(serial, "log",
      {{"file", spec.pool_path + '/' + console_log_name(spec.name)}, {"append", "off"}});
  const pugi::xml_node channel = add(devices, "channel", {{"type", "unix"}});
  add(channel, "target", {{"type", "virtio"}, {"name", "org.qemu.guest_agent.0"}});
  const pugi::xml_node random = add(devices, "rng", {{"model", "virtio"}});
  add(random, "backend", {{"model", "random"}}, "/dev/urandom");
}

}  // namespace

std::string domain_name(std::string_view hostname, const driver::Metadata& owner_tags) {
  return fmt::format("{}-{}", hostname, owner_digits(owner_tags));
}

std::string hostname_in(std::string_view name, const driver::Metadata& owner_tags) {
  const std::string_view stem = name.substr(0, name.find('.'));
  const std::size_t dash = stem.rfind('-');
  if (dash == std::string_view::npos || stem.substr(dash + 1) != owner_digits(owner_tags))
    return {};
  return std::string(stem.substr(0, dash));
}

std::string disk_name(const std::string& domain) {
  return domain + ".qcow2";
}

std::string configuration_name(const std::string& domain) {
  return domain + ".config";
}

std::string console_log_name(const std::string& domain) {
  return domain + ".log";
}

std::string domain_xml(const DomainSpec& spec) {
  pugi::xml_document document;
  const pugi::xml_node domain = add(document.root(), "domain",
                                    {{"type", spec.has_kvm ? "kvm" : "qemu"},
                                     {"xmlns:qemu", "http://libvirt.org/schemas/domain/qemu/1.0"}});
  add(domain, "name", {}, spec.name);
  add(domain, "uuid", {}, uuid_of(spec));
  add_metadata(domain, spec);
  add_processor(domain, spec);
  add_devices(domain, spec);
  return serialized(document);
}

std::string clone_xml(const std::string& name, const VolumeDescription& image, std::uint64_t size) {
  pugi::xml_document document;
  const pugi::xml_node volume = add(document.root(), "volume");
  add(volume, "name", {}, name);
  add(volume, "capacity", {{"unit", "bytes"}}, std::to_string(std::max(size, image.capacity)));
  add(add(volume, "target"), "format", {{"type", "qcow2"}});
  const pugi::xml_node backing = add(volume, "backingStore");
  add(backing, "path", {}, image.path);
  add(backing, "format", {{"type", image.format}});
  return serialized(document);
}

std::string volume_xml(const std::string& name, std::string_view format, std::uint64_t size) {
  pugi::xml_document document;
  const pugi::xml_node volume = add(document.root(), "volume");
  add(volume, "name", {}, name);
  add(volume, "capacity", {{"unit", "bytes"}}, std::to_string(size));
  add(volume, "allocation", {}, "0");
  add(add(volume, "target"), "format", {{"type", std::string(format)}});
  return serialized(document);
}

}  // namespace nodepool::drivers::libvirt
