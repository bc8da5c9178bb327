#pragma once

#include <algorithm>

namespace nodepool::drivers::aws {

// Whether AWS may mean this number: not negative, and below 2^53, up to which a double holds every
// integer. Any other, and what is no number at all, is neither converted nor counted with.
constexpr bool is_plausible(double number) {
  return number >= 0 && number < 9007199254740992.0;
}

// How many seconds keys or a token last of which AWS says that it is so many: at most a year, which
// any clock can count.
constexpr double plausible_life(double seconds) {
  return std::clamp(seconds, 0.0, 365.0 * 24 * 3600);
}

}  // namespace nodepool::drivers::aws
