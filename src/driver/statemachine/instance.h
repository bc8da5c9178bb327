#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/images.h"
#include "driver/resources.h"
#include "model/record.h"

namespace nodepool::driver {

// How to connect to a node. Fields that are set override the label's settings.
struct ConnectionSettings {
  std::optional<std::string> type;
  // A number; or an object, such as the credentials of a cluster, if there is no host to connect
  // to. An object is copied to the node's record unchanged.
  model::Json port;  // null: the label's
  std::optional<std::string> username;
  std::optional<std::string> python_path;
  std::optional<std::string> shell_type;
  std::vector<std::string> host_keys;  // empty: those that the host key scan finds
};

// A machine in the cloud: the result of a launch, and an entry of a listing.
struct Instance {
  model::Json external_id;  // text, or an object if the cloud has several ids
  Metadata metadata;
  Resources resources;  // that it takes; empty: unknown

  // The address to connect to. Required unless `connection.port` is an object.
  std::optional<std::string> interface_ip;
  std::optional<std::string> public_ipv4;
  std::optional<std::string> public_ipv6;
  std::optional<std::string> private_ipv4;
  std::optional<std::string> private_ipv6;  // not recorded
  std::optional<std::string> cloud;
  std::optional<std::string> region;
  std::optional<std::string> az;
  std::optional<std::string> host_id;
  model::Json driver_data;
  std::optional<std::int64_t> slot;
  model::Json node_properties{"{}"};
  model::Json node_attributes;  // an object; the pool's node-attributes override its keys
  ConnectionSettings connection = {};
};

// Resource::type of a machine. Its Resource::id is its external id: as it is if that is text,
// otherwise as JSON.
inline constexpr std::string_view kInstanceResource = "instance";

// A resource in the cloud that may be a leak.
struct Resource {
  std::string type;  // kInstanceResource, "volume", …: for messages and metrics
  std::string id;    // for Adapter::remove_resource()
  Metadata metadata;
};

}  // namespace nodepool::driver
