#pragma once

#include <optional>

#include "drivers/metastatic/backing_record.h"
#include "drivers/metastatic/metastatic_config.h"

namespace nodepool::drivers::metastatic {

// How long an empty backing node is kept for other nodes, in seconds: at least five.
double grace_time(const BackingRules& rules);

// What to do with a backing node.
enum class Disposition {
  keep,
  retire,   // it gets no more nodes, and is released after the last one has gone
  release,  // release it now
};

// The state of a backing node besides its record. Times are in seconds.
struct BackingFacts {
  bool is_empty = false;  // it has no tenants
  double idle = 0;        // time without tenants
  double age = 0;         // time since it was requested
};

// Decides what to do. `rules` are its label's; nullptr if the label is not configured (any more):
// then it is kept only for its tenants, like a failed one; at least for five seconds, as a launcher
// with another configuration may have made it.
Disposition disposition_of(const BackingRecord& record, const BackingRules* rules,
                           const BackingFacts& facts);

// The time after which the disposition may be another one although no tenant comes or goes, in
// seconds. Nothing: never.
std::optional<double> time_to_change(const BackingRecord& record, const BackingRules* rules,
                                     const BackingFacts& facts);

// Whether it may get another tenant.
bool takes_nodes(const BackingRecord& record, const BackingRules& rules, double age);

}  // namespace nodepool::drivers::metastatic
