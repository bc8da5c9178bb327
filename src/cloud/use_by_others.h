#pragma once

#include "driver/resources.h"

namespace nodepool::cloud {

// What others use of a quota whose use the cloud counts, although their machines are not listed.
// The count lags behind the listing after own machines have been made or deleted: only what two
// counts in turn agree on is of others.
class UseByOthers {
 public:
  // The use by others. `counted`: as the cloud has just counted all use, by the names of its
  // quotas. `listed`: what it counts for the listed machines.
  driver::Resources of(const driver::Resources& counted, const driver::Resources& listed);

 private:
  bool has_last_ = false;
  driver::Resources last_;  // the excess at the last count
};

}  // namespace nodepool::cloud
