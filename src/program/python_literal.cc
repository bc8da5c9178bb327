#include "program/python_literal.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace nodepool::program {

namespace {

using config::Value;

constexpr int kMaxNesting = 20;

bool is_in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

class LiteralParser {
 public:
  explicit LiteralParser(std::string_view text) : text_(text) {}

  Value parse() {
    Value value = expression(0);
    if (!skip_blanks().empty()) refuse();
    return value;
  }

 private:
  [[noreturn]] static void refuse() {
    throw std::runtime_error("only literals, sys.stdout and sys.stderr are supported");
  }

  std::string_view skip_blanks() {
    text_.remove_prefix(std::min(text_.find_first_not_of(" \t\r\n"), text_.size()));
    return text_;
  }

  bool take(char c) {
    if (!skip_blanks().starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }

  Value expression(int depth);
  Value sequence(char end, int depth);
  Value dict(int depth);
  Value number();
  std::string strings();
  Value name();

  std::string_view text_;
};

Value LiteralParser::expression(int depth) {
  if (depth > kMaxNesting) refuse();
  if (take('(')) return sequence(')', depth + 1);
  if (take('[')) return sequence(']', depth + 1);
  if (take('{')) return dict(depth + 1);
  if (text_.empty()) refuse();
  const char first = text_.front();
  if (first == '\'' || first == '"') return Value::string(strings());
  if ((first >= '0' && first <= '9') || first == '-') return number();
  return name();
}

// After the bracket at its begin. In parentheses, a single value without a comma is that value.
Value LiteralParser::sequence(char end, int depth) {
  Value::List items;
  bool has_comma = end == ']';
  while (!take(end)) {
    items.push_back(expression(depth));
    if (take(',')) {
      has_comma = true;
    } else if (!skip_blanks().starts_with(end)) {
      refuse();
    }
  }
  if (items.size() == 1 && !has_comma) return std::move(items.front());
  return Value::list(std::move(items));
}

Value LiteralParser::dict(int depth) {
  Value::Mapping entries;
  while (!take('}')) {
    std::string key = expression(depth).text();
    if (!take(':')) refuse();
    entries.push_back({.key = std::move(key), .value = expression(depth)});
    if (!take(',') && !skip_blanks().starts_with('}')) refuse();
  }
  return Value::mapping(std::move(entries));
}

// Integers and their products: sizes are written as 10*1024*1024.
Value LiteralParser::number() {
  std::int64_t product = 1;
  do {
    skip_blanks();
    std::int64_t factor = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), factor);
    if (error != std::errc() || __builtin_mul_overflow(product, factor, &product)) refuse();
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
  } while (take('*'));
  return Value::integer(product);
}

// A string, with the strings that follow it.
std::string LiteralParser::strings() {
  std::string text;
  while (skip_blanks().starts_with('\'') || text_.starts_with('"')) {
    const char quote = text_.front();
    text_.remove_prefix(1);
    while (!text_.starts_with(quote)) {
      if (text_.starts_with('\\')) text_.remove_prefix(1);
      if (text_.empty()) refuse();
      text += text_.front();
      text_.remove_prefix(1);
    }
    text_.remove_prefix(1);
  }
  return text;
}

Value LiteralParser::name() {
  std::size_t size = 0;
  while (size < text_.size() && is_in_name(text_[size])) ++size;
  const std::string_view name = text_.substr(0, size);
  text_.remove_prefix(size);
  if (name == "None") return Value::null();
  if (name == "True" || name == "False") return Value::boolean(name == "True");
  if (name == "sys.stdout" || name == "sys.stderr")
    return Value::string("ext://" + std::string(name));
  refuse();
}

}  // namespace

Value parse_python_literal(std::string_view text) {
  return LiteralParser(text).parse();
}

}  // namespace nodepool::program
