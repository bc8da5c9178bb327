#pragma once

#include <functional>
#include <string>

#include "async/runtime.h"
#include "async/task.h"
#include "coordination/lock.h"
#include "coordination/store.h"
#include "model/node.h"
#include "model/node_table.h"

namespace nodepool::lifecycle {

using async::Task;

// A process that writes the records of nodes. The references outlive the calls.
struct NodeWriter {
  async::Runtime runtime;
  coordination::Store& store;
  model::NodeTable& nodes;  // updated with what is written
};

// Writes a node whose lock is held, in a transaction that proves it. Waits while the store is
// unreachable. Throws StoreError if the record has changed or the lock is lost; Cancelled.
Task<> save_locked(NodeWriter writer, model::Node& node, const coordination::Lock& lock);

// Takes an unlocked node out of service: sets it to `deleting` if `is_due`, called with its current
// record, returns true; it may comment the record. A launcher then reclaims the node. Returns
// whether it has done so. Throws StoreError, RecordError. The request API and the driver of static
// hosts use model::change_node() instead: they must tell a locked node, which is worth another
// attempt, from one that is gone or not due, and they may not use this module. The
// launcher does not use it where it holds the node's lock already (save_locked()), or where it
// frees a node for a request, whose version the same transaction must prove.
Task<bool> retire(NodeWriter writer, std::string id, std::function<bool(model::Node&)> is_due);

}  // namespace nodepool::lifecycle
