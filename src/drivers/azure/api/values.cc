#include "drivers/azure/api/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

namespace nodepool::drivers::azure {

using cloud::Element;

namespace {

constexpr double kMiBPerGiB = 1024;
constexpr std::string_view kPowerPrefix = "PowerState/";

Element properties_of(const Element& resource) {
  return resource.optional_object("properties").value_or(Element(json::Json::object(), ""));
}

}  // namespace

std::string lowered(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string location_name(std::string location) {
  std::erase(location, ' ');
  return lowered(std::move(location));
}

std::string name_in(const std::string& id) {
  return lowered(id.substr(id.rfind('/') + 1));
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
  if (const auto network = properties.optional_object("networkProfile")) {
    for (const Element& interface : network->list("networkInterfaces")) {
      read.interfaces.push_back(name_in(interface.text("id")));
    }
  }
  return read;
}

NetworkInterface read_interface(const Element& interface) {
  NetworkInterface read{read_resource(interface)};
  read.name = lowered(read.name);
  const Element properties = properties_of(interface);
  read.is_attached = properties.has("virtualMachine");
  const std::vector<Element> configurations = properties.list("ipConfigurations");
  read.is_complete = !configurations.empty();
  for (const Element& each : configurations) {
    const Element configuration = properties_of(each);
    const std::string address = configuration.text_or("privateIPAddress");
    const bool is_ipv6 = configuration.text_or("privateIPAddressVersion") == "IPv6";
    (is_ipv6 ? read.private_ipv6 : read.private_ipv4) = address;
    if (address.empty()) read.is_complete = false;
    if (const auto public_address = configuration.optional_object("publicIPAddress")) {
      read.public_addresses.push_back(name_in(public_address->text("id")));
    }
  }
  return read;
}

PublicAddress read_address(const Element& address) {
  PublicAddress read{read_resource(address)};
  read.name = lowered(read.name);
  const Element properties = properties_of(address);
  read.address = properties.text_or("ipAddress");
  read.is_ipv6 = properties.text_or("publicIPAddressVersion") == "IPv6";
  read.is_attached = properties.has("ipConfiguration");
  return read;
}

ManagedDisk read_disk(const Element& disk) {
  ManagedDisk read{read_resource(disk)};
  read.disk_state = properties_of(disk).text_or("diskState");
  read.is_attached = !disk.text_or("managedBy").empty();
  return read;
}

bool PowerState::is_off() const {
  constexpr std::array<std::string_view, 4> kOff = {"stopping", "stopped", "deallocating",
                                                    "deallocated"};
  return std::ranges::find(kOff, power) != kOff.end();
}

PowerState read_power_state(const Element& machine) {
  PowerState read{.id = lowered(machine.text("id")), .power = {}};
  const std::optional<Element> view = properties_of(machine).optional_object("instanceView");
  if (!view) return read;
  for (const Element& status : view->list("statuses")) {
    const std::string code = status.text_or("code");
    if (code.starts_with(kPowerPrefix)) read.power = lowered(code.substr(kPowerPrefix.size()));
  }
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

Usage read_usage(const Element& usage) {
  return {.name = usage.object("name").text("value"),
          .limit = usage.number("limit"),
          .used = usage.optional_number("currentValue").value_or(0)};
}

}  // namespace nodepool::drivers::azure
