#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coordination/store.h"

namespace nodepool::coordination {

// Store::get(), or nothing if the node does not exist.
Task<std::optional<Entry>> find(Store& store, std::string path);

// Store::children(), or none if the node does not exist.
Task<std::vector<std::string>> find_children(Store& store, std::string path);

// Creates `path` and its missing parents as empty persistent nodes. Needs no permission to create
// nodes that exist.
Task<> ensure_path(Store& store, std::string path);

// Like Store::commit(), but creates missing parents of created nodes and retries.
Task<std::vector<OperationResult>> commit_with_parents(Store& store, Transaction transaction);

// Removes `path` and its descendants, children first. Does nothing if it does not exist.
Task<> remove_tree(Store& store, std::string path);

}  // namespace nodepool::coordination
