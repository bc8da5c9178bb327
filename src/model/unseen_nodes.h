#pragma once

#include <string>

#include "async/runtime.h"
#include "coordination/store.h"
#include "model/node_table.h"

namespace nodepool::model {

// Takes the records of all nodes with ids below `before` into the table that it has never had:
// their events may still be on the way. With the id of an own record, the table then has every node
// that was made earlier, whoever made it. `before` empty: all nodes. Which ids it has been done
// for, the table remembers; that it knows a newer node does not say that it knows the older ones,
// because own writes, and reads after a failure, come out of turn. Throws StoreError, RecordError.
async::Task<> read_unseen_nodes(async::Runtime runtime, coordination::Store& store,
                                NodeTable& nodes, std::string before);

// The newest id in the table; empty if there is none.
std::string newest_id(const NodeTable& nodes);

}  // namespace nodepool::model
