#pragma once

#include <cstddef>
#include <functional>

namespace nodepool::test_support {

// What has been allocated with `new`, by this program and the libraries that it uses. A program
// that is linked with this has its own operator new.
struct Allocations {
  std::size_t count = 0;  // of calls
  std::size_t most = 0;   // bytes that were held at one time, beyond what was held before
};

// Of `work`, and of all threads meanwhile. Not to be nested.
Allocations allocations_of(const std::function<void()>& work);

}  // namespace nodepool::test_support
