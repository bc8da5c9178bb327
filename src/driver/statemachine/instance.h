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

// Resource::type of a machine.
inline constexpr std::string_view kInstanceResource = "instance";

// A resource in the cloud that may be a leak.
struct Resource {
  std::string type;  // kInstanceResource, "volume", …: for messages and metrics
  std::string id;    // for Adapter::remove_resource()
  Metadata metadata;
  model::Json external_id = {};  // of a machine; null: it is none
  // Why it is a leak although it has no owner tags, as the end of a sentence: for what a cloud
  // leaves of deleted machines. Deleted when it is listed once. Empty: the owner tags decide.
  std::string leftover = {};
};

// A machine in a listing.
struct Machine : Instance {
  enum class State {
    building,  // being made, or booting
    running,   // its addresses are known
    stopped,   // exists, and may be started again
    failed,    // exists, and will never run
    deleting,  // still takes its resources
    deleted,   // still listed, but gone
  };

  State state = State::building;
  std::string explanation;  // why it does not run, as a sentence; empty: unknown

  // What it is called as a resource: see Resource. No id: its external id, as it is if that is
  // text, otherwise as JSON.
  std::string type = std::string(kInstanceResource);
  std::string id;

  // Whether it exists, and is not being deleted.
  bool is_there() const { return state != State::deleting && state != State::deleted; }
  Resource as_resource() const;
};

// All machines that a cloud lists.
struct MachineList {
  std::vector<Machine> machines;
  // Whether a machine that is missing does not exist. False if the cloud leaves machines out
  // without saying so, while a part of it is away.
  bool is_complete = true;
};

// The identifiers in an external id: the text, or all text values of an object. Empty for other
// values, which are ids of no machine.
std::vector<std::string> identifiers_in(const model::Json& external_id);

// Whether both external ids are of one machine: equal texts, objects that are equal in the keys
// that both have, or an object and the text of one of its values.
bool is_same_machine(const model::Json& left, const model::Json& right);

}  // namespace nodepool::driver
