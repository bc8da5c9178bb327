// A target under libFuzzer.

#include <cstddef>
#include <cstdint>
#include <functional>

#include "tests/fuzz/growth.h"
#include "tests/fuzz/target.h"

namespace {

constexpr std::size_t kGrown = 256 << 10;  // bytes
constexpr std::size_t kOneOf = 128;        // inputs is grown: that takes as long as many others

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace nodepool;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  fuzz::read(input);
  // The choice is the input's own, so that a finding can be repeated.
  const std::size_t chance = std::hash<std::string_view>()(input);
  if (chance % kOneOf != 0) return 0;
  const auto pieces = fuzz::pieces_of(input, 16);
  if (pieces.empty()) return 0;
  const fuzz::Piece piece = pieces[chance / kOneOf % pieces.size()];
  fuzz::require_linear(input, piece, kGrown, chance / kOneOf / pieces.size() % 2 == 0);
  return 0;
}
