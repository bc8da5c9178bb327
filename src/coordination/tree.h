#pragma once

#include <string>

#include "coordination/store.h"

namespace nodepool::coordination {

// Creates `path` and its missing parents as empty persistent nodes.
Task<> ensure_path(Store& store, std::string path);

// Removes `path` and everything below it, children first; nothing if it does not exist.
Task<> remove_tree(Store& store, std::string path);

}  // namespace nodepool::coordination
