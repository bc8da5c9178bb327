#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "async/random.h"
#include "async/task.h"

// Draws from a seeded generator.
namespace nodepool::simulation {

inline bool chance(async::Random& random, double probability) {
  return random.fraction() < probability;
}

// A number from `least` to `most`, both included.
inline std::int64_t between(async::Random& random, std::int64_t least, std::int64_t most) {
  return least +
         static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most - least) + 1));
}

inline async::Duration seconds_between(async::Random& random, double least, double most) {
  const std::chrono::duration<double> seconds(least + (most - least) * random.fraction());
  return std::chrono::duration_cast<async::Duration>(seconds);
}

template <typename T>
const T& pick(async::Random& random, const std::vector<T>& choices) {
  return choices[random.below(choices.size())];
}

}  // namespace nodepool::simulation
