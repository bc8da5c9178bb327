#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nodepool::drivers::openstack {

// An entry of `networks` in clouds.yaml. Missing flags are false.
struct NetworkRole {
  std::string name;                // or id
  bool routes_externally = false;  // its IPv4 addresses are reachable from outside
  bool nat_source = false;         // source of floating IPs
  bool nat_destination = false;    // target of floating IPs
  bool default_interface = false;  // its address is used to connect

  friend bool operator==(const NetworkRole&, const NetworkRole&) = default;
};

// One entry of clouds.yaml, with all defaults and overrides. Source: openstacksdk, "Configuring
// OpenStack SDK Applications".
struct Cloud {
  using Texts = std::map<std::string, std::string, std::less<>>;

  std::string name;
  std::string file;  // for messages; empty: from the environment

  std::string auth_type = "password";
  Texts auth;  // auth_url, username, password, …; contains secrets: never log it

  std::string region;  // empty: the first one of the catalog
  std::string interface = "public";
  // Overrides of the catalog by service ("compute", "network", "image", "volume", "identity").
  Texts endpoints;
  Texts interfaces;
  std::string compute_microversion;  // for creating servers; empty: none

  bool verify = true;
  std::string cacert;  // see http::TransferOptions
  std::string cert;    // of the client
  std::string key;

  std::string image_format = "qcow2";
  bool image_api_use_tasks = false;
  Texts image_properties;   // disable_vendor_agent: for every uploaded image
  bool has_network = true;  // whether to use the Network service
  bool has_floating_ips = true;
  bool is_private = false;  // connect to servers by their private address
  bool force_ipv4 = false;
  bool use_external_network = true;
  bool use_internal_network = true;
  std::vector<NetworkRole> networks;

  // A value of `auth`; empty if missing.
  std::string_view auth_value(std::string_view name) const;

  friend bool operator==(const Cloud&, const Cloud&) = default;
};

}  // namespace nodepool::drivers::openstack
