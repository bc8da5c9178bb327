#include "drivers/openstack/api/network.h"

#include "cloud/url_text.h"
#include "drivers/openstack/api/service.h"

namespace nodepool::drivers::openstack {

namespace {

Network read_network(const Element& element) {
  return {.id = element.text("id"),
          .name = element.text_or("name"),
          .is_external = element.boolean_or("router:external", false),
          .is_physical = !element.text_or("provider:physical_network").empty()};
}

Subnet read_subnet(const Element& element) {
  return {.network_id = element.text("network_id"),
          .has_gateway = !element.text_or("gateway_ip").empty()};
}

Port read_port(const Element& element) {
  Port port{.id = element.text("id"),
            .network_id = element.text_or("network_id"),
            .device_owner = element.text_or("device_owner"),
            .created_at = element.text_or("created_at"),
            .addresses = {}};
  for (const Element& address : element.list("fixed_ips")) {
    port.addresses.push_back(address.text("ip_address"));
  }
  return port;
}

FloatingIp read_floating_ip(const Element& element) {
  const auto port = element.optional_object("port_details");
  return {.id = element.text("id"),
          .address = element.text("floating_ip_address"),
          .fixed_address = element.text_or("fixed_ip_address"),
          .port_id = element.text_or("port_id"),
          .device_id = port ? port->text_or("device_id") : std::string(),
          .status = element.text_or("status")};
}

}  // namespace

async::Task<std::vector<Network>> NetworkApi::networks() {
  return service_.list("list networks", "/networks", "networks", read_network);
}

async::Task<std::vector<Subnet>> NetworkApi::subnets() {
  return service_.list("list subnets", "/subnets", "subnets", read_subnet);
}

async::Task<std::vector<Port>> NetworkApi::ports_of(std::string server_id) {
  co_return co_await service_.list(
      "list ports of server", "/ports?device_id=" + cloud::url_text(server_id), "ports", read_port);
}

async::Task<std::vector<Port>> NetworkApi::down_ports() {
  return service_.list("list ports", "/ports?status=DOWN", "ports", read_port);
}

async::Task<> NetworkApi::remove_port(std::string id) {
  ServiceCall call{.name = "delete port",
                   .about = id,
                   .method = "DELETE",
                   .path = "/ports/" + cloud::url_text(id)};
  co_await service_.send_if_there(std::move(call));
}

async::Task<std::vector<FloatingIp>> NetworkApi::floating_ips() {
  return service_.list("list floating IPs", "/floatingips", "floatingips", read_floating_ip);
}

async::Task<std::vector<FloatingIp>> NetworkApi::floating_ips_of(std::string port_id) {
  co_return co_await service_.list("list floating IPs of port",
                                   "/floatingips?port_id=" + cloud::url_text(port_id),
                                   "floatingips", read_floating_ip);
}

async::Task<FloatingIp> NetworkApi::create_floating_ip(std::string network_id, std::string port_id,
                                                       std::string fixed_address) {
  ServiceCall call{.name = "create floating IP", .method = "POST", .path = "/floatingips"};
  Json& wanted = call.body["floatingip"];
  wanted["floating_network_id"] = network_id;
  wanted["port_id"] = port_id;
  wanted["fixed_ip_address"] = fixed_address;
  const auto read_made = [](const Element& answer) {
    return read_floating_ip(answer.object("floatingip"));
  };
  co_return co_await service_.make(std::move(call), read_made);
}

async::Task<> NetworkApi::remove_floating_ip(std::string id) {
  ServiceCall call{.name = "delete floating IP",
                   .about = id,
                   .method = "DELETE",
                   .path = "/floatingips/" + cloud::url_text(id)};
  co_await service_.send_if_there(std::move(call));
}

}  // namespace nodepool::drivers::openstack
