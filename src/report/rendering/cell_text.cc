#include <algorithm>

#include "json/json.h"
#include "report/rendering/table_text.h"

namespace nodepool::report {

namespace {

using nlohmann::ordered_json;

// "\x1b" for a control character.
std::string escape(unsigned char c) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  return {'\\', 'x', kDigits[c >> 4], kDigits[c & 15]};
}

bool is_control(unsigned char c) {
  return c < 0x20 || c == 0x7f;
}

// Whether the UTF-8 text has one of the control characters U+0080 to U+009F at `index`.
bool is_c1_control(std::string_view text, std::size_t index) {
  return text[index] == '\xc2' && index + 1 < text.size() &&
         static_cast<unsigned char>(text[index + 1]) < 0xa0;
}

// Calls `each` with every byte, and `control` with every control character.
template <typename Each, typename Control>
void for_each_character(std::string_view text, Each each, Control control) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_c1_control(text, i)) {
      control(static_cast<unsigned char>(text[++i]));
    } else if (is_control(static_cast<unsigned char>(text[i]))) {
      control(static_cast<unsigned char>(text[i]));
    } else {
      each(text[i]);
    }
  }
}

std::string harmless(std::string_view text) {
  std::string result;
  for_each_character(
      text, [&](char c) { result += c; },
      [&](unsigned char c) {
        const bool is_kept = c == '\n' || c == '\t';
        result += is_kept ? std::string(1, static_cast<char>(c)) : escape(c);
      });
  return result;
}

std::string repr(std::string_view text) {
  const bool doubled = text.contains('\'') && !text.contains('"');
  const char quote = doubled ? '"' : '\'';
  std::string result(1, quote);
  const auto printable = [&](char c) {
    if (c == quote || c == '\\') result += '\\';
    result += c;
  };
  const auto control = [&](unsigned char c) {
    if (c == '\n') {
      result += "\\n";
    } else if (c == '\r') {
      result += "\\r";
    } else if (c == '\t') {
      result += "\\t";
    } else {
      result += escape(c);
    }
  };
  for_each_character(text, printable, control);
  return result + quote;
}

std::string repr(const ordered_json& value) {
  switch (value.type()) {
    case ordered_json::value_t::null:
      return "None";
    case ordered_json::value_t::boolean:
      return value.get<bool>() ? "True" : "False";
    case ordered_json::value_t::string:
      return repr(std::string_view(value.get_ref<const std::string&>()));
    case ordered_json::value_t::array: {
      std::string text = "[";
      for (const ordered_json& item : value) {
        if (text.size() > 1) text += ", ";
        text += repr(item);
      }
      return text + "]";
    }
    case ordered_json::value_t::object: {
      std::string text = "{";
      for (const auto& [key, item] : value.items()) {
        if (text.size() > 1) text += ", ";
        text += repr(std::string_view(key)) + ": " + repr(item);
      }
      return text + "}";
    }
    default:
      return value.dump();
  }
}

std::string text_of(const ordered_json& value) {
  if (value.is_null()) return {};
  if (value.is_string()) return harmless(value.get_ref<const std::string&>());
  return repr(value);
}

}  // namespace

std::string cell_text(const model::Json& value) {
  // Most are a plain text of plain characters.
  const std::string& json = value.text;
  const bool is_plain =
      json.size() >= 2 && json.front() == '"' &&
      std::ranges::all_of(json, [](char c) { return c >= ' ' && c <= '~' && c != '\\'; });
  if (is_plain) return json.substr(1, json.size() - 2);
  const ordered_json parsed = json::parse(value.text);
  if (!parsed.is_array()) return text_of(parsed);
  std::string text;
  for (std::size_t i = 0; i < parsed.size(); ++i) {
    if (i > 0) text += ',';
    text += text_of(parsed[i]);
  }
  return text;
}

}  // namespace nodepool::report
