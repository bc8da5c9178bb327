#pragma once

#include <functional>
#include <optional>
#include <string>

#include "async/task_scope.h"
#include "launcher/context.h"
#include "planning/recycling.h"

namespace nodepool::launcher {

// Makes room for the waiting requests of a pool, as planning::make_room() says.
class IdleNodes {
 public:
  // `look_again` is called when there may be room to be made though nothing has happened.
  IdleNodes(const WorkerContext& context, telemetry::Logger log, async::TaskScope& scope,
            std::function<void()> look_again);

  // A node is being given up: whoever would have another one go is asked again when that is done.
  bool is_busy() const { return retiring_; }

  void carry_out(const planning::Recycling& recycling);

 private:
  void look_again_in(async::Duration pause);
  Task<> retire(std::string id);
  Task<> wait_until(async::Clock::TimePoint when);

  const WorkerContext& context_;
  telemetry::Logger log_;
  async::TaskScope& scope_;
  std::function<void()> look_again_;
  bool retiring_ = false;
  std::optional<async::Clock::TimePoint> next_look_;  // the earliest of several
};

}  // namespace nodepool::launcher
