#include "config/zuul/omissions.h"

#include <fmt/format.h>

#include <ranges>
#include <string_view>

#include "config/check.h"

namespace nodepool::config::zuul {

namespace {

std::string_view last_key(std::string_view path) {
  return path.substr(path.rfind('.') + 1);
}

}  // namespace

void Omissions::add(const Problem& omission) {
  const auto key = std::pair(std::string(last_key(omission.path)), omission.message);
  const auto [entry, is_new] = entries_.try_emplace(key, Entry{.first = omission});
  if (!is_new) ++entry->second.further;
}

std::vector<Problem> Omissions::problems() const {
  std::vector<Problem> problems;
  for (const Entry& entry : entries_ | std::views::values) {
    Problem problem = entry.first;
    if (entry.further > 0) {
      problem.hint =
          fmt::format("and in {} more place{}", entry.further, entry.further == 1 ? "" : "s");
    }
    problems.push_back(std::move(problem));
  }
  sort_by_position(problems);
  return problems;
}

}  // namespace nodepool::config::zuul
