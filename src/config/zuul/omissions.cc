#include "config/zuul/omissions.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/check.h"

namespace nodepool::config::zuul {

namespace {

std::string_view last_key(std::string_view path) {
  return path.substr(path.rfind('.') + 1);
}

bool says_the_same(const Problem& one, const Problem& other) {
  return one.message == other.message && last_key(one.path) == last_key(other.path);
}

}  // namespace

void Omissions::add(const Problem& omission) {
  const auto same = std::ranges::find_if(
      entries_, [&](const Entry& entry) { return says_the_same(entry.first, omission); });
  if (same == entries_.end()) {
    entries_.push_back({omission});
  } else {
    ++same->further;
  }
}

std::vector<Problem> Omissions::problems() const {
  std::vector<Problem> problems;
  for (const Entry& entry : entries_) {
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
