#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "async/event.h"
#include "async/runtime.h"
#include "async/task_scope.h"
#include "coordination/store.h"
#include "model/component.h"
#include "telemetry/log.h"

namespace nodepool::model {

// Keeps one component registered while this object is started: creates its ephemeral record, writes
// changes, and registers anew when the store's session was lost or somebody has removed the record.
class Registration {
 public:
  Registration(const async::Runtime& runtime, coordination::Store& store, telemetry::Logger log,
               Component component);

  // Registers; returns once the record exists, however long the store is out of reach. Throws
  // StoreError if it refuses the record, Cancelled.
  async::Task<> start();

  // Changes the record soon, if `component` differs from what was last set.
  void update(Component component);

  const Component& component() const { return component_; }

  // Ends it, while the session goes on: removes the record, as soon as the store is in reach.
  // Throws Cancelled.
  async::Task<> unregister();

  // Ends it; the record is left to the end of the session, which the caller closes next.
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
  std::string path_;  // of the record; empty while there is none
  bool may_be_gone_ = false;
  std::string written_;
  bool uncertain_ = false;  // the record may have been created, but its path is not known
  std::uint64_t lost_sessions_ = 0;
  async::Event changed_{"the registration is to be written"};
  coordination::Subscription session_;
  coordination::Subscription record_;
  async::TaskScope scope_;
};

}  // namespace nodepool::model
