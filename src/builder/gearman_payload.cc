#include "builder/gearman_payload.h"

#include <fmt/format.h>

#include <stdexcept>

#include "json/json.h"

namespace nodepool::builder {

namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

json::Json parse_payload(std::string_view text) {
  try {
    json::Json object = json::parse(text);
    if (object.is_object()) return object;
  } catch (const json::ParseError&) {
    // Reported below.
  }
  throw std::runtime_error("the payload is not valid JSON");
}

}  // namespace

std::string parameter(std::string_view payload, std::initializer_list<const char*> keys) {
  const std::string_view text = trimmed(payload);
  if (!text.starts_with('{')) return std::string(text);
  const json::Json object = parse_payload(text);
  for (const char* key : keys) {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) continue;
    if (!found->is_string()) {
      throw std::runtime_error(fmt::format("`{}` in the payload is not a string", key));
    }
    return found->get<std::string>();
  }
  return {};
}

}  // namespace nodepool::builder
