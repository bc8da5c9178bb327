#include "page/row_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "json/json.h"

namespace nodepool::page {

namespace {

bool is_plain(char c) {
  return c >= ' ' && c < '\x7f' && c != '"' && c != '\\';
}

}  // namespace

void append_json_text(std::string& to, std::string_view text) {
  if (std::ranges::all_of(text, is_plain)) {
    to.append("\"").append(text).append("\"");
    return;
  }
  // No escaping of "</script>": rows are never embedded in HTML.
  to += json::to_text(text);
}

void RowText::begin(std::string_view key) {
  if (!empty()) text_ += ',';
  text_.append("\"").append(key).append("\":");
}

RowText& RowText::text(std::string_view key, std::string_view value) {
  if (value.empty()) return *this;
  begin(key);
  append_json_text(text_, value);
  return *this;
}

RowText& RowText::number(std::string_view key, double value) {
  if (!std::isfinite(value)) return *this;
  begin(key);
  fmt::format_to(std::back_inserter(text_), "{}", value);
  return *this;
}

RowText& RowText::time(std::string_view key, double seconds) {
  if (!std::isfinite(seconds)) return *this;
  begin(key);
  fmt::format_to(std::back_inserter(text_), "{:.2f}", seconds);
  return *this;
}

RowText& RowText::truth(std::string_view key, bool value) {
  if (!value) return *this;
  begin(key);
  text_ += "true";
  return *this;
}

RowText& RowText::texts(std::string_view key, const std::vector<std::string>& values) {
  if (values.empty()) return *this;
  begin(key);
  text_ += '[';
  for (const std::string& value : values) {
    if (&value != &values.front()) text_ += ',';
    append_json_text(text_, value);
  }
  text_ += ']';
  return *this;
}

RowText& RowText::json(std::string_view key, const model::Json& value) {
  if (value.is_null()) return *this;
  begin(key);
  text_ += value.text;
  return *this;
}

RowText& RowText::object(std::string_view key, const RowText& value) {
  if (value.empty()) return *this;
  begin(key);
  text_ += value.str();
  return *this;
}

RowText& RowText::objects(std::string_view key, const std::vector<RowText>& values) {
  if (values.empty()) return *this;
  begin(key);
  text_ += '[';
  for (const RowText& value : values) {
    if (&value != &values.front()) text_ += ',';
    text_ += value.str();
  }
  text_ += ']';
  return *this;
}

}  // namespace nodepool::page
