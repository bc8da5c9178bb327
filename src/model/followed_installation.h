#pragma once

#include <memory>

#include "async/event.h"
#include "async/pace.h"
#include "async/runtime.h"
#include "coordination/store.h"
#include "model/installation.h"
#include "telemetry/log.h"

namespace nodepool::model {

// Follows the installation id of the store while a daemon runs. A store that is emptied meanwhile
// reuses node ids, and gets a new installation id, so that resources of earlier nodes are not taken
// for resources of new ones.
class FollowedInstallation {
 public:
  FollowedInstallation(const async::Runtime& runtime, coordination::Store& store,
                       telemetry::Logger log);

  // Reads or creates the installation. Call it before the first node is created. Throws StoreError,
  // RecordError.
  coordination::Task<> start();

  // Follows changes of the store until cancelled. Throws StoreError only when the store is closed.
  coordination::Task<> run();

  // The current installation. The object behind the pointer is updated.
  const std::shared_ptr<const Installation>& current() const { return seen_; }

 private:
  coordination::Task<> refresh();
  coordination::Task<> wait_until_known();

  async::Runtime runtime_;
  coordination::Store& store_;
  telemetry::Logger log_;
  std::shared_ptr<Installation> current_ = std::make_shared<Installation>();
  std::shared_ptr<const Installation> seen_ = current_;
  async::Event changed_{"the store's installation changed"};
  async::Pace renewals_{std::chrono::seconds(2), 3};  // each makes tags of machines obsolete
};

}  // namespace nodepool::model
