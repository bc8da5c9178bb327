#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "telemetry/log_record.h"

namespace nodepool::telemetry {

// How a field is written: the "-8.3f" of "%(msecs)-8.3f".
struct FieldSpec {
  enum class Align { left, right, by_type };  // by_type: text left, numbers right
  Align align = Align::right;
  bool has_zeros = false;  // before a number, up to the width
  std::size_t width = 0;   // at least, in bytes
  int precision = -1;      // digits after the point, or bytes of a text at most; -1: unlimited
  char type = 's';         // or 'd' or 'f', for numbers
};

// A part of the format of a line.
struct PatternPiece {
  std::string text;  // a literal, or the name of a field
  bool is_field = false;
  FieldSpec spec = {};
};

// The parts of a format of Python's logging, whose fields have the style '%', '{' or '$'. Text that
// is not a field is literal.
std::vector<PatternPiece> parse_pattern(std::string_view format, char style);

// The field as text.
std::string formatted(const LogField& field, const FieldSpec& spec);

}  // namespace nodepool::telemetry
