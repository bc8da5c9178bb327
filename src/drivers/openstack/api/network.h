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
  bool is_physical = false;  // provider:physical_network is set (visible to administrators)
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
  std::string port_id;    // empty: not attached
  std::string device_id;  // the port's server; empty: unknown
  std::string status;     // "ACTIVE", "DOWN", "ERROR"
};

// The Network API. All functions throw CloudError.
class NetworkApi {
 public:
  explicit NetworkApi(Service& service) : service_(service) {}

  async::Task<std::vector<Network>> networks();
  async::Task<std::vector<Subnet>> subnets();
  async::Task<std::vector<Port>> ports_of(std::string server_id);
  async::Task<std::vector<Port>> down_ports();
  async::Task<> remove_port(std::string id);  // succeeds if it does not exist

  async::Task<std::vector<FloatingIp>> floating_ips();
  async::Task<std::vector<FloatingIp>> floating_ips_of(std::string port_id);
  async::Task<FloatingIp> create_floating_ip(std::string network_id, std::string port_id,
                                             std::string fixed_address);
  async::Task<> remove_floating_ip(std::string id);  // succeeds if it does not exist

 private:
  Service& service_;
};

}  // namespace nodepool::drivers::openstack
