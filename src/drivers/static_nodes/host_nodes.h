#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drivers/static_nodes/slot_plan.h"
#include "model/node_table.h"

namespace nodepool::drivers::static_nodes {

// The node records of one host, indexed by slot: a host may have thousands. The owner passes on the
// changes of the table.
class HostNodes {
 public:
  // `table` outlives this. `slots` is the number of the host's slots.
  HostNodes(const model::NodeTable& table, std::int64_t slots) : table_(&table), slots_(slots) {}

  void add(const model::Node& node);
  void remove(const model::Node& node);

  // An unreadable record keeps its slot, as far as that is known, until it is forgotten.
  void keep_unreadable(const std::string& id) { unreadable_.insert(id); }
  void forget_unreadable(const std::string& id) { unreadable_.erase(id); }

  // The readable records by id. Valid until the next co_await.
  std::vector<const model::Node*> all() const;

  // The plan for all records, except the one with the id `without`. Takes time for each of them.
  SlotPlan plan(std::string_view without = {}) const;

  // Whether a change from or to this version of a record, which has been passed on, may have
  // changed the rest of the plan: what is missing, surplus or moved.
  bool affects_plan(const model::Node& node) const;

  // Whether no record has this slot. One that is to be moved to it does not count.
  bool is_vacant(std::int64_t slot) const;

  // Whether an earlier record has the same slot.
  bool is_later(const model::Node& node) const;

 private:
  std::vector<const model::Node*> with_slot(std::int64_t slot) const;

  const model::NodeTable* table_;
  std::int64_t slots_;
  std::set<std::pair<std::int64_t, std::string>> records_;  // slot and id
  std::set<std::string> unreadable_;  // ids of records that could not be read, perhaps still
};

}  // namespace nodepool::drivers::static_nodes
