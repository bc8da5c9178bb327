#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "model/node.h"

namespace nodepool::drivers::static_nodes {

// The assignment of a host's node records to its slots.
struct SlotPlan {
  std::vector<std::int64_t> missing;  // slots without a record
  std::vector<std::string> placed;    // ids of the records with a slot
  std::vector<std::string> surplus;   // ids of the records without a slot
  // The placed records that are assigned another slot than their own: id -> slot.
  std::map<std::string, std::int64_t, std::less<>> moved;

  bool is_missing(std::int64_t slot) const;
};

// Whether a record can be placed: not while its node is being made or deleted.
bool is_placeable(const model::Node& node);

// Assigns slots: a record keeps its slot number unless an earlier record has it; the others fill
// the free slots. A record that is being deleted is neither placed nor surplus, but its slot is not
// missing until it is gone: its provider replaces it with a new record.
SlotPlan plan_slots(std::int64_t slots, const std::vector<const model::Node*>& nodes);

}  // namespace nodepool::drivers::static_nodes
