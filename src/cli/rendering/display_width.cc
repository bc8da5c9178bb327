#include <algorithm>
#include <array>
#include <cstdint>

#include "cli/rendering/table_text.h"

namespace nodepool::cli {

namespace {

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

// Both in ascending order. Characters of East Asian scripts, their punctuation and full-width
// forms, and pictographs.
constexpr std::array kWide{
    Range{0x1100, 0x115f},   Range{0x2e80, 0x303e},   Range{0x3041, 0x33ff},
    Range{0x3400, 0x4dbf},   Range{0x4e00, 0x9fff},   Range{0xa000, 0xa4cf},
    Range{0xa960, 0xa97c},   Range{0xac00, 0xd7a3},   Range{0xf900, 0xfaff},
    Range{0xfe30, 0xfe6f},   Range{0xff00, 0xff60},   Range{0xffe0, 0xffe6},
    Range{0x1f300, 0x1f64f}, Range{0x1f680, 0x1f6ff}, Range{0x1f900, 0x1f9ff},
    Range{0x20000, 0x3fffd}};

// Marks that are drawn over the character before them, joiners, variation selectors.
constexpr std::array kCombining{Range{0x0300, 0x036f}, Range{0x0483, 0x0489}, Range{0x0591, 0x05bd},
                                Range{0x064b, 0x065f}, Range{0x093c, 0x093c}, Range{0x1ab0, 0x1aff},
                                Range{0x1dc0, 0x1dff}, Range{0x200b, 0x200f}, Range{0x20d0, 0x20ff},
                                Range{0x302a, 0x302d}, Range{0x3099, 0x309a}, Range{0xfe00, 0xfe0f},
                                Range{0xfe20, 0xfe2f}};

template <std::size_t size>
bool contains(const std::array<Range, size>& ranges, std::uint32_t character) {
  const auto* range = std::ranges::lower_bound(ranges, character, {}, &Range::last);
  return range != ranges.end() && range->first <= character;
}

// Takes one character off the front of the text; a byte that is no UTF-8 counts as one.
std::uint32_t take_character(std::string_view& text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t size = lead < 0x80   ? 1
                           : lead < 0xc0 ? 1
                           : lead < 0xe0 ? 2
                           : lead < 0xf0 ? 3
                                         : 4;
  if (size == 1 || size > text.size()) {
    text.remove_prefix(1);
    return lead < 0x80 ? lead : '?';
  }
  std::uint32_t character = lead & (0x7fU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    character = (character << 6U) | (static_cast<unsigned char>(text[i]) & 0x3fU);
  }
  text.remove_prefix(size);
  return character;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const std::uint32_t character = take_character(text);
    if (contains(kCombining, character)) continue;
    width += contains(kWide, character) ? 2 : 1;
  }
  return width;
}

}  // namespace nodepool::cli
