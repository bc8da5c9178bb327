#pragma once

#include <string>
#include <vector>

#include "coordination/store.h"

namespace nodepool::coordination {

// Creates `path` and its missing parents as empty persistent nodes.
Task<> ensure_path(Store& store, std::string path);

// Like Store::commit(), but creates missing parents of created nodes and retries.
Task<std::vector<OperationResult>> commit_with_parents(Store& store, Transaction transaction);

// Removes `path` and its descendants, children first. Does nothing if it does not exist.
Task<> remove_tree(Store& store, std::string path);

}  // namespace nodepool::coordination
