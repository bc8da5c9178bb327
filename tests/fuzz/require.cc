#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/target.h"

namespace nodepool::fuzz {

void require(bool holds, std::string_view promise) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %.*s\n", static_cast<int>(promise.size()), promise.data());
  std::abort();
}

}  // namespace nodepool::fuzz
