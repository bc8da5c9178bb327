#include "drivers/azure/bodies.h"

#include <openssl/rand.h>

#include <array>
#include <stdexcept>
#include <string_view>

#include "cloud/base64.h"
#include "drivers/azure/names.h"

namespace nodepool::drivers::azure {

using json::Json;

namespace {

constexpr std::size_t kPasswordSize = 64;

// Azure requires three kinds of characters.
constexpr std::array<std::string_view, 3> kPasswordKinds = {
    "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"};

Json ip_configuration(const MachineRequest& request, bool is_ipv6, const std::string& address_id) {
  const std::string version = is_ipv6 ? "v6" : "v4";
  Json properties = {{"privateIPAddressVersion", is_ipv6 ? "IPv6" : "IPv4"},
                     {"primary", !is_ipv6 || !request.pool.ipv4},
                     {"subnet", {{"id", request.config.subnet_id()}}}};
  if (!address_id.empty()) properties["publicIPAddress"] = {{"id", address_id}};
  return {{"name", request.host + "-" + version + "-config"},
          {"properties", std::move(properties)}};
}

Json system_profile(const MachineRequest& request, const std::string& password) {
  const AzureImage& image = *request.label.image;
  Json profile = {{"computerName", request.host}};
  if (!image.username.empty()) profile["adminUsername"] = image.username;
  if (!password.empty()) profile["adminPassword"] = password;
  if (!image.key.empty()) {
    const Json key = {{"path", "/home/" + image.username + "/.ssh/authorized_keys"},
                      {"keyData", image.key}};
    profile["linuxConfiguration"] = {{"disablePasswordAuthentication", password.empty()},
                                     {"ssh", {{"publicKeys", Json::array({key})}}}};
  }
  if (!request.label.custom_data.empty()) {
    profile["customData"] = cloud::base64(request.label.custom_data);
  }
  return profile;
}

}  // namespace

Json address_body(const MachineRequest& request, bool is_ipv6) {
  return {{"location", request.config.account().location},
          {"tags", request.tags},
          {"sku", {{"name", "Standard"}}},
          {"properties",
           {{"publicIPAddressVersion", is_ipv6 ? "IPv6" : "IPv4"},
            {"publicIPAllocationMethod", "Static"},
            {"deleteOption", "Delete"}}}};
}

Json interface_body(const MachineRequest& request, const AddressIds& addresses) {
  Json configurations = Json::array();
  if (request.pool.ipv4) {
    configurations.push_back(ip_configuration(request, false, addresses.ipv4));
  }
  if (request.pool.ipv6) {
    configurations.push_back(ip_configuration(request, true, addresses.ipv6));
  }
  return {{"location", request.config.account().location},
          {"tags", request.tags},
          {"properties", {{"ipConfigurations", std::move(configurations)}}}};
}

Json machine_body(const MachineRequest& request, const Json& image, const std::string& password,
                  const std::string& interface_id) {
  const AzureLabel& label = request.label;
  Json disk = {
      {"name", disk_name(request.host)}, {"createOption", "FromImage"}, {"deleteOption", "Delete"}};
  if (label.volume_size) disk["diskSizeGB"] = *label.volume_size;
  const Json interface = {{"id", interface_id},
                          {"properties", {{"primary", true}, {"deleteOption", "Delete"}}}};
  Json properties = {{"osProfile", system_profile(request, password)},
                     {"hardwareProfile", {{"vmSize", label.size}}},
                     {"storageProfile", {{"imageReference", image}, {"osDisk", std::move(disk)}}},
                     {"networkProfile", {{"networkInterfaces", Json::array({interface})}}}};
  if (!label.user_data.empty()) properties["userData"] = cloud::base64(label.user_data);
  if (label.use_spot) {
    properties["priority"] = "Spot";
    properties["evictionPolicy"] = "Delete";
    properties["billingProfile"] = {{"maxPrice", -1}};  // up to the usual price
  }
  if (request.console_log) {
    properties["diagnosticsProfile"] = {{"bootDiagnostics", {{"enabled", true}}}};
  }
  return {{"location", request.config.account().location},
          {"tags", request.tags},
          {"properties", std::move(properties)}};
}

std::string password_for(const AzureImage& image) {
  if (!image.generate_password) return image.password;
  std::array<unsigned char, 2 * kPasswordSize> random{};
  if (::RAND_bytes(random.data(), static_cast<int>(random.size())) != 1) {
    throw std::runtime_error("error drawing random numbers");
  }
  std::string password;
  for (std::size_t i = 0; i < kPasswordSize; ++i) {
    // The first characters are of each kind.
    const std::size_t kind = i < kPasswordKinds.size() ? i : random[i] % kPasswordKinds.size();
    const std::string_view characters = kPasswordKinds.at(kind);
    password += characters[random[kPasswordSize + i] % characters.size()];
  }
  return password;
}

}  // namespace nodepool::drivers::azure
