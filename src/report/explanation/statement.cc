#include "report/explanation/statement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace nodepool::report {

bool is_visible(const MayName& may_name, const std::string& id) {
  return !may_name || may_name(id);
}

std::string request_title(const MayName& may_name, const std::string& id) {
  return is_visible(may_name, id) ? "request " + id : "another client's request";
}

std::string node_title(const MayName& may_name, const std::string& id) {
  return is_visible(may_name, id) ? "node " + id : "another client's node";
}

Statement& say(Statements& statements, std::string key, std::string text) {
  return statements.emplace_back(
      Statement{.key = std::move(key), .name = {}, .text = std::move(text)});
}

void say_of(Statements& statements, std::string key, std::string name, std::string text) {
  if (text.empty()) return;
  statements.push_back({.key = std::move(key), .name = std::move(name), .text = std::move(text)});
}

void say_of(Statements& statements, std::string key, std::string text) {
  std::string name = key;
  say_of(statements, std::move(key), std::move(name), std::move(text));
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::max(0.0, std::floor(seconds)));
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace nodepool::report
