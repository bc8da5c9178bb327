// The targets' own means: a check that cannot fail is none.

#include "tests/fuzz/growth.h"

#include <gmock/gmock.h>

#include <string>

#include "tests/fuzz/target.h"

namespace nodepool::fuzz {

// Looks at each byte once if the first is 'l'; if it is 'c', at each triple of every 256th byte.
// The cube makes the difference so large that a machine which slows down between two measurements
// does not hide it.
void read(std::string_view input) {
  constexpr std::size_t kStep = 256;
  volatile std::size_t sum = 0;
  for (const char c : input) sum = sum + static_cast<unsigned char>(c);
  if (input.starts_with('l')) return;
  for (std::size_t i = 0; i < input.size(); i += kStep) {
    for (std::size_t j = 0; j < i; j += kStep) {
      for (std::size_t k = 0; k < j; k += kStep) sum = sum + 1;
    }
  }
}

namespace {

using testing::ElementsAre;
using testing::SizeIs;

constexpr std::size_t kSize = 256 << 10;  // bytes

std::string text_of(std::string_view input, const Piece& piece) {
  return std::string(input.substr(piece.begin, piece.size));
}

void require_linear_from(std::string_view input) {
  const Piece piece{.begin = 1, .size = input.size() - 1};
  require_linear(input, piece, kSize, false, time_of(grown(input, piece, kSize, false)));
}

TEST(Growth, distinguishes_cubic_from_linear_readers) {
  EXPECT_DEATH(require_linear_from("cubic"),
               "does not hold: time grows in proportion to the input");
  require_linear_from("linear");
}

TEST(Growth, repeats_parts_between_separators) {
  constexpr std::string_view kInput = "{\"a\":1,\"b\":2}";
  std::vector<std::string> pieces;
  for (const Piece& piece : pieces_of(kInput, 4)) pieces.push_back(text_of(kInput, piece));
  EXPECT_THAT(pieces, ElementsAre(kInput, "{", "\"a\":1,"));
  EXPECT_THAT(pieces_of("", 4), SizeIs(0));
}

TEST(Growth, copies_are_alike_or_numbered) {
  EXPECT_EQ(grown("[x,y]", {.begin = 1, .size = 2}, 8, false), "[x,x,x,x,y]");
  EXPECT_EQ(grown("[x,y]", {.begin = 1, .size = 2}, 8, true), "[x0,x1,x2,y]");
}

}  // namespace
}  // namespace nodepool::fuzz
