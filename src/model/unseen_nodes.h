#pragma once

#include <string>

#include "async/runtime.h"
#include "coordination/store.h"
#include "model/node_table.h"

namespace nodepool::model {

// Takes the records of nodes with ids between `after` and `before` (both exclusive) into the table,
// those that it does not have: their events may still be on the way. With `after` the newest id
// that the table had before an own record was made, and `before` the id of that record, the table
// then has every node that was made earlier, whoever made it. (Another record of this process that
// is made between the two has its own call, whose answers come before this one's: calls are made
// directly after the answer to the creation.) Throws StoreError, RecordError.
async::Task<> read_unseen_nodes(async::Runtime runtime, coordination::Store& store,
                                NodeTable& nodes, std::string after, std::string before);

// The newest id in the table; empty if there is none.
std::string newest_id(const NodeTable& nodes);

}  // namespace nodepool::model
