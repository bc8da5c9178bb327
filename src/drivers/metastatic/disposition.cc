#include "drivers/metastatic/disposition.h"

#include <algorithm>

namespace nodepool::drivers::metastatic {

namespace {

// In seconds. A new backing node is empty until a launch has taken its slot. Which launcher that
// is, another one cannot know.
constexpr double kLeastGraceTime = 5;

bool is_too_old(const BackingRules& rules, double age) {
  return rules.max_age && age > *rules.max_age;
}

}  // namespace

double grace_time(const BackingRules& rules) {
  return std::max(rules.grace_time, kLeastGraceTime);
}

bool takes_nodes(const BackingRecord& record, const BackingRules& rules, double age) {
  return !record.failed && !is_too_old(rules, age);
}

Disposition disposition_of(const BackingRecord& record, const BackingRules* rules,
                           const BackingFacts& facts) {
  const bool is_old = rules != nullptr && is_too_old(*rules, facts.age);
  if (!facts.is_empty) {
    return is_old && !record.failed ? Disposition::retire : Disposition::keep;
  }
  const bool is_due = rules == nullptr
                          ? facts.idle > kLeastGraceTime
                          : facts.idle > grace_time(*rules) && facts.age > rules->min_retention;
  return record.failed || is_old || is_due ? Disposition::release : Disposition::keep;
}

std::optional<double> time_to_change(const BackingRecord& record, const BackingRules* rules,
                                     const BackingFacts& facts) {
  if (record.failed) return std::nullopt;
  if (rules == nullptr) {
    return facts.is_empty ? std::optional(kLeastGraceTime - facts.idle) : std::nullopt;
  }
  std::optional<double> time;
  if (facts.is_empty) {
    time = std::max(grace_time(*rules) - facts.idle, rules->min_retention - facts.age);
  }
  if (rules->max_age) {
    const double until_too_old = *rules->max_age - facts.age;
    time = std::min(time.value_or(until_too_old), until_too_old);
  }
  return time;
}

}  // namespace nodepool::drivers::metastatic
