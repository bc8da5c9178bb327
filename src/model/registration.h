#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "async/event.h"
#include "async/pace.h"
#include "async/runtime.h"
#include "async/task_scope.h"
#include "coordination/store.h"
#include "model/component.h"
#include "telemetry/log.h"

namespace nodepool::model {

// Keeps a component registered: creates its ephemeral record, writes changes, and registers again
// after the session was lost or the record was removed: at a limited pace, so that it does not
// work against a user who removes all records.
class Registration {
 public:
  Registration(const async::Runtime& runtime, coordination::Store& store, telemetry::Logger log,
               Component component);

  // Registers. Returns when the record exists, and waits while the store is unreachable. Throws
  // StoreError if the store refuses the record, Cancelled: then the record may exist, which another
  // call, or unregister(), finds out.
  async::Task<> start();

  // Schedules a write of the record if `component` has changed.
  void update(Component component);

  const Component& component() const { return component_; }

  // Stops, and removes the record as soon as the store is reachable. Throws Cancelled.
  async::Task<> unregister();

  // Stops. The record remains until the caller closes the session.
  async::Task<> stop();

 private:
  async::Task<> keep_registered();
  async::Task<bool> try_to_write();
  async::Task<> write();
  async::Task<> write_record();
  async::Task<> check_existence();
  void written_to(std::string path);
  async::Task<bool> find_created();

  async::Runtime runtime_;
  coordination::Store& store_;
  telemetry::Logger log_;
  Component component_;
  std::string path_;  // of the record; empty: none
  bool may_be_gone_ = false;
  std::string written_;
  bool uncertain_ = false;   // the record may have been created, but its path is not known
  bool is_failing_ = false;  // the last attempt to write has failed
  std::uint64_t lost_sessions_ = 0;
  async::Pace removals_;  // of the record that are answered by a new one
  async::Event changed_{"a registration to write"};
  coordination::Subscription session_;
  coordination::Subscription record_;
  async::TaskScope scope_;
};

}  // namespace nodepool::model
