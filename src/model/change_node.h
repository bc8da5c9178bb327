#pragma once

#include <functional>
#include <optional>
#include <string>

#include "async/runtime.h"
#include "coordination/store.h"
#include "model/node_table.h"

namespace nodepool::model {

// Reads a node from the store. Returns nothing if it does not exist or its record is empty, because
// a lock was taken below a record while that was being removed. Throws StoreError, RecordError.
async::Task<std::optional<Node>> read_node(coordination::Store& store, std::string id);

enum class NodeChange {
  written,
  unchanged,  // `change` found nothing to do
  locked,     // another process has locked the node
  gone,       // the node does not exist
  outdated,   // the record or a check of `proof` has changed
};

// Changes an unlocked node: locks it, reads its record and calls `change`. If that returns true,
// writes the record and unlocks the node in one transaction, together with `proof`: checks, and
// removals that belong to the change. Takes two commits, and leaves no lock behind. Throws
// StoreError if the store fails, RecordError if the record is invalid.
async::Task<NodeChange> change_node(async::Runtime runtime, coordination::Store& store,
                                    NodeTable& nodes, std::string id,
                                    std::function<bool(Node&)> change,
                                    coordination::Transaction proof = {});

}  // namespace nodepool::model
