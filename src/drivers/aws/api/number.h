#pragma once

namespace nodepool::drivers::aws {

// Whether AWS may mean this number: not negative, and below 2^53, up to which a double holds every
// integer. Any other, and what is no number at all, is neither converted nor counted with.
constexpr bool is_plausible(double number) {
  return number >= 0 && number < 9007199254740992.0;
}

}  // namespace nodepool::drivers::aws
