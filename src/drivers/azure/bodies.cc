#include "drivers/azure/bodies.h"

#include <openssl/rand.h>

#include <array>
#include <stdexcept>
#include <string_view>

#include "cloud/base64.h"

namespace nodepool::drivers::azure {

using json::Json;

namespace {

constexpr std::size_t kPasswordSize = 64;
// Of the API with which Azure makes a machine's interfaces and addresses.
constexpr const char* kNetworkVersion = "2020-11-01";

// Azure requires three kinds of characters.
constexpr std::array<std::string_view, 3> kPasswordKinds = {
    "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"};

// A public address is of the SKU Standard: Azure has no others any more.
Json ip_configuration(const MachineRequest& request, bool is_ipv6) {
  const std::string version = is_ipv6 ? "IPv6" : "IPv4";
  const bool has_public = is_ipv6 ? request.pool.public_ipv6 : request.pool.public_ipv4;
  Json properties = {{"privateIPAddressVersion", version},
                     {"primary", !is_ipv6 || !request.pool.ipv4},
                     {"subnet", {{"id", request.config.subnet_id()}}}};
  if (has_public) {
    const PartNames& parts = request.parts;
    properties["publicIPAddressConfiguration"] = {
        {"name", is_ipv6 ? parts.ipv6_address : parts.ipv4_address},
        {"sku", {{"name", "Standard"}}},
        {"properties",
         {{"publicIPAddressVersion", version},
          {"publicIPAllocationMethod", "Static"},
          {"deleteOption", "Delete"}}}};
  }
  return {{"name", request.host + (is_ipv6 ? "-v6-config" : "-v4-config")},
          {"properties", std::move(properties)}};
}

Json network_profile(const MachineRequest& request) {
  Json configurations = Json::array();
  if (request.pool.ipv4) configurations.push_back(ip_configuration(request, false));
  if (request.pool.ipv6) configurations.push_back(ip_configuration(request, true));
  const Json interface = {{"name", request.parts.interface},
                          {"properties",
                           {{"primary", true},
                            {"deleteOption", "Delete"},
                            {"ipConfigurations", std::move(configurations)}}}};
  return {{"networkApiVersion", kNetworkVersion},
          {"networkInterfaceConfigurations", Json::array({interface})}};
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

Json machine_body(const MachineRequest& request, const Json& image, const std::string& password) {
  const AzureLabel& label = request.label;
  Json disk = {
      {"name", request.parts.disk}, {"createOption", "FromImage"}, {"deleteOption", "Delete"}};
  if (label.volume_size) disk["diskSizeGB"] = *label.volume_size;
  Json properties = {{"osProfile", system_profile(request, password)},
                     {"hardwareProfile", {{"vmSize", label.size}}},
                     {"storageProfile", {{"imageReference", image}, {"osDisk", std::move(disk)}}},
                     {"networkProfile", network_profile(request)}};
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
  if (!image.password.empty() || !image.generate_password) return image.password;
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
