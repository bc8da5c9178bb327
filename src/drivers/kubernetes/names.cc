#include "drivers/kubernetes/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>

namespace nodepool::drivers::kubernetes {

namespace {

constexpr std::size_t kLongestName = 63;
constexpr std::size_t kLongestPrefix = 253;  // of a key

bool is_alphanumeric(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

bool is_qualified(std::string_view text) {
  return text.size() <= kLongestName && is_alphanumeric(text.front()) &&
         is_alphanumeric(text.back()) && std::ranges::all_of(text, [](char c) {
           return is_alphanumeric(c) || c == '-' || c == '_' || c == '.';
         });
}

// FNV-1a: the same on every platform and in every release.
std::uint64_t digest(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

std::string shortened(std::string_view prefix, std::size_t most) {
  std::string text(prefix.substr(0, most));
  while (text.ends_with('-')) text.pop_back();
  return text;
}

}  // namespace

std::string object_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const char lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    name += is_alphanumeric(lower) ? lower : '-';
  }
  name.erase(0, std::min(name.find_first_not_of('-'), name.size()));
  name = shortened(name, kLongestName);
  return name.empty() ? "node" : name;
}

std::vector<std::string> names_for(std::string_view prefix, std::string_view node_id,
                                   const driver::Metadata& metadata) {
  std::string mark;
  for (const auto& [key, value] : metadata) mark += fmt::format("{}={}\n", key, value);
  const std::string suffix = fmt::format("-{}", node_id);
  const std::string other = fmt::format("{}-{:08}", suffix, digest(mark) % 100'000'000);
  return {shortened(prefix, kLongestName - suffix.size()) + suffix,
          shortened(prefix, kLongestName - other.size()) + other};
}

bool is_label_value(std::string_view text) {
  return text.empty() || is_qualified(text);
}

bool is_label_key(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return !text.empty() && is_qualified(text);
  const std::string_view name = text.substr(slash + 1);
  return slash > 0 && slash <= kLongestPrefix && !name.empty() && is_qualified(name);
}

}  // namespace nodepool::drivers::kubernetes
