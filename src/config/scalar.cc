#include "config/scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string>

namespace nodepool::config {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_digit_or_underscore(char c) {
  return is_digit(c) || c == '_';
}
bool is_sign(char c) {
  return c == '+' || c == '-';
}

// Consumes characters from the front of a text. PyYAML uses regular expressions, but std::regex is
// slow and recurses for each character of a hostile text.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  bool done() const { return rest_.empty(); }
  bool is_at(char wanted) const { return rest_.starts_with(wanted); }

  bool take(char wanted) {
    return take_if([wanted](char c) { return c == wanted; });
  }

  template <typename Predicate>
  bool take_if(Predicate wanted) {
    if (rest_.empty() || !wanted(rest_.front())) return false;
    rest_.remove_prefix(1);
    return true;
  }

  template <typename Predicate>
  int take_all(Predicate wanted) {
    int taken = 0;
    while (take_if(wanted)) ++taken;
    return taken;
  }

  // Between `least` and `most` digits.
  bool take_digits(int least, int most) {
    int taken = 0;
    while (taken < most && take_if(is_digit)) ++taken;
    return taken >= least;
  }

  // One or more `:` with a number below 60.
  bool take_sixtieths() {
    bool any = false;
    while (take(':')) {
      const bool may_be_tens = !rest_.empty() && rest_.front() <= '5';
      if (!take_digits(1, may_be_tens ? 2 : 1)) return false;
      any = true;
    }
    return any;
  }

  // An exponent, if there is one: in YAML 1.1 it has a sign.
  bool take_exponent() {
    if (!take('e') && !take('E')) return true;
    return take_if(is_sign) && take_all(is_digit) > 0;
  }

 private:
  std::string_view rest_;
};

bool is_one_of(std::string_view text, auto const& words) {
  return std::ranges::find(words, text) != std::end(words);
}

constexpr std::array<std::string_view, 9> kTrue = {"yes",  "Yes", "YES", "true", "True",
                                                   "TRUE", "on",  "On",  "ON"};
constexpr std::array<std::string_view, 9> kFalse = {"no",    "No",  "NO",  "false", "False",
                                                    "FALSE", "off", "Off", "OFF"};
constexpr std::array<std::string_view, 5> kNull = {"", "~", "null", "Null", "NULL"};
constexpr std::array<std::string_view, 3> kInfinity = {".inf", ".Inf", ".INF"};
constexpr std::array<std::string_view, 3> kNotANumber = {".nan", ".NaN", ".NAN"};

std::string without_underscores(std::string_view text) {
  std::string result(text);
  std::erase(result, '_');
  return result;
}

// Digits in a base up to 16. Returns nothing without digits, or if the number exceeds 63 bits.
std::optional<std::int64_t> whole_number(std::string_view digits, int base) {
  if (digits.starts_with('-')) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

// "1:30" is 90: digits to the base 60.
std::optional<std::int64_t> sexagesimal(std::string_view text) {
  std::int64_t number = 0;
  while (true) {
    const auto colon = text.find(':');
    const auto part = whole_number(text.substr(0, colon), 10);
    if (!part || __builtin_mul_overflow(number, 60, &number) ||
        __builtin_add_overflow(number, *part, &number)) {
      return std::nullopt;
    }
    if (colon == std::string_view::npos) return number;
    text.remove_prefix(colon + 1);
  }
}

bool is_sexagesimal(std::string_view text) {
  Cursor cursor(text);
  if (!cursor.take_if(is_digit)) return false;
  cursor.take_all(is_digit_or_underscore);
  return cursor.take_sixtieths() && cursor.done();
}

std::optional<std::int64_t> integer_of(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);

  std::optional<std::int64_t> number;
  if (text.starts_with("0b")) {
    number = whole_number(without_underscores(text.substr(2)), 2);
  } else if (text.starts_with("0x")) {
    number = whole_number(without_underscores(text.substr(2)), 16);
  } else if (text.starts_with('0') && text.size() > 1) {
    number = whole_number(without_underscores(text), 8);
  } else if (is_sexagesimal(text)) {
    number = sexagesimal(without_underscores(text));
  } else if (!text.starts_with('_')) {
    number = whole_number(without_underscores(text), 10);
  }
  if (number && negative) return -*number;
  return number;
}

