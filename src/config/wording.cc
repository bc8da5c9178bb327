#include "config/wording.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace nodepool::config {

namespace {

constexpr std::size_t kLongestShown = 80;
constexpr std::size_t kLongestCompared = 64;

// The Damerau-Levenshtein distance: insertions, deletions, replacements and swaps of neighbours.
std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> before_last;
  std::vector<std::size_t> last(to.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= from.size(); ++i) {
    std::vector<std::size_t> current(to.size() + 1, i);
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      current[j] = std::min({last[j] + 1, current[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1]) {
        current[j] = std::min(current[j], before_last[j - 2] + 1);
      }
    }
    before_last = std::exchange(last, std::move(current));
  }
  return last.back();
}

std::string joined(const std::vector<std::string>& words, std::string_view last_separator) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? last_separator : std::string_view(", ");
    text += words[i];
  }
  return text;
}

}  // namespace

std::string path_below(std::string_view path, std::string_view key) {
  if (path.empty()) return std::string(key);
  return std::string(path) + "." + std::string(key);
}

std::string path_of_item(std::string_view path, std::size_t index) {
  return std::string(path) + "[" + std::to_string(index) + "]";
}

std::string in_quotes(std::string_view word) {
  if (word.size() <= kLongestShown) return "`" + std::string(word) + "`";
  return "`" + std::string(word.substr(0, kLongestShown)) + "...`";
}

std::string alternatives(const std::vector<std::string_view>& words) {
  std::vector<std::string> texts;
  texts.reserve(words.size());
  for (const std::string_view word : words) texts.push_back(in_quotes(word));
  return joined(texts, " or ");
}

std::vector<std::string> words_of(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\n";
  std::vector<std::string> words;
  while (true) {
    const auto begin = text.find_first_not_of(kSpaces);
    if (begin == std::string_view::npos) return words;
    text.remove_prefix(begin);
    const auto end = std::min(text.find_first_of(kSpaces), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates) {
  if (word.empty() || word.size() > kLongestCompared) return {};
  // At most a third of the letters, and not all of them, may be wrong.
  std::size_t best = std::min(std::max<std::size_t>(1, word.size() / 3) + 1, word.size());
  std::string_view suggestion;
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > kLongestCompared) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best) {
      best = distance;
      suggestion = candidate;
    }
  }
  if (suggestion.empty()) return {};
  return "did you mean " + in_quotes(suggestion) + "?";
}

std::string expected(const Type& type) {
  switch (type.kind) {
    case Type::Kind::anything:
      return "a value";
    case Type::Kind::null:
      return "null";
    case Type::Kind::boolean:
      return "a boolean";
    case Type::Kind::integer:
      return "an integer";
    case Type::Kind::number:
      return "a number with a decimal point";
    case Type::Kind::lenient_number:
      return "a number";
    case Type::Kind::string:
      return type.words.empty() ? "a string" : alternatives(type.words);
    case Type::Kind::duration:
      return "seconds, or a time like `90s`, `10m`, `2h` or `1d`";
    case Type::Kind::list:
      return "a list";
    case Type::Kind::mapping:
    case Type::Kind::section:
      return "a mapping";
    case Type::Kind::one_of: {
      std::vector<std::string> parts;
      for (const Type& part : type.parts) {
        std::string text = expected(part);
        if (std::ranges::find(parts, text) == parts.end()) parts.push_back(std::move(text));
      }
      return joined(parts, " or ");
    }
  }
  std::unreachable();
}

namespace {

std::string plural(const Type& type) {
  switch (type.kind) {
    case Type::Kind::anything:
      return "any values";
    case Type::Kind::list:
      return "lists of " + plural(type.parts[0]);
    case Type::Kind::mapping:
      return "mappings of strings to " + plural(type.parts[0]);
    case Type::Kind::string:
      return type.words.empty() ? type_name(type) + "s" : type_name(type);
    case Type::Kind::one_of:
      return "values: " + type_name(type);
    default:
      return type_name(type) + "s";
  }
}

}  // namespace

std::string type_name(const Type& type) {
  switch (type.kind) {
    case Type::Kind::anything:
      return "any value";
    case Type::Kind::null:
      return "null";
    case Type::Kind::boolean:
      return "boolean";
    case Type::Kind::integer:
      return "integer";
    case Type::Kind::number:
    case Type::Kind::lenient_number:
      return "number";
    case Type::Kind::string:
      if (!type.words.empty()) return alternatives(type.words);
      if (type.refers == Type::Refers::to_label) return "label name";
      if (type.refers == Type::Refers::to_labels_by_space) return "label names";
      if (type.refers == Type::Refers::to_diskimage) return "disk image name";
      return "string";
    case Type::Kind::duration:
      return "duration";
    case Type::Kind::list:
      return "list of " + plural(type.parts[0]);
    case Type::Kind::mapping:
      return "mapping of strings to " + plural(type.parts[0]);
    case Type::Kind::section:
      return "section";
    case Type::Kind::one_of: {
      std::vector<std::string> parts;
      parts.reserve(type.parts.size());
      for (const Type& part : type.parts) parts.push_back(type_name(part));
      return joined(parts, " or ");
    }
  }
  std::unreachable();
}

}  // namespace nodepool::config
