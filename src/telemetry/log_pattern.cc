#include "telemetry/log_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>

#include "telemetry/sanitized_text.h"

namespace nodepool::telemetry {

namespace {

using Align = FieldSpec::Align;

constexpr int kMaxWidth = 200;          // also of the precision
constexpr std::size_t kMaxField = 100;  // bytes of a field in the format

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Takes a number from the front of the text; 0 if there is none.
int take_number(std::string_view& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc::result_out_of_range ? kMaxWidth : std::clamp(number, 0, kMaxWidth);
}

// Takes "-08.3f", or "<8.3f", from the front of the text.
FieldSpec take_spec(std::string_view& text, Align usual) {
  FieldSpec spec{.align = usual};
  for (; !text.empty() && std::string_view("-+ #<>=^0").contains(text.front());
       text.remove_prefix(1)) {
    if (text.front() == '-' || text.front() == '<') spec.align = Align::left;
    if (text.front() == '>') spec.align = Align::right;
    if (text.front() == '0') spec.has_zeros = true;
  }
  spec.width = static_cast<std::size_t>(take_number(text));
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    spec.precision = take_number(text);
  }
  if (!text.empty() && is_letter(text.front())) {
    spec.type = text.front();
    text.remove_prefix(1);
  }
  return spec;
}

// The functions below take a field, or an escaped character, from the front of a format. Nothing if
// it does not begin with one.

std::optional<PatternPiece> take_percent(std::string_view& format) {
  if (format.starts_with("%%")) {
    format.remove_prefix(2);
    return PatternPiece{.text = "%"};
  }
  const std::size_t end = format.substr(0, kMaxField).find(')');
  if (!format.starts_with("%(") || end == std::string_view::npos) return std::nullopt;
  PatternPiece piece{.text = std::string(format.substr(2, end - 2)), .is_field = true};
  format.remove_prefix(end + 1);
  piece.spec = take_spec(format, Align::right);
  return piece;
}

std::optional<PatternPiece> take_brace(std::string_view& format) {
  if (format.starts_with("{{") || format.starts_with("}}")) {
    const std::string brace(1, format.front());
    format.remove_prefix(2);
    return PatternPiece{.text = brace};
  }
  const std::size_t end = format.substr(0, kMaxField).find('}');
  if (!format.starts_with('{') || end == std::string_view::npos) return std::nullopt;
  std::string_view field = format.substr(1, end - 1);
  format.remove_prefix(end + 1);
  PatternPiece piece{.text = std::string(field.substr(0, field.find_first_of(":!"))),
                     .is_field = true};
  if (const std::size_t colon = field.find(':'); colon != std::string_view::npos) {
    field.remove_prefix(colon + 1);
    piece.spec = take_spec(field, Align::by_type);
  }
  return piece;
}

std::optional<PatternPiece> take_dollar(std::string_view& format) {
  if (format.starts_with("$$")) {
    format.remove_prefix(2);
    return PatternPiece{.text = "$"};
  }
  if (!format.starts_with('$')) return std::nullopt;
  const bool is_braced = format.starts_with("${");
  const std::string_view rest = format.substr(is_braced ? 2 : 1);
  const auto size =
      static_cast<std::size_t>(std::ranges::find_if_not(rest, is_letter) - rest.begin());
  if (size == 0 || (is_braced && !rest.substr(size).starts_with('}'))) return std::nullopt;
  format = rest.substr(size + (is_braced ? 1 : 0));
  return PatternPiece{.text = std::string(rest.substr(0, size)), .is_field = true};
}

std::string shortened(std::string_view text, int precision) {
  if (precision < 0 || text.size() <= static_cast<std::size_t>(precision)) return std::string(text);
  text = text.substr(0, static_cast<std::size_t>(precision));
  return std::string(text.substr(0, text.size() - unfinished_character(text)));
}

double number_in(const LogField& field) {
  const auto* const integer = std::get_if<std::int64_t>(&field);
  return integer == nullptr ? std::get<double>(field) : static_cast<double>(*integer);
}

std::string number_text(double number, const FieldSpec& spec) {
  constexpr int kUsualPrecision = 6;
  if (spec.type == 'd' || spec.type == 'i')
    return fmt::format("{}", static_cast<std::int64_t>(number));
  if (spec.type != 'f') return fmt::format("{}", number);
  return fmt::format("{:.{}f}", number, spec.precision < 0 ? kUsualPrecision : spec.precision);
}

}  // namespace

std::vector<PatternPiece> parse_pattern(std::string_view format, char style) {
  const auto take = style == '{' ? &take_brace : style == '$' ? &take_dollar : &take_percent;
  std::vector<PatternPiece> pieces(1);
  while (!format.empty()) {
    if (std::optional<PatternPiece> piece = take(format)) {
      pieces.push_back(std::move(*piece));
      continue;
    }
    if (pieces.back().is_field) pieces.emplace_back();
    pieces.back().text += format.front();
    format.remove_prefix(1);
  }
  return pieces;
}

std::string formatted(const LogField& field, const FieldSpec& spec) {
  const auto* const text = std::get_if<std::string>(&field);
  std::string result =
      text != nullptr ? shortened(*text, spec.precision) : number_text(number_in(field), spec);
  if (result.size() >= spec.width) return result;
  const std::size_t missing = spec.width - result.size();
  if (spec.align == Align::left || (spec.align == Align::by_type && text != nullptr)) {
    return result.append(missing, ' ');
  }
  return result.insert(0, missing, spec.has_zeros && text == nullptr ? '0' : ' ');
}

}  // namespace nodepool::telemetry
