#pragma once

#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema.h"

namespace nodepool::config {

// Text for messages and manuals.

// The path of a key in the section at `path`; of an item in the list at `path`.
std::string path_below(std::string_view path, std::string_view key);
std::string path_of_item(std::string_view path, std::size_t index);

// `word` in backquotes, shortened if it is very long.
std::string in_quotes(std::string_view word);

// The words in backquotes: "`a`", "`a` or `b`", "`a`, `b` or `c`".
std::string alternatives(const std::vector<std::string_view>& words);

// The words of a text, split at spaces and tabs.
std::vector<std::string> words_of(std::string_view text);

// The keys of a map, as candidates for did_you_mean().
template <typename Map>
std::vector<std::string_view> keys_of(const Map& map) {
  const auto keys = std::views::keys(map);
  return {keys.begin(), keys.end()};
}

// "did you mean `labels`?" for the candidate closest to `word`; empty if none is close.
std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates);

// The name of a value of the type in messages: "an integer", "a list", "`ssh` or `winrm`".
std::string expected(const Type& type);

// The name of a type in the manual: "integer", "list of strings".
std::string type_name(const Type& type);

}  // namespace nodepool::config
