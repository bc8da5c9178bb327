#pragma once

#include <algorithm>

namespace nodepool::drivers::aws {

// Whether a number from AWS is valid: not negative, no NaN, and below 2^53, so that a double holds
// it exactly.
constexpr bool is_plausible(double number) {
  return number >= 0 && number < 9007199254740992.0;
}

// Clamps the lifetime of keys or a token, in seconds, to one year.
constexpr double plausible_life(double seconds) {
  return std::clamp(seconds, 0.0, 365.0 * 24 * 3600);
}

}  // namespace nodepool::drivers::aws
