#include <utf8proc.h>

#include <algorithm>

#include "report/rendering/table_text.h"

namespace nodepool::report {

bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

std::size_t display_width(std::string_view text) {
  const bool is_narrow =
      std::ranges::all_of(text, [](char c) { return (c >= ' ' && c <= '~') || c == '\t'; });
  if (is_narrow) return text.size();
  std::size_t width = 0;
  while (!text.empty()) {
    utf8proc_int32_t character = 0;
    const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
    const auto size =
        utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size()), &character);
    const bool is_valid = size > 0;  // a byte that is no UTF-8 counts as a character
    const bool is_measured = is_valid && character != '\t';
    width += is_measured ? static_cast<std::size_t>(utf8proc_charwidth(character)) : 1;
    text.remove_prefix(is_valid ? static_cast<std::size_t>(size) : 1);
  }
  return width;
}

}  // namespace nodepool::report
