#pragma once

#include "drivers/metastatic/backing_record.h"
#include "drivers/metastatic/metastatic_config.h"

namespace nodepool::drivers::metastatic {

// What becomes of a backing node.
enum class Disposition {
  keep,
  retire,   // it gets no more nodes, and is given back when the last one has gone
  release,  // it is given back now
};

// What is known of one beside its record, in seconds.
struct BackingFacts {
  bool is_empty = false;  // no node is on it
  double idle = 0;        // since when
  double age = 0;         // since it was asked for
};

// `rules`: of its label; nullptr if the configuration has none any more: then it is only kept for
// the nodes on it, as one that has failed is.
Disposition disposition_of(const BackingRecord& record, const BackingRules* rules,
                           const BackingFacts& facts);

// Whether it may get another node.
bool takes_nodes(const BackingRecord& record, const BackingRules& rules, double age);

}  // namespace nodepool::drivers::metastatic
