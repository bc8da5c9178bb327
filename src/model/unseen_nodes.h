#pragma once

#include <string>

#include "async/runtime.h"
#include "coordination/store.h"
#include "model/node_table.h"

namespace nodepool::model {

// Reads the records of all nodes with ids below `before` that the table has never had: their events
// may not have arrived yet. Given the id of an own record, the table then has all nodes that were
// created earlier. `before` empty: all nodes. The table remembers up to which id this was done. A
// newer node in the table does not imply the older ones, as own writes, and reads after a failure,
// arrive in any order. Throws StoreError, RecordError.
async::Task<> read_unseen_nodes(async::Runtime runtime, coordination::Store& store,
                                NodeTable& nodes, std::string before);

}  // namespace nodepool::model
