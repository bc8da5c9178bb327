#include "config/environment.h"

#include <unistd.h>

#include <algorithm>

#include "config/problem.h"
#include "config/yaml.h"

namespace nodepool::config {

Environment process_environment() {
  Environment environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

std::string variable(const Environment& environment, std::string_view name) {
  const auto found = std::ranges::find(environment, name, &Environment::value_type::first);
  return found == environment.end() ? std::string() : found->second;
}

std::string expand_home(const std::string& path, const Environment& environment) {
  const std::string home = variable(environment, "HOME");
  const bool is_at_home = path == "~" || path.starts_with("~/");
  return is_at_home && !home.empty() ? home + path.substr(1) : path;
}

namespace {

std::string replace_all(std::string_view text, std::string_view token, std::string_view value,
                        std::string_view file) {
  std::string result;
  while (true) {
    const auto found = text.find(token);
    result += text.substr(0, found);
    if (found == std::string_view::npos) return result;
    result += value;
    text.remove_prefix(found + token.size());
    if (result.size() > kMaxFileSize) {
      throw ConfigError({.file = std::string(file),
                         .message = "replacing " + std::string(token) +
                                    " makes the text larger than " +
                                    std::to_string(kMaxFileSize >> 20) + " MiB"});
    }
  }
}

}  // namespace

std::string substitute(std::string text, const Environment& environment, std::string_view file) {
  for (const auto& [name, value] : environment) {
    if (!name.starts_with(kVariablePrefix)) continue;
    const std::string token = "%(" + name + ")";
    if (text.contains(token)) text = replace_all(text, token, value, file);
  }
  return text;
}

}  // namespace nodepool::config
