#include "program/ini_file.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <stdexcept>
#include <utility>

namespace nodepool::program {

namespace {

constexpr std::string_view kDefaults = "DEFAULT";
constexpr std::string_view kBlank = " \t\r\f\v";

// Of one value. So values that refer to each other end, and are small.
constexpr int kMaxReplacements = 100;
constexpr std::size_t kMaxValue = 16384;  // bytes

std::string_view without_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

}  // namespace

IniFile::IniFile(std::string_view text) {
  Section* section = nullptr;
  std::string* value = nullptr;
  std::size_t value_indent = 0;
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::string_view content = without_blanks(line);
    if (content.empty() || content.front() == '#' || content.front() == ';') continue;
    const std::size_t indent = line.find_first_not_of(kBlank);
    if (value != nullptr && indent > value_indent) {
      value->append("\n").append(content);
      continue;
    }
    value_indent = indent;
    const std::string problem = "line " + std::to_string(number) + ": ";
    if (content.front() == '[') {
      section = &add_section(content, problem);
      value = nullptr;
    } else if (section != nullptr) {
      value = &add_key(*section, content, problem);
    } else {
      throw std::runtime_error(problem + "not in a section");
    }
  }
}

IniFile::Section& IniFile::add_section(std::string_view header, const std::string& problem) {
  const std::size_t end = header.rfind(']');
  if (end == std::string_view::npos) throw std::runtime_error(problem + "] is missing");
  const std::string name(header.substr(1, end - 1));
  const auto [entry, is_new] = sections_.try_emplace(name);
  if (!is_new && name != kDefaults) throw std::runtime_error(problem + "repeats a section");
  return entry->second;
}

std::string& IniFile::add_key(Section& section, std::string_view line, const std::string& problem) {
  const std::size_t end = line.find_first_of("=:");
  if (end == std::string_view::npos) throw std::runtime_error(problem + "= is missing");
  const auto [entry, is_new] = section.try_emplace(
      in_lower_case(without_blanks(line.substr(0, end))), without_blanks(line.substr(end + 1)));
  if (!is_new) throw std::runtime_error(problem + "repeats a key");
  return entry->second;
}

bool IniFile::has_section(std::string_view section) const {
  return sections_.contains(section);
}

const std::string* IniFile::find(std::string_view section, std::string_view key) const {
  for (const std::string_view name : {section, kDefaults}) {
    const auto found = sections_.find(name);
    if (found == sections_.end()) continue;
    const auto entry = found->second.find(key);
    if (entry != found->second.end()) return &entry->second;
  }
  return nullptr;
}

std::string IniFile::raw(std::string_view section, std::string_view key) const {
  const std::string* value = find(section, key);
  return value == nullptr ? std::string() : *value;
}

std::string IniFile::value(std::string_view section, std::string_view key) const {
  std::string result;
  int replacements = 0;
  append_interpolated(section, raw(section, key), result, replacements);
  return result;
}

// Recursive; `replacements` limits the depth.
void IniFile::append_interpolated(std::string_view section, std::string_view text,
                                  std::string& result, int& replacements) const {
  while (!text.empty()) {
    const std::size_t size = std::min(text.find('%'), text.size());
    result.append(text.substr(0, size));
    if (result.size() > kMaxValue) throw std::runtime_error("a value is too long");
    text.remove_prefix(size);
    if (text.starts_with("%%")) {
      result += '%';
      text.remove_prefix(2);
    } else if (text.starts_with("%(")) {
      const std::size_t end = std::min(text.find(")s"), text.size());
      const std::string_view name = text.substr(2, end - 2);
      const std::string* value = find(section, in_lower_case(name));
      if (end == text.size() || value == nullptr || ++replacements > kMaxReplacements) {
        throw std::runtime_error("%(" + std::string(name) + ")s cannot be replaced");
      }
      append_interpolated(section, *value, result, replacements);
      text.remove_prefix(end + 2);
    } else if (!text.empty()) {
      result += '%';
      text.remove_prefix(1);
    }
  }
}

}  // namespace nodepool::program
