#pragma once

#include <string>
#include <vector>

#include "async/task.h"

namespace nodepool::drivers::openstack {

class Service;

struct Network {
  std::string id;
  std::string name;
  bool is_external = false;  // router:external
  bool is_physical = false;  // provider:physical_network is set (administrators see it)
};

struct Subnet {
  std::string network_id;
  bool has_gateway = false;
};

struct Port {
  std::string id;
  std::string network_id = {};
  std::string device_owner = {};
  std::string created_at = {};
  std::vector<std::string> addresses = {};  // in the port's order
};

struct FloatingIp {
  std::string id;
  std::string address;
  std::string fixed_address;
  std::string port_id;    // empty: attached to nothing
  std::string device_id;  // of the port: the server; empty: the cloud does not say
  std::string status;     // "ACTIVE", "DOWN", "ERROR"
};

// The Network API. Every function throws CloudError.
class NetworkApi {
 public:
  explicit NetworkApi(Service& service) : service_(service) {}

  async::Task<std::vector<Network>> networks();
  async::Task<std::vector<Subnet>> subnets();
  async::Task<std::vector<Port>> ports_of(std::string server_id);
  async::Task<std::vector<Port>> down_ports();
  async::Task<> remove_port(std::string id);  // also if it is not there

  async::Task<std::vector<FloatingIp>> floating_ips();
  async::Task<std::vector<FloatingIp>> floating_ips_of(std::string port_id);
  async::Task<FloatingIp> create_floating_ip(std::string network_id, std::string port_id,
                                             std::string fixed_address);
  async::Task<> remove_floating_ip(std::string id);  // also if it is not there

 private:
  Service& service_;
};

}  // namespace nodepool::drivers::openstack
