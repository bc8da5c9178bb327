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

// How a node is connected to, where its machine says otherwise than its label.
struct Connection {
  std::optional<std::string> type;
  // A number; or an object where there is no host to connect to: credentials of a cluster, say. An
  // object reaches the node's record and nothing else.
  model::Json port;  // null: the label's
  std::optional<std::string> username;
  std::optional<std::string> python_path;
  std::optional<std::string> shell_type;
  std::vector<std::string> host_keys;  // empty: none are known but those that are scanned
};

// A machine in the cloud: what a launch results in, and what a listing shows.
struct Instance {
  model::Json external_id;  // text, or an object where the cloud has several
  Metadata metadata;
  Resources resources;  // what it takes; empty: not known

  // Where it is reached. Needed unless `connection.port` is an object.
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
  model::Json node_attributes;  // an object; the pool's go over them, key by key
  Connection connection = {};
};

// What a machine is called among the resources; its Resource::id is its external id: the text that
// it is, or the JSON of any other value.
inline constexpr std::string_view kInstanceResource = "instance";

// Something in the cloud that should go when nobody knows it any more.
struct Resource {
  std::string type;  // kInstanceResource, "volume", …: a word for messages and metrics
  std::string id;    // what the adapter deletes it by
  Metadata metadata;
};

}  // namespace nodepool::driver
