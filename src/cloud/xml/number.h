#pragma once

namespace nodepool::cloud {

// Whether a number in a response is valid: not negative, no NaN, and below 2^53, so that a double
// holds it exactly.
constexpr bool is_plausible(double number) {
  return number >= 0 && number < 9007199254740992.0;
}

}  // namespace nodepool::cloud
