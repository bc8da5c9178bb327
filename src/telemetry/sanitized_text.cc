#include "telemetry/sanitized_text.h"

#include <algorithm>
#include <cstddef>

namespace nodepool::telemetry {

namespace {

bool continues(char c) {
  return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U;
}

// The length of a UTF-8 character that begins with this byte; 0 if none does.
std::size_t character_size(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xc2) return 0;
  if (lead < 0xe0) return 2;
  if (lead < 0xf0) return 3;
  return lead < 0xf5 ? 4 : 0;
}

// Whether the text begins with a complete character of this size.
bool begins_with_character(std::string_view text, std::size_t size) {
  return size > 0 && size <= text.size() &&
         std::ranges::all_of(text.substr(1, size - 1), continues);
}

// U+0000 to U+001F, U+007F to U+009F.
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character.front());
  if (character.size() == 1) return first < 0x20 || first == 0x7f;
  return first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
}

// "\x1b".
void append_escape(std::string& text, char c) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  text.append("\\x");
  text += kDigits[byte >> 4U];
  text += kDigits[byte & 15U];
}

// Escapes control characters other than these.
std::string sanitized_but(std::string_view kept, std::string_view text) {
  std::string harmless;
  harmless.reserve(text.size());
  while (!text.empty()) {
    const std::size_t size = character_size(static_cast<unsigned char>(text.front()));
    if (!begins_with_character(text, size)) {
      append_escape(harmless, text.front());
      text.remove_prefix(1);
      continue;
    }
    const std::string_view character = text.substr(0, size);
    if (is_control(character) && !kept.contains(character)) {
      append_escape(harmless, character.back());  // of U+009B, the second byte is 0x9b
    } else {
      harmless.append(character);
    }
    text.remove_prefix(size);
  }
  return harmless;
}

}  // namespace

std::string sanitized_text(std::string_view text) {
  return sanitized_but("\n\t", text);
}

std::string sanitized_line(std::string_view text) {
  return sanitized_but("", text);
}

std::size_t unfinished_character(std::string_view text) {
  for (std::size_t length = 1; length <= std::min<std::size_t>(3, text.size()); ++length) {
    const char lead = text[text.size() - length];
    if (continues(lead)) continue;
    return character_size(static_cast<unsigned char>(lead)) > length ? length : 0;
  }
  return 0;
}

}  // namespace nodepool::telemetry
