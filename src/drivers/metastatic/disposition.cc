#include "drivers/metastatic/disposition.h"

namespace nodepool::drivers::metastatic {

namespace {

bool is_too_old(const BackingRules& rules, double age) {
  return rules.max_age && age > *rules.max_age;
}

}  // namespace

bool takes_nodes(const BackingRecord& record, const BackingRules& rules, double age) {
  return !record.failed && !is_too_old(rules, age);
}

Disposition disposition_of(const BackingRecord& record, const BackingRules* rules,
                           const BackingFacts& facts) {
  const bool is_retired = record.failed || rules == nullptr || is_too_old(*rules, facts.age);
  if (facts.is_empty) {
    if (is_retired) return Disposition::release;
    const bool is_due = facts.idle > rules->grace_time && facts.age > rules->min_retention;
    return is_due ? Disposition::release : Disposition::keep;
  }
  return is_retired && !record.failed && rules != nullptr ? Disposition::retire : Disposition::keep;
}

}  // namespace nodepool::drivers::metastatic
