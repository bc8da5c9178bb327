#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "coordination/store.h"

namespace nodepool::coordination {

// Says yes or no to a path.
using PathPredicate = std::function<bool(std::string_view path)>;

// The first ephemeral node at or below `root`, which tells that somebody is at work there; nothing
// if there is none, or no `root`. Throws StoreError.
Task<std::optional<std::string>> find_ephemeral(Store& store, std::string root);

// Copies `root` and all that is below it to another store, where missing parents are made, and
// returns how many nodes it has copied. Ephemeral nodes stay behind, and those that `skip` names,
// with all below them. What is there already stays, and a path that both have is an error.
//
// Children made later get higher sequence numbers than any the original has given, below the
// parents that `numbered` names and below those with a child that has such a number. To find out
// which is next, a child is made and removed in both stores.
//
// Nobody else may change either tree meanwhile. If this throws (StoreError), a part has been
// copied.
Task<std::size_t> copy_tree(Store& from, Store& to, std::string root, PathPredicate skip,
                            PathPredicate numbered);

}  // namespace nodepool::coordination
