#pragma once

#include <memory>

#include "async/event.h"
#include "async/runtime.h"
#include "coordination/store.h"
#include "model/installation.h"
#include "telemetry/log.h"

namespace nodepool::model {

// The installation that the store is of, as long as a daemon runs. A store that is emptied under it
// gives the ids of its nodes once more: what was made for the first nodes must not be taken for
// what is made for the second ones. So it is another installation from then on.
class FollowedInstallation {
 public:
  FollowedInstallation(const async::Runtime& runtime, coordination::Store& store,
                       telemetry::Logger log);

  // Establishes it. To be called before the first node is made. Throws StoreError, RecordError.
  coordination::Task<> start();

  // Goes over to another one when the store does, until it is cancelled. Throws StoreError only
  // when the store is closed.
  coordination::Task<> run();

  // As it is now: whoever keeps this sees the changes.
  const std::shared_ptr<const Installation>& current() const { return seen_; }

 private:
  coordination::Task<> look();
  coordination::Task<> wait_until_known();

  async::Runtime runtime_;
  coordination::Store& store_;
  telemetry::Logger log_;
  std::shared_ptr<Installation> current_ = std::make_shared<Installation>();
  std::shared_ptr<const Installation> seen_ = current_;
  async::Event changed_{"the store's installation changed"};
};

}  // namespace nodepool::model
