#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/record.h"
#include "model/shared_text.h"

namespace nodepool::page {

// Appends a JSON string. Bytes that are not UTF-8 become U+FFFD.
void append_json_text(std::string& to, std::string_view text);

// Writes a JSON object key by key, without a tree of values: thousands are written at once. Empty
// strings and lists, null and false are left out.
class RowText {
 public:
  RowText& text(std::string_view key, std::string_view value);
  RowText& text(std::string_view key, const std::string& value) {
    return text(key, std::string_view(value));
  }
  RowText& text(std::string_view key, const std::optional<std::string>& value) {
    return value ? text(key, std::string_view(*value)) : *this;
  }
  RowText& text(std::string_view key, const model::SharedText& value) {
    return value ? text(key, std::string_view(*value)) : *this;
  }
  RowText& number(std::string_view key, double value);
  RowText& number(std::string_view key, const std::optional<double>& value) {
    return value ? number(key, *value) : *this;
  }
  // A time in seconds since the epoch, with two decimals.
  RowText& time(std::string_view key, double seconds);
  RowText& truth(std::string_view key, bool value);
  RowText& texts(std::string_view key, const std::vector<std::string>& values);
  RowText& json(std::string_view key, const model::Json& value);
  RowText& object(std::string_view key, const RowText& value);
  RowText& objects(std::string_view key, const std::vector<RowText>& values);

  bool empty() const { return text_.size() == 1; }
  std::string str() const { return text_ + "}"; }

 private:
  void begin(std::string_view key);

  std::string text_ = "{";
};

}  // namespace nodepool::page
