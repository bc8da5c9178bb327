#pragma once

#include <utility>

#include "async/event.h"
#include "async/runtime.h"
#include "coordination/store.h"
#include "telemetry/log.h"

namespace nodepool::builder {

using async::Task;

// The stop of a builder that completes its work in progress first. It ends the waits of this work
// that would not end by themselves.
class GracefulStop {
 public:
  // `store` outlives it.
  GracefulStop(const async::Runtime& runtime, coordination::Store& store, telemetry::Logger log)
      : runtime_(runtime), store_(store), log_(std::move(log)) {}

  // Begins the stop, and follows the store's session until it is cancelled. Throws Cancelled.
  Task<> run();

  bool has_begun() const { return has_begun_; }

  // Sleeps, at most until the stop begins. Throws Cancelled.
  Task<> sleep_for(async::Duration pause);

  // Whether the store has been unreachable for the last minute of the stop, or longer: work that
  // waits for it ends.
  bool has_lost_store() const { return has_lost_store_; }

  // Returns while has_lost_store() is true. Throws Cancelled.
  Task<> until_store_is_lost();

 private:
  async::Runtime runtime_;
  coordination::Store& store_;
  telemetry::Logger log_;
  bool has_begun_ = false;
  bool has_lost_store_ = false;
  async::Event begun_{"a graceful stop"};
  async::Event store_lost_{"an outage of the store during a graceful stop"};
};

}  // namespace nodepool::builder
