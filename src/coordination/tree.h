#pragma once

#include <string>
#include <vector>

#include "coordination/store.h"

namespace nodepool::coordination {

// Creates `path` and its missing parents as empty persistent nodes.
Task<> ensure_path(Store& store, std::string path);

// As Store::commit(), but should the parent of something that is created be missing, makes it and
// commits again: somebody may have removed what everything else lives in.
Task<std::vector<OperationResult>> commit_with_parents(Store& store, Transaction transaction);

// Removes `path` and everything below it, children first; nothing if it does not exist.
Task<> remove_tree(Store& store, std::string path);

}  // namespace nodepool::coordination
