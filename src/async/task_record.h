#pragma once

#include <memory>
#include <string>
#include <utility>

#include <boost/intrusive/list.hpp>

#include "async/call_tracer.h"
#include "async/live_tasks.h"
#include "async/runtime.h"

namespace nodepool::async {

// A spawned task, from spawn to end. Member of the list of its event loop.
class TaskRecord : public boost::intrusive::list_base_hook<
                       boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  TaskRecord(const Runtime& runtime, std::string name);
  TaskRecord(const TaskRecord&) = delete;
  TaskRecord& operator=(const TaskRecord&) = delete;

  const std::string& name() const { return name_; }

  // The executor to run the task's coroutines on.
  Executor executor();

  Clock::TimePoint now() const { return clock_.now(); }
  void add(WaitsFor& wait) { waits_.push_back(wait); }
  LiveTask describe() const;

  // See call_tracer.h.
  std::shared_ptr<CallTracer> tracer() const { return tracer_.lock(); }
  void set_tracer(std::weak_ptr<CallTracer> tracer) { tracer_ = std::move(tracer); }

 private:
  using Waits = boost::intrusive::list<WaitsFor, boost::intrusive::constant_time_size<false>>;

  Executor loop_;
  const Clock& clock_;
  std::string name_;
  Clock::TimePoint since_;
  Waits waits_;
  std::weak_ptr<CallTracer> tracer_;
};

}  // namespace nodepool::async
