#pragma once

#include <functional>
#include <string>

#include "async/runtime.h"
#include "coordination/store.h"
#include "model/node_table.h"

namespace nodepool::model {

enum class NodeChange {
  written,
  unchanged,  // `change` found nothing to do
  locked,     // somebody else has the node
  gone,       // there is no such node
  outdated,   // what the change was decided upon has changed
};

// Changes a node that nobody has: locks it, reads its record, and if `change` returns true writes
// what it has made of it and unlocks it, in one transaction. `proof`: checks of what the change was
// decided upon, in the same transaction. Leaves no lock behind. Two commits. Throws StoreError if
// the store fails, RecordError if the record cannot be understood.
async::Task<NodeChange> change_node(async::Runtime runtime, coordination::Store& store,
                                    NodeTable& nodes, std::string id,
                                    std::function<bool(Node&)> change,
                                    coordination::Transaction proof = {});

}  // namespace nodepool::model
