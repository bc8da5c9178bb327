#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "driver/images.h"
#include "model/node.h"

// The records of backing nodes. They contain the complete state, so that a restart loses nothing,
// and are compatible with the Python Nodepool.
namespace nodepool::drivers::metastatic {

// The name of a provider as requestor, and as holder of its backing nodes' locks.
std::string owner_of(std::string_view provider);

// A node on a backing node.
struct Tenant {
  std::string external_id;    // of the node's record
  driver::Metadata metadata;  // owner tags

  friend bool operator==(const Tenant&, const Tenant&) = default;
};

// The state of a backing node: mainly its `user_data`, a text that contains JSON.
//
//   {"owner": "NodePool:metastatic:shares", "label": "small", "slots": 4, "failed": false,
//    "launched": 1700000000.5,
//    "used": 1700000100.5, "nodes": {"0": {"id": "0000000012", "metadata": {…}}}}
//
// The Python Nodepool drops the last two when it writes the record. Then the slots are known from
// the nodes' own records.
struct BackingRecord {
  std::string owner;
  std::string label;  // of the nodes on it
  std::int64_t slots = 1;
  bool failed = false;                     // gets no more nodes
  std::string end;                         // why its machine has ended; empty: not known to have
  double launched = 0;                     // when it was requested, seconds since the epoch
  std::optional<double> used;              // when a node last came or went
  std::map<std::int64_t, Tenant> tenants;  // by slot

  friend bool operator==(const BackingRecord&, const BackingRecord&) = default;
};

// Reads the record. One whose machine has ended counts as failed. Returns nothing if the node is
// not in use, or the `user_data` is not this owner's.
std::optional<BackingRecord> backing_record_of(const model::Node& node, std::string_view owner);

model::Json to_user_data(const BackingRecord& record);

// The lowest slot that is free in both `record` and `occupied`; nothing if there is none.
std::optional<std::int64_t> free_slot(const BackingRecord& record,
                                      const std::set<std::int64_t>& occupied);

// A slot of a backing node.
struct Slot {
  std::string backing_node;
  std::int64_t slot = 0;

  friend auto operator<=>(const Slot&, const Slot&) = default;
};

// Formats and parses "0000000012:3". Returns nothing for other text.
std::string to_string(const Slot& slot);
std::optional<Slot> parse_slot(std::string_view text);

// The slot in the node's record; nothing if there is none.
std::optional<Slot> slot_of(const model::Node& node);

// The `driver_data` of a node in this slot.
model::Json driver_data(const Slot& slot, std::string_view node_id,
                        const driver::Metadata& metadata);

}  // namespace nodepool::drivers::metastatic
