#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "coordination/store.h"

// The numbers that sequential children get, which a store counts for each parent.
namespace nodepool::coordination {

// Digits that a store puts behind the name of a sequential child, filled up with zeros.
inline constexpr std::size_t kSequenceDigits = 10;

// The number that a new child of `parent` gets; it is used up by asking: a child is made and
// removed. Throws StoreError (no_node).
Task<std::int64_t> next_sequence(Store& store, std::string parent);

// Has new children of `parent` numbered from `number` on, or higher. Takes time in proportion to
// the numbers that are skipped. Throws StoreError (no_node).
Task<> advance_sequence(Store& store, std::string parent, std::int64_t number);

}  // namespace nodepool::coordination
