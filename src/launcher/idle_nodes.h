#pragma once

#include <functional>
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

  // A node is about to be deleted: it is of no use to ask for another one.
  bool is_busy() const { return retiring_; }

  void carry_out(const planning::Recycling& recycling);

 private:
  void look_again_in(double seconds);
  Task<> retire(std::string id);
  Task<> wait(double seconds);

  const WorkerContext& context_;
  telemetry::Logger log_;
  async::TaskScope& scope_;
  std::function<void()> look_again_;
  bool retiring_ = false;
  bool waiting_ = false;
};

}  // namespace nodepool::launcher
