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
  locked,     // another process has locked the node
  gone,       // the node does not exist
  outdated,   // the record or a check of `proof` has changed
};

// Changes an unlocked node: locks it, reads its record and calls `change`. If that returns true,
// writes the record and unlocks the node in one transaction, together with the checks in `proof`.
// Takes two commits, and leaves no lock behind. Throws StoreError if the store fails, RecordError
// if the record is invalid.
async::Task<NodeChange> change_node(async::Runtime runtime, coordination::Store& store,
                                    NodeTable& nodes, std::string id,
                                    std::function<bool(Node&)> change,
                                    coordination::Transaction proof = {});

}  // namespace nodepool::model
