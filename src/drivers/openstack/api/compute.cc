#include "drivers/openstack/api/compute.h"

#include <algorithm>
#include <charconv>
#include <tuple>

#include "cloud/base64.h"
#include "cloud/url_text.h"
#include "driver/cloud_error.h"
#include "driver/if_exists.h"
#include "drivers/openstack/api/classify.h"
#include "drivers/openstack/api/limits.h"
#include "drivers/openstack/api/service.h"

namespace nodepool::drivers::openstack {

using driver::CloudError;

namespace {

// From this microversion on a server's networks are mandatory, and may be "auto".
constexpr int kAutomaticNetworks = 37;

bool needs_networks(const std::string& microversion) {
  if (microversion == "latest") return true;
  if (!microversion.starts_with("2.")) return false;
  int minor = 0;
  std::from_chars(microversion.data() + 2, microversion.data() + microversion.size(), minor);
  return minor >= kAutomaticNetworks;
}

Json boot_volume(const ServerRequest& request) {
  Json volume;
  volume["boot_index"] = "0";
  volume["delete_on_termination"] = true;
  volume["destination_type"] = "volume";
  volume["uuid"] = request.image_id;
  volume["source_type"] = "image";
  volume["volume_size"] = std::to_string(*request.volume_size);
  return volume;
}

Json create_json(const ServerRequest& request) {
  Json server;
  server["name"] = request.name;
  server["imageRef"] = request.volume_size ? std::string() : request.image_id;
  server["flavorRef"] = request.flavor_id;
  server["min_count"] = 1;
  server["max_count"] = 1;
  if (request.key_name) server["key_name"] = *request.key_name;
  if (request.az) server["availability_zone"] = *request.az;
  for (const std::string& group : request.security_groups) {
    server["security_groups"].push_back({{"name", group}});
  }
  if (request.userdata) server["user_data"] = cloud::base64(*request.userdata);
  if (request.config_drive) server["config_drive"] = true;
  for (const std::string& network : request.network_ids) {
    server["networks"].push_back({{"uuid", network}});
  }
  if (request.network_ids.empty() && needs_networks(request.microversion)) {
    server["networks"] = "auto";
  }
  for (const auto& [key, value] : request.metadata) server["metadata"][key] = value;
  if (request.volume_size) {
    server["block_device_mapping_v2"] = Json::array({boot_volume(request)});
  }
  Json body;
  body["server"] = std::move(server);
  return body;
}

ServerAddresses read_addresses(const Element& server) {
  ServerAddresses addresses;
  for (const auto& [network, entries] : server.lists("addresses")) {
    std::vector<ServerAddress> found;
    for (const Element& entry : entries) {
      found.push_back({.address = entry.text("addr"),
                       .version = static_cast<int>(entry.integer("version")),
                       .type = entry.text_or("OS-EXT-IPS:type"),
                       .mac = entry.text_or("OS-EXT-IPS-MAC:mac_addr")});
    }
    addresses.emplace_back(network, std::move(found));
  }
  return addresses;
}

}  // namespace

std::string create_body(const ServerRequest& request) {
  return create_json(request).dump();
}

Server read_server(const Element& element) {
  Server server;
  server.id = element.text("id");
  server.status = element.text("status");
  server.task = element.text_or("OS-EXT-STS:task_state");
  if (const auto flavor = element.optional_object("flavor")) {
    server.flavor_id = flavor->text_or("id");
  }
  server.host_id = element.text_or("hostId");
  server.az = element.text_or("OS-EXT-AZ:availability_zone");
  server.access_ipv4 = element.text_or("accessIPv4");
  server.access_ipv6 = element.text_or("accessIPv6");
  if (const auto fault = element.optional_object("fault")) server.fault = fault->text_or("message");
  server.metadata = element.texts("metadata");
  server.addresses = read_addresses(element);
  for (const Element& volume : element.list("os-extended-volumes:volumes_attached")) {
    server.volumes.push_back(volume.text("id"));
  }
  return server;
}

async::Task<std::string> Compute::create(ServerRequest request) {
  ServiceCall call{.name = "create server", .method = "POST", .path = "/servers"};
  call.body = create_json(request);
  if (!request.microversion.empty()) {
    call.headers.emplace_back("OpenStack-API-Version", "compute " + request.microversion);
    call.headers.emplace_back("X-OpenStack-Nova-API-Version", request.microversion);
  }
  const auto read_id = [](const Element& answer) { return answer.object("server").text("id"); };
  co_return co_await service_.make(std::move(call), read_id);
}

async::Task<> Compute::remove(std::string server_id) {
  ServiceCall call{.name = "delete server",
                   .about = server_id,
                   .method = "DELETE",
                   .path = "/servers/" + cloud::url_text(server_id)};
  co_await service_.send(std::move(call));
}

async::Task<std::vector<Server>> Compute::servers() {
  return service_.list("list servers", "/servers/detail", "servers", read_server);
}

async::Task<bool> Compute::is_gone(std::string server_id) {
  ServiceCall call{
      .name = "get server", .about = server_id, .path = "/servers/" + cloud::url_text(server_id)};
  const auto answer = co_await driver::if_exists(service_.ask(std::move(call)));
  co_return !answer || read_server(answer->object("server")).is_deleted();
}

async::Task<std::vector<Flavor>> Compute::flavors() {
  const auto read = [](const Element& element) {
    return Flavor{.id = element.text("id"),
                  .name = element.text("name"),
                  .ram = element.number("ram"),
                  .vcpus = element.number("vcpus")};
  };
  std::vector<Flavor> flavors =
      co_await service_.list("list flavors", "/flavors/detail", "flavors", read);
  std::ranges::sort(flavors, {}, [](const Flavor& flavor) {
    return std::tuple<double, const std::string&>(flavor.ram, flavor.name);
  });
  co_return flavors;
}

async::Task<std::vector<std::string>> Compute::zones() {
  std::vector<std::string> zones;
  try {
    ServiceCall call{.name = "list availability zones", .path = "/os-availability-zone"};
    const Element answer = co_await service_.ask(std::move(call));
    for (const Element& zone : answer.list("availabilityZoneInfo")) {
      if (zone.object("zoneState").boolean_or("available", false)) {
        zones.push_back(zone.text("zoneName"));
      }
    }
  } catch (const CloudError& error) {
    // Clouds, or proxies before them, may forbid or lack this call.
    const bool is_inaccessible = error.kind() == CloudError::Kind::permanent ||
                                 error.kind() == CloudError::Kind::not_found ||
                                 error.code() == kForeign;
    if (!is_inaccessible) throw;
  }
  co_return zones;
}

async::Task<driver::Limits> Compute::limits() {
  ServiceCall call{.name = "get limits", .path = "/limits"};
  const Element answer = co_await service_.ask(std::move(call));
  const Element absolute = answer.object("limits").object("absolute");
  co_return read_limits(
      absolute,
      {{"maxTotalInstances", "instances"}, {"maxTotalCores", "cores"}, {"maxTotalRAMSize", "ram"}});
}

async::Task<std::string> Compute::console_log(std::string server_id) {
  ServiceCall call{.name = "get console log",
                   .about = server_id,
                   .method = "POST",
                   .path = "/servers/" + cloud::url_text(server_id) + "/action"};
  call.body["os-getConsoleOutput"] = Json::object();
  const Element answer = co_await service_.ask(std::move(call));
  co_return answer.text("output");
}

}  // namespace nodepool::drivers::openstack
