#include "report/values.h"

#include <cmath>

#include "model/node.h"

namespace nodepool::report {

using model::Json;
using model::json_string;

Json json_of(const std::optional<std::string>& text) {
  return text ? json_string(*text) : Json{};
}

Json json_of(const model::SharedText& text) {
  return text ? json_string(*text) : Json{};
}

Json json_of(std::int64_t number) {
  return {std::to_string(number)};
}

Json age_in_seconds(double now, double then) {
  return json_of(static_cast<std::int64_t>(std::floor(now - then)));
}

Json json_of(const std::vector<std::string>& texts) {
  std::string list = "[";
  for (const std::string& text : texts) {
    if (list.size() > 1) list += ", ";
    list += json_string(text).text;
  }
  return {list + "]"};
}

}  // namespace nodepool::report
