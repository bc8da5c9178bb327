#include "drivers/libvirt/api/descriptions.h"

#include <fmt/format.h>

#include <string_view>

#include <pugixml.hpp>

#include "driver/cloud_error.h"

namespace nodepool::drivers::libvirt {

namespace {

pugi::xml_document parse_xml(const std::string& text) {
  pugi::xml_document document;
  const pugi::xml_parse_result result = document.load_buffer(text.data(), text.size());
  if (!result) {
    throw driver::CloudError(driver::CloudError::Kind::failed,
                             fmt::format("unreadable XML of libvirt: {}", result.description()));
  }
  return document;
}

// A size with a unit such as "KiB", in bytes.
std::uint64_t bytes_of(const pugi::xml_node& size) {
  constexpr std::string_view kUnits = "KMGTP";
  const std::string_view unit = size.attribute("unit").as_string("bytes");
  const std::size_t power = unit == "bytes" ? std::string_view::npos : kUnits.find(unit.front());
  std::uint64_t value = size.text().as_ullong();
  for (std::size_t i = 0; power != std::string_view::npos && i <= power; ++i) value *= 1024;
  return value;
}

// The name that libvirt gives to a PCI device of this address.
std::string device_name(const pugi::xml_node& address) {
  const auto part = [&](const char* key) {
    return address.attribute(key).as_uint();  // accepts hexadecimal
  };
  return fmt::format("pci_{:04x}_{:02x}_{:02x}_{:x}", part("domain"), part("bus"), part("slot"),
                     part("function"));
}

void read_tags(const pugi::xml_node& metadata, Domain& domain) {
  for (const pugi::xml_node& ours : metadata.children()) {
    const std::string_view name = ours.name();
    const std::string prefix(name.substr(0, name.find(':')));
    if (name.find(':') == std::string_view::npos) continue;
    const std::string declaration = "xmlns:" + prefix;
    if (ours.attribute(declaration.c_str()).as_string() != std::string_view(kTagNamespace)) {
      continue;
    }
    for (const pugi::xml_node& tag : ours.children((prefix + ":tag").c_str())) {
      domain.tags.insert_or_assign(tag.attribute("key").as_string(), tag.text().as_string());
    }
    domain.port = ours.child((prefix + ":port").c_str()).text().as_int();
  }
}

}  // namespace

Domain read_domain(const std::string& xml) {
  constexpr std::uint64_t kMiB = 1ULL << 20U;
  const pugi::xml_document document = parse_xml(xml);
  const pugi::xml_node root = document.child("domain");
  Domain domain;
  domain.name = root.child("name").text().as_string();
  domain.cpus = root.child("vcpu").text().as_int();
  domain.memory = static_cast<std::int64_t>(bytes_of(root.child("memory")) / kMiB);
  read_tags(root.child("metadata"), domain);
  const pugi::xml_node devices = root.child("devices");
  const pugi::xml_node disk = devices.find_child_by_attribute("disk", "type", "volume");
  domain.storage_pool = disk.child("source").attribute("pool").as_string();
  for (const pugi::xml_node& card : devices.children("interface")) {
    domain.macs.emplace_back(card.child("mac").attribute("address").as_string());
  }
  for (const pugi::xml_node& device : devices.children("hostdev")) {
    if (device.attribute("type").as_string() != std::string_view("pci")) continue;
    domain.host_devices.push_back(device_name(device.child("source").child("address")));
  }
  for (const pugi::xml_node& channel : devices.children("channel")) {
    const pugi::xml_node target = channel.child("target");
    if (target.attribute("name").as_string() != std::string_view("org.qemu.guest_agent.0")) {
      continue;
    }
    domain.has_agent = target.attribute("state").as_string() == std::string_view("connected");
  }
  return domain;
}

VolumeDescription read_volume(const std::string& xml) {
  const pugi::xml_document document = parse_xml(xml);
  const pugi::xml_node root = document.child("volume");
  const pugi::xml_node target = root.child("target");
  return {.name = root.child("name").text().as_string(),
          .path = target.child("path").text().as_string(),
          .format = target.child("format").attribute("type").as_string("raw"),
          .capacity = bytes_of(root.child("capacity"))};
}

std::string read_pool_path(const std::string& xml) {
  return parse_xml(xml).child("pool").child("target").child("path").text().as_string();
}

bool offers_kvm(const std::string& xml) {
  const pugi::xml_document document = parse_xml(xml);
  const auto is_kvm = [](const pugi::xml_node& node) {
    return node.name() == std::string_view("domain") &&
           node.attribute("type").as_string() == std::string_view("kvm");
  };
  return static_cast<bool>(document.find_node(is_kvm));
}

}  // namespace nodepool::drivers::libvirt
