#include "drivers/azure/api/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace nodepool::drivers::azure {

using cloud::Element;

namespace {

constexpr double kMiBPerGiB = 1024;

Element properties_of(const Element& resource) {
  return resource.optional_object("properties").value_or(Element(json::Json::object(), ""));
}

}  // namespace

std::string lowered(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

ArmResource read_resource(const Element& resource) {
  return {.name = resource.text("name"),
          .id = resource.text("id"),
          .location = resource.text_or("location"),
          .state = properties_of(resource).text_or("provisioningState"),
          .tags = resource.texts("tags")};
}

std::string state_in_words(std::string_view what, const ArmResource& resource) {
  return fmt::format("{} {} is {}", what, resource.name, resource.state);
}

VirtualMachine read_machine(const Element& machine) {
  const Element properties = properties_of(machine);
  VirtualMachine read{read_resource(machine)};
  read.name = lowered(read.name);
  if (const auto hardware = properties.optional_object("hardwareProfile")) {
    read.size = hardware->text_or("vmSize");
  }
  const std::vector<std::string> zones = machine.texts_in("zones");
  if (!zones.empty()) read.zone = zones.front();
  read.is_spot = properties.text_or("priority") == "Spot";
  return read;
}

NetworkPart read_interface(const Element& interface) {
  NetworkPart read{read_resource(interface)};
  read.name = lowered(read.name);
  const Element properties = properties_of(interface);
  read.is_attached = properties.has("virtualMachine");
  for (const Element& each : properties.list("ipConfigurations")) {
    const Element configuration = properties_of(each);
    const bool is_ipv6 = configuration.text_or("privateIPAddressVersion") == "IPv6";
    (is_ipv6 ? read.private_ipv6 : read.private_ipv4) = configuration.text_or("privateIPAddress");
  }
  return read;
}

NetworkPart read_address(const Element& address) {
  NetworkPart read{read_resource(address)};
  read.name = lowered(read.name);
  const Element properties = properties_of(address);
  read.public_address = properties.text_or("ipAddress");
  read.is_attached = properties.has("ipConfiguration");
  return read;
}

ManagedDisk read_disk(const Element& disk) {
  ManagedDisk read{read_resource(disk)};
  read.disk_state = properties_of(disk).text_or("diskState");
  read.is_attached = !disk.text_or("managedBy").empty();
  return read;
}

VmSize read_size(const Element& sku) {
  VmSize size;
  if (sku.text_or("resourceType") != "virtualMachines") return size;
  size.name = sku.text("name");
  size.family = sku.text_or("family");
  for (const Element& capability : sku.list("capabilities")) {
    const std::string name = capability.text_or("name");
    const double value = std::strtod(capability.text_or("value").c_str(), nullptr);
    if (name == "vCPUs") size.cores = value;
    if (name == "MemoryGB") size.memory = value * kMiBPerGiB;
  }
  const std::vector<Element> restrictions = sku.list("restrictions");
  size.is_offered = std::ranges::none_of(restrictions, [](const Element& restriction) {
    return restriction.text_or("type") == "Location";
  });
  return size;
}

UsageLimit read_usage(const Element& usage) {
  return {.name = usage.object("name").text("value"), .limit = usage.number("limit")};
}

}  // namespace nodepool::drivers::azure
