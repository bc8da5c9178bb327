#include "report/shortage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "config/wording.h"

namespace nodepool::report {

namespace {

// Missing labels that are named; a request may have a thousand.
constexpr std::size_t kMostMissing = 5;

// A "did you mean" with an offered label that resembles a missing one, for the end of a sentence.
std::string suggestion(const std::set<std::string_view>& offered,
                       const std::vector<std::string>& missing) {
  for (const std::string& label : missing) {
    const std::string meant = config::did_you_mean(label, {offered.begin(), offered.end()});
    if (!meant.empty()) return "; " + meant;
  }
  return {};
}

}  // namespace

std::string shortage(const std::vector<const model::Component*>& pools,
                     const std::vector<std::string>& labels) {
  if (pools.empty()) return "no launcher serves a pool";
  std::set<std::string_view> offered;
  for (const model::Component* pool : pools) {
    offered.insert(pool->supported_labels.begin(), pool->supported_labels.end());
  }
  std::vector<std::string> missing;
  for (const std::string& label : labels) {
    if (missing.size() == kMostMissing) break;
    const bool is_listed = std::ranges::find(missing, label) != missing.end();
    if (!offered.contains(label) && !is_listed) missing.push_back(label);
  }
  if (!missing.empty()) {
    return fmt::format("no pool offers {}{}", fmt::join(missing, ", "),
                       suggestion(offered, missing));
  }
  const bool is_served = std::ranges::any_of(
      pools, [&labels](const model::Component* pool) { return pool->supports(labels); });
  return is_served ? ""
                   : "no pool offers all of these labels, and the nodes of a request come from one "
                     "pool";
}

}  // namespace nodepool::report
