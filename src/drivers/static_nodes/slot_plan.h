#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "model/node.h"

namespace nodepool::drivers::static_nodes {

// How the node records of one host fit its slots.
struct SlotPlan {
  std::vector<std::int64_t> missing;  // slots that no record stands for
  std::vector<std::string> placed;    // ids of the records that stand for a slot
  std::vector<std::string> surplus;   // ids of the records beyond the slots
  // The placed ones that stand for another slot than they say: id -> slot.
  std::map<std::string, std::int64_t, std::less<>> moved;

  bool is_missing(std::int64_t slot) const;
};

// A record with a slot number keeps it if nobody before it has it; the others fill what is left.
// A record that is on its way out is neither placed nor surplus, but nobody else gets its slot
// until it is gone: its provider puts a new record in its place.
SlotPlan plan_slots(std::int64_t slots, const std::vector<const model::Node*>& nodes);

}  // namespace nodepool::drivers::static_nodes
