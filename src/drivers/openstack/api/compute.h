#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "async/task.h"
#include "cloud/element.h"
#include "driver/images.h"
#include "driver/resources.h"

namespace nodepool::drivers::openstack {

class Service;

// One address of a server.
struct ServerAddress {
  std::string address;
  int version = 4;
  std::string type;  // "fixed", "floating"; empty: unknown
  std::string mac;

  friend bool operator==(const ServerAddress&, const ServerAddress&) = default;
};

// By the name of the network, in the cloud's order.
using ServerAddresses = std::vector<std::pair<std::string, std::vector<ServerAddress>>>;

struct Server {
  std::string id;
  std::string status;     // "BUILD", "ACTIVE", "ERROR", "DELETED", …
  std::string task;       // task in progress: "deleting", …; empty: none
  std::string flavor_id;  // empty: unknown
  std::string host_id;
  std::string az;
  std::string access_ipv4;
  std::string access_ipv6;
  std::string fault;  // reason for ERROR
  driver::Metadata metadata;
  ServerAddresses addresses;
  std::vector<std::string> volumes;  // ids of the attached ones

  // Whether it is gone. Some clouds keep a deleted server for a while, so that it can be restored.
  bool is_deleted() const { return status == "DELETED" || status == "SOFT_DELETED"; }
  // Whether it is gone, or Nova is deleting it: its status is still ACTIVE, BUILD or ERROR then.
  bool is_going() const { return is_deleted() || task == "deleting" || task == "soft-deleting"; }
};

struct Flavor {
  std::string id;
  std::string name;
  double ram = 0;  // MiB
  double vcpus = 0;

  friend bool operator==(const Flavor&, const Flavor&) = default;
};

// The parameters of a new server.
struct ServerRequest {
  std::string name;
  std::string image_id;
  std::string flavor_id;
  std::optional<std::int64_t> volume_size;  // GB: boot from a volume made from the image
  std::optional<std::string> key_name;
  std::optional<std::string> az;
  std::vector<std::string> security_groups;
  std::vector<std::string> network_ids;  // empty: the cloud chooses
  std::optional<std::string> userdata;
  bool config_drive = false;
  driver::Metadata metadata;
  std::string microversion;  // empty: none
};

// The Compute API. All functions throw CloudError.
class Compute {
 public:
  explicit Compute(Service& service) : service_(service) {}

  // Returns the server's id; the server is not ACTIVE yet.
  async::Task<std::string> create(ServerRequest request);
  async::Task<> remove(std::string server_id);       // not_found: it does not exist
  async::Task<std::vector<Server>> servers();        // of the project
  async::Task<bool> is_gone(std::string server_id);  // reads the server itself
  async::Task<std::vector<Flavor>> flavors();        // by memory, then by name
  async::Task<std::vector<std::string>> zones();     // available ones; empty if not accessible
  async::Task<driver::Limits> limits();              // of the project
  async::Task<std::string> console_log(std::string server_id);

 private:
  Service& service_;
};

// For tests: the body of a create call, and the parser of a server in a response.
std::string create_body(const ServerRequest& request);
Server read_server(const cloud::Element& element);

}  // namespace nodepool::drivers::openstack
