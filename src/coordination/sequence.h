#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "coordination/store.h"

// The numbers of sequential children, which a store counts for each parent.
namespace nodepool::coordination {

// The digits that a store appends to the name of a sequential child, padded with zeros.
inline constexpr std::size_t kSequenceDigits = 10;

// The number of the next child of `parent`. Consumes it: creates and removes a child. Throws
// StoreError (no_node).
Task<std::int64_t> next_sequence(Store& store, std::string parent);

// Advances the numbering of new children of `parent` to `number` or higher. The time is
// proportional to the numbers that are skipped. Throws StoreError (no_node).
Task<> advance_sequence(Store& store, std::string parent, std::int64_t number);

}  // namespace nodepool::coordination
