#include "drivers/aws/account/profile_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "drivers/aws/account/account.h"

namespace nodepool::drivers::aws {

namespace {

constexpr std::size_t kMaxFileSize = std::size_t{1} << 20;  // bytes

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// Strips a comment, which begins with ` #` or ` ;`.
std::string_view without_comment(std::string_view value) {
  for (const std::string_view mark : {" #", " ;", "\t#", "\t;"}) {
    value = value.substr(0, value.find(mark));
  }
  return trimmed(value);
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return text;
}

std::string path_of(const config::Environment& environment, std::string_view name_variable,
                    std::string_view usual) {
  std::string path = config::variable(environment, name_variable);
  if (path.empty()) path = usual;
  path = config::expand_home(path, environment);
  return path.starts_with("~/") ? std::string() : path;
}

ProfileSections read_file(const std::string& path) {
  if (path.empty()) return {};
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  std::string text(kMaxFileSize + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (file.bad()) throw AccountError(path + ": cannot be read");
  if (text.size() > kMaxFileSize) throw AccountError(path + ": is too large");
  return parse_profiles(text, path);
}

}  // namespace

ProfileSections parse_profiles(std::string_view text, const std::string& name) {
  ProfileSections sections;
  ProfileKeys* section = nullptr;
  std::string block;  // the key of the indented lines
  std::size_t number = 0;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::string_view content = trimmed(line);
    if (content.empty() || content.front() == '#' || content.front() == ';') continue;
    const bool is_indented = line.front() == ' ' || line.front() == '\t';
    if (content.front() == '[' && !is_indented) {
      const std::size_t close = content.find(']');
      if (close == std::string_view::npos) {
        throw AccountError(
            fmt::format("{}:{}: missing `]` after the section's name", name, number));
      }
      section = &sections[std::string(trimmed(content.substr(1, close - 1)))];
      block.clear();
      continue;
    }
    const std::size_t equals = content.find_first_of("=:");
    if (section == nullptr) {
      throw AccountError(fmt::format("{}:{}: not in a section", name, number));
    }
    if (equals == std::string_view::npos) {
      if (is_indented) continue;  // continues an unused value
      throw AccountError(fmt::format("{}:{}: not `key = value`", name, number));
    }
    const std::string key = lower(std::string(trimmed(content.substr(0, equals))));
    const std::string value(without_comment(content.substr(equals + 1)));
    if (is_indented && !block.empty()) {
      (*section)[fmt::format("{}.{}", block, key)] = value;
      continue;
    }
    block = value.empty() ? key : std::string();
    (*section)[key] = value;
  }
  return sections;
}

std::string credentials_file(const config::Environment& environment) {
  return path_of(environment, "AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials");
}

std::string config_file(const config::Environment& environment) {
  return path_of(environment, "AWS_CONFIG_FILE", "~/.aws/config");
}

std::set<std::string> profile_file_names(const config::Environment& environment) {
  std::set<std::string> names = {credentials_file(environment), config_file(environment)};
  names.erase("");
  return names;
}

ProfileFiles read_profile_files(const config::Environment& environment) {
  ProfileFiles files;
  files.credentials = read_file(credentials_file(environment));
  for (auto& [name, keys] : read_file(config_file(environment))) {
    const std::size_t space = name.find_first_of(" \t");
    const std::string_view kind = std::string_view(name).substr(0, space);
    const std::string_view rest = space == std::string::npos
                                      ? std::string_view()
                                      : trimmed(std::string_view(name).substr(space));
    if (kind == "profile") files.profiles[std::string(rest)] = keys;
    if (kind == "services") files.services[std::string(rest)] = keys;
    if (name == "default") files.profiles["default"] = keys;
  }
  return files;
}

}  // namespace nodepool::drivers::aws
