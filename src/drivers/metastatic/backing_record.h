#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "driver/images.h"
#include "model/node.h"

// What the records say of backing nodes. All that has to be known to go on after a restart is in
// them, and the Python Nodepool reads them as its own.
namespace nodepool::drivers::metastatic {

// Who a provider is as a requestor, and as the holder of its backing nodes' locks.
std::string owner_of(std::string_view provider);

// A node that is on a backing node.
struct Tenant {
  std::string external_id;    // of the node's record
  driver::Metadata metadata;  // whose it is

  friend bool operator==(const Tenant&, const Tenant&) = default;
};

// The `user_data` of a backing node: a text that is JSON again.
//
//   {"owner": "NodePool:metastatic:shares", "label": "small", "slots": 4, "failed": false,
//    "launched": 1700000000.5,
//    "used": 1700000100.5, "nodes": {"0": {"id": "0000000012", "metadata": {…}}}}
//
// The Python Nodepool does not know the last two, and drops them when it writes the record: then
// the nodes' own records say where they are.
struct BackingRecord {
  std::string owner;
  std::string label;  // of the nodes on it
  std::int64_t slots = 1;
  bool failed = false;                     // it gets no more nodes
  double launched = 0;                     // when it was asked for, seconds since the epoch
  std::optional<double> used;              // when a node last came or went
  std::map<std::int64_t, Tenant> tenants;  // by slot

  friend bool operator==(const BackingRecord&, const BackingRecord&) = default;
};

// Nothing if the node is not in use, or the `user_data` is none of this owner's.
std::optional<BackingRecord> backing_record_of(const model::Node& node, std::string_view owner);

model::Json to_user_data(const BackingRecord& record);

// The lowest slot that is neither in `record` nor in `occupied`; nothing if there is none.
std::optional<std::int64_t> free_slot(const BackingRecord& record,
                                      const std::set<std::int64_t>& occupied);

// A place on a backing node.
struct Slot {
  std::string backing_node;
  std::int64_t slot = 0;

  friend auto operator<=>(const Slot&, const Slot&) = default;
};

// "0000000012:3", and back. Nothing if it is none.
std::string to_string(const Slot& place);
std::optional<Slot> parse_place(std::string_view text);

// Where the node's record says that it is. Nothing if it says nothing.
std::optional<Slot> place_of(const model::Node& node);

// The `driver_data` of a node that is there.
model::Json driver_data(const Slot& place, std::string_view node_id,
                        const driver::Metadata& metadata);

}  // namespace nodepool::drivers::metastatic
