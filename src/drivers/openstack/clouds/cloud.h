#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nodepool::drivers::openstack {

// What clouds.yaml says of a network. Absent flags are false.
struct NetworkRole {
  std::string name;                // or id
  bool routes_externally = false;  // IPv4 addresses on it can be reached from outside
  bool nat_source = false;         // floating IPs come from it
  bool nat_destination = false;    // floating IPs lead to it
  bool default_interface = false;  // its address is the one to use

  friend bool operator==(const NetworkRole&, const NetworkRole&) = default;
};

// One entry of clouds.yaml with everything that goes over and under it. Reference: openstacksdk,
// "Configuring OpenStack SDK Applications".
struct Cloud {
  using Texts = std::map<std::string, std::string, std::less<>>;

  std::string name;
  std::string file;  // where it was found, for messages; empty: the environment

  std::string auth_type = "password";
  Texts auth;  // auth_url, username, password, …; holds secrets: never to be logged

  std::string region;  // empty: the catalog's first
  std::string interface = "public";
  // By service ("compute", "network", "image", "volume", "identity"): instead of the catalog's.
  Texts endpoints;
  Texts interfaces;
  std::string compute_microversion;  // for creating servers; empty: none

  bool verify = true;
  std::string cacert;  // PEM file; empty: the system's
  std::string cert;    // of the client
  std::string key;

  std::string image_format = "qcow2";
  bool image_api_use_tasks = false;
  Texts image_properties;  // disable_vendor_agent: for every uploaded image
  bool has_floating_ips = true;
  bool is_private = false;  // machines are reached by their private address
  bool force_ipv4 = false;
  bool use_external_network = true;
  bool use_internal_network = true;
  std::vector<NetworkRole> networks;

  // A value of `auth`; empty if it is not there.
  std::string_view auth_value(std::string_view name) const;

  friend bool operator==(const Cloud&, const Cloud&) = default;
};

}  // namespace nodepool::drivers::openstack
