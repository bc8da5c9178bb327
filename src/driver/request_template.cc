#include "driver/request_template.h"

#include <charconv>
#include <stdexcept>

#include "json/json.h"

namespace nodepool::driver {

namespace {

using json::Json;

[[noreturn]] void fail(std::string_view field, std::string_view problem) {
  throw std::invalid_argument("{" + std::string(field) + "}: " + std::string(problem));
}

template <typename T>
Json optional_json(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

// Null if the text exceeds the limits: it is a part of a record, which has others.
Json parsed(std::string_view text) {
  try {
    return json::parse(text);
  } catch (const json::ParseError&) {
    return {};
  }
}

Json attribute(std::string_view field, std::string_view name, const model::NodeRequest& request) {
  if (name == "id") return request.id;
  if (name == "labels") return request.node_types;
  if (name == "requestor") return optional_json(request.requestor);
  if (name == "requestor_data") return parsed(request.requestor_data.text);
  if (name == "relative_priority") return request.relative_priority;
  if (name == "event_id") return optional_json(request.event_id);
  if (name == "created_time") return optional_json(request.created_time);
  if (name == "tenant_name") return optional_json(request.tenant_name);
  fail(field, "requests have no `" + std::string(name) + "`");
}

Json item(std::string_view field, const Json& of, std::string_view key) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
  const bool is_index = error == std::errc() && end == key.data() + key.size();
  if (of.is_array() && is_index && index < of.size()) return of[index];
  if (of.is_object()) {
    if (const auto found = of.find(key); found != of.end()) return *found;
  }
  fail(field, "no item `" + std::string(key) + "`");
}

// The value as Python's str() prints it; inside of lists and objects, as repr().
std::string text_of(const Json& value, bool is_inside = false) {
  if (value.is_null()) return "None";
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_string()) {
    return is_inside ? "'" + value.get<std::string>() + "'" : value.get<std::string>();
  }
  if (!value.is_structured()) return value.dump();
  std::string text;
  for (const auto& [key, entry] : value.items()) {
    if (!text.empty()) text += ", ";
    if (value.is_object()) text += "'" + key + "': ";
    text += text_of(entry, true);
  }
  return value.is_array() ? "[" + text + "]" : "{" + text + "}";
}

// "[[fill]align][width]", align being one of <, > and ^.
std::string aligned(std::string_view field, std::string text, std::string_view format) {
  const std::string_view whole = format;
  char fill = ' ';
  char align = '<';
  const auto is_alignment = [](char c) { return c == '<' || c == '>' || c == '^'; };
  if (format.size() > 1 && is_alignment(format[1])) {
    fill = format[0];
    align = format[1];
    format.remove_prefix(2);
  } else if (!format.empty() && is_alignment(format[0])) {
    align = format[0];
    format.remove_prefix(1);
  }
  if (format.ends_with('s')) format.remove_suffix(1);
  std::size_t width = 0;
  const auto [end, error] = std::from_chars(format.data(), format.data() + format.size(), width);
  constexpr std::size_t kWidest = 1000;
  if (end != format.data() + format.size() || width > kWidest) {
    fail(field, "the format `" + std::string(whole) + "` is not supported");
  }
  if (text.size() >= width) return text;
  const std::size_t missing = width - text.size();
  const std::size_t before = align == '<' ? 0 : align == '>' ? missing : missing / 2;
  return std::string(before, fill) + text + std::string(missing - before, fill);
}

std::string value_of(std::string_view field, const model::NodeRequest& request) {
  constexpr std::string_view kPrefix = "request.";
  std::string_view path = field.substr(0, field.find(':'));
  const std::string_view format =
      path.size() == field.size() ? std::string_view() : field.substr(path.size() + 1);
  if (!path.starts_with(kPrefix)) fail(field, "must begin with `request.`");
  path.remove_prefix(kPrefix.size());
  const std::string_view name = path.substr(0, path.find('['));
  path.remove_prefix(name.size());
  Json value = attribute(field, name, request);
  while (!path.empty()) {
    const std::size_t close = path.find(']');
    if (path.front() != '[' || close == std::string_view::npos) fail(field, "syntax error");
    value = item(field, value, path.substr(1, close - 1));
    path.remove_prefix(close + 1);
  }
  return aligned(field, text_of(value), format);
}

}  // namespace

std::string fill_in(std::string_view text, const model::NodeRequest& request) {
  std::string result;
  while (!text.empty()) {
    const char first = text.front();
    if (first != '{' && first != '}') {
      const std::size_t count = std::min(text.find_first_of("{}"), text.size());
      result += text.substr(0, count);
      text.remove_prefix(count);
    } else if (text.size() > 1 && text[1] == first) {
      result += first;
      text.remove_prefix(2);
    } else {
      const std::size_t close = text.find('}');
      if (first == '}' || close == std::string_view::npos) {
        throw std::invalid_argument("unmatched brace in: " + std::string(text));
      }
      result += value_of(text.substr(1, close - 1), request);
      text.remove_prefix(close + 1);
    }
  }
  return result;
}

}  // namespace nodepool::driver
