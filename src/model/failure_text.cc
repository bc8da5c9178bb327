#include "model/failure_text.h"

namespace nodepool::model {

namespace {

constexpr std::string_view kLeftOut = " … ";

bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

// Includes control characters, as a reason may come from anywhere.
bool is_gap(char c) {
  const auto code = static_cast<unsigned char>(c);
  return code <= 0x20 || code == 0x7f;
}

std::string one_line(std::string_view text) {
  std::string line;
  bool gap = false;
  for (const char c : text) {
    if (is_gap(c)) {
      gap = !line.empty();
      continue;
    }
    if (gap) line += ' ';
    gap = false;
    line += c;
  }
  return line;
}

}  // namespace

std::string failure_text(std::string_view reason) {
  std::string line = one_line(reason);
  if (line.size() <= kLongestFailure) return line;
  std::size_t begin = (kLongestFailure - kLeftOut.size()) / 2;
  std::size_t end = line.size() - begin;
  while (begin > 0 && continues_character(line[begin])) --begin;
  while (end < line.size() && continues_character(line[end])) ++end;
  return line.replace(begin, end - begin, kLeftOut);
}

}  // namespace nodepool::model
