#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "coordination/store.h"

namespace nodepool::coordination {

// Selects paths.
using PathPredicate = std::function<bool(std::string_view path)>;

// The first ephemeral node at or below `root`, a sign that a process is active there; nothing if
// there is none, or no `root`. Throws StoreError.
Task<std::optional<std::string>> find_ephemeral(Store& store, std::string root);

// Copies `root` and its descendants to another store and returns the number of nodes copied.
// Creates missing parents. Does not copy ephemeral nodes and those that `skip` selects, with their
// descendants. Existing nodes stay, and a path that both stores have is an error.
//
// Children created later get higher sequence numbers than any in the original, below parents that
// `numbered` selects and below those with a sequential child. To find the next number, a child is
// created and removed in both stores.
//
// No other process may change either tree meanwhile. If this throws (StoreError), a part has been
// copied.
Task<std::size_t> copy_tree(Store& from, Store& to, std::string root, PathPredicate skip,
                            PathPredicate numbered);

}  // namespace nodepool::coordination