double decimal(const std::string& digits) {
  double number = 0;
  const auto error = std::from_chars(digits.data(), digits.data() + digits.size(), number).ec;
  if (error == std::errc::result_out_of_range) {
    // Too small becomes zero, too large infinite, as in Python.
    return digits.contains("e-") || digits.contains("E-") ? 0.0
                                                          : std::numeric_limits<double>::infinity();
  }
  return number;
}

// "1:30.5" is 90.5.
double sexagesimal_decimal(std::string_view text) {
  double number = 0;
  while (true) {
    const auto colon = text.find(':');
    number = number * 60 + decimal(std::string(text.substr(0, colon)));
    if (colon == std::string_view::npos) return number;
    text.remove_prefix(colon + 1);
  }
}

std::optional<double> floating_of(std::string_view text) {
  if (is_one_of(text, kNotANumber)) return std::numeric_limits<double>::quiet_NaN();
  const bool has_sign = !text.empty() && is_sign(text.front());
  const double sign = text.starts_with('-') ? -1 : 1;
  if (has_sign) text.remove_prefix(1);
  if (is_one_of(text, kInfinity)) return sign * std::numeric_limits<double>::infinity();

  Cursor cursor(text);
  bool sixtieths = false;
  if (cursor.take_if(is_digit)) {
    cursor.take_all(is_digit_or_underscore);
    sixtieths = cursor.is_at(':');
    if (sixtieths && !cursor.take_sixtieths()) return std::nullopt;
    if (!cursor.take('.')) return std::nullopt;
    cursor.take_all(is_digit_or_underscore);
  } else {
    // ".5" takes no sign.
    if (has_sign || !cursor.take('.') || !cursor.take_if(is_digit)) return std::nullopt;
    cursor.take_all(is_digit_or_underscore);
  }
  if (!sixtieths && !cursor.take_exponent()) return std::nullopt;
  if (!cursor.done()) return std::nullopt;

  const std::string digits = without_underscores(text);
  return sign * (sixtieths ? sexagesimal_decimal(digits) : decimal(digits));
}

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

bool is_time(Cursor cursor) {
  if (!cursor.take_digits(1, 2) || !cursor.take(':') || !cursor.take_digits(2, 2) ||
      !cursor.take(':') || !cursor.take_digits(2, 2)) {
    return false;
  }
  if (cursor.take('.')) cursor.take_all(is_digit);
  if (cursor.done()) return true;
  cursor.take_all(is_blank);
  if (cursor.take('Z')) return cursor.done();
  if (!cursor.take_if(is_sign) || !cursor.take_digits(1, 2)) return false;
  return cursor.done() || (cursor.take(':') && cursor.take_digits(2, 2) && cursor.done());
}

bool is_date(std::string_view text) {
  Cursor cursor(text);
  if (!cursor.take_digits(4, 4) || !cursor.take('-') || !cursor.take_digits(1, 2) ||
      !cursor.take('-') || !cursor.take_digits(1, 2)) {
    return false;
  }
  // A date alone has two digits everywhere.
  if (cursor.done()) return text.size() == std::string_view("2024-01-01").size();
  if (cursor.take('T') || cursor.take('t')) return is_time(cursor);
  return cursor.take_all(is_blank) > 0 && is_time(cursor);
}

}  // namespace

Value resolve_plain_scalar(std::string_view text, Mark mark) {
  if (is_one_of(text, kNull)) return Value::null(mark);
  if (is_one_of(text, kTrue)) return Value::boolean(true, mark);
  if (is_one_of(text, kFalse)) return Value::boolean(false, mark);
  if (const auto number = integer_of(text)) return Value::integer(*number, mark);
  if (const auto number = floating_of(text)) return Value::floating(*number, mark);
  if (is_date(text)) return Value::date(std::string(text), mark);
  return Value::string(std::string(text), mark);
}

std::optional<Value> resolve_tagged_scalar(std::string_view tag, std::string_view text, Mark mark) {
  if (tag == "str") return Value::string(std::string(text), mark);
  if (tag == "null") return Value::null(mark);
  Value value = resolve_plain_scalar(text, mark);
  if (tag == "float" && value.kind() == Value::Kind::integer) {
    return Value::floating(static_cast<double>(value.as_integer()), mark);
  }
  const bool fits = (tag == "bool" && value.kind() == Value::Kind::boolean) ||
                    (tag == "int" && value.kind() == Value::Kind::integer) ||
                    (tag == "float" && value.kind() == Value::Kind::floating) ||
                    (tag == "timestamp" && value.kind() == Value::Kind::date);
  if (!fits) return std::nullopt;
  return value;
}

}  // namespace nodepool::config
