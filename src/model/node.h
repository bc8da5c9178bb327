#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordination/store.h"
#include "model/record.h"
#include "model/shared_text.h"

namespace nodepool::model {

enum class NodeState {
  init,      // record made, nothing started
  building,  // being launched
  testing,   // of old versions; never written
  ready,
  in_use,
  used,  // released by its requestor
  hold,  // kept for inspection
  failed,
  aborted,  // refused by the cloud's quota; replaced within its request
  deleting,
  deleted,  // the record is about to be removed
};

// "in-use" for NodeState::in_use.
std::string_view to_string(NodeState state);
std::optional<NodeState> parse_node_state(std::string_view text);

inline constexpr NodeState kAllNodeStates[] = {
    NodeState::init,    NodeState::building, NodeState::testing, NodeState::ready,
    NodeState::in_use,  NodeState::used,     NodeState::hold,    NodeState::failed,
    NodeState::aborted, NodeState::deleting, NodeState::deleted};

// Whether an unlocked node in this state is to be reclaimed: its launcher died during the launch,
// or its requestor released it.
bool is_reclaimable(NodeState state);

// Whether a node in this state is about to be deleted: nothing hands it out. The node of a failed
// launch keeps its request until its machine is deleted, but has no part in another launch for it.
bool is_discarded(NodeState state);

// A machine, or a slot of one: /nodepool/nodes/<id>. Field names are the record's keys, with '_'
// for '-'; an absent optional is null in the record. Times are seconds since the epoch.
struct Node {
  std::string id;           // ten digits; not part of the record
  coordination::Stat stat;  // of the last known version of the record; not part of it

  NodeState state = NodeState::init;
  double state_time = 0;
  SharedText cloud;
  SharedText provider;
  SharedText pool;
  std::vector<std::string> type;  // labels; the first is "the" label
  SharedText allocated_to;        // request id
  SharedText az;
  SharedText region;
  SharedText public_ipv4;
  SharedText private_ipv4;
  SharedText public_ipv6;
  SharedText host_id;
  SharedText interface_ip;
  Json connection_port{"22"};  // a number, or an object of credentials (kubernetes, openshift)
  SharedText image_id;
  SharedText launcher;  // pool component id
  std::optional<double> created_time;
  Json external_id;  // a string, or an object for some clouds
  SharedText hostname;
  SharedText comment;
  Json user_data;  // belongs to the requestor
  SharedText hold_job;
  std::vector<std::string> host_keys;  // "<type> <base64>"
  SharedText username{"zuul"};
  SharedText connection_type;
  SharedText shell_type;
  std::optional<std::int64_t> hold_expiration;  // seconds; 0 means never
  Json resources;
  std::optional<std::int64_t> slot;
  Json attributes;
  SharedText python_path;
  SharedText tenant_name;
  Json driver_data;
  SharedText requestor;
  Json node_properties{"{}"};
  Json launch_journal;  // progress of the launch, during it; not known to the Python Nodepool
  UnknownKeys unknown;

  // Sets the state, and its time to `now` even if the state is unchanged.
  void set_state(NodeState new_state, double now) {
    state = new_state;
    state_time = now;
  }

  bool has_label(std::string_view label) const;

  // The string in external_id, or the JSON text of another value; empty for null.
  std::string external_id_text() const;

  // The port. Returns nothing if connection_port is not a number.
  std::optional<int> port() const;
};

// Parses the record of node `id`. Throws RecordError.
Node parse_node(std::string id, const coordination::Entry& entry);

// The same for a record whose state may be unknown: one of a newer release. It becomes `deleting`.
Node parse_node_in_any_state(std::string id, const coordination::Entry& entry);

// The record's text: every known key, nulls included, then the unknown ones.
std::string to_record(const Node& node);

// A JSON string: "a" -> "\"a\"".
Json json_string(std::string_view text);

}  // namespace nodepool::model
