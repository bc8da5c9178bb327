#pragma once

#include <cstddef>
#include <functional>

namespace nodepool::test_support {

// Counts allocations with `new` by a program and its libraries. Linking this library replaces
// operator new.
struct Allocations {
  std::size_t count = 0;  // calls
  std::size_t most = 0;   // peak of allocated bytes, relative to the start
};

// The allocations during `work`, by all threads. Must not be nested.
Allocations allocations_of(const std::function<void()>& work);

}  // namespace nodepool::test_support
