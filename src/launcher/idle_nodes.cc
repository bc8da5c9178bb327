#include "launcher/idle_nodes.h"

#include <utility>

#include "coordination/error.h"
#include "model/change_node.h"

namespace nodepool::launcher {

namespace {

using model::Node;
using model::NodeState;

// Before another node is tried when one could not be had.
constexpr auto kRecycleRetryPause = std::chrono::seconds(1);

}  // namespace

IdleNodes::IdleNodes(const WorkerContext& context, telemetry::Logger log, async::TaskScope& scope,
                     std::function<void()> look_again)
    : context_(context), log_(std::move(log)), scope_(scope), look_again_(std::move(look_again)) {}

void IdleNodes::carry_out(const planning::Recycling& recycling) {
  if (recycling.look_again) {
    look_again_in(std::chrono::duration_cast<async::Duration>(
        std::chrono::duration<double>(*recycling.look_again)));
  }
  if (!recycling.node || retiring_) return;
  retiring_ = true;
  scope_.spawn("recycle node " + *recycling.node, retire(*recycling.node));
}

// Those who wait do so for different limits, and not as long.
void IdleNodes::look_again_in(async::Duration pause) {
  const auto when = context_.runtime.clock.now() + pause;
  if (next_look_ && *next_look_ <= when) return;
  next_look_ = when;
  scope_.spawn("room for a pool", wait_until(when));
}

Task<> IdleNodes::retire(std::string id) {
  const double now = context_.runtime.clock.wall_seconds();
  const auto retire = [now](Node& node) {
    if (node.state != NodeState::ready || node.allocated_to) return false;
    node.set_state(NodeState::deleting, now);
    return true;
  };
  std::string failure;
  auto change = model::NodeChange::unchanged;
  try {
    Task<model::NodeChange> changing =
        model::change_node(context_.runtime, context_.store, context_.records.nodes, id, retire);
    change = co_await std::move(changing);
  } catch (const coordination::StoreError& error) {
    failure = error.what();
  }
  const auto log = log_.about({}, {}, id);
  if (!failure.empty()) log.warning("Could not recycle the node: {}", failure);
  if (change == model::NodeChange::written) {
    log.info("Deleting the idle node to make room for a waiting request");
  } else {
    co_await context_.runtime.clock.sleep_for(kRecycleRetryPause);  // somebody else has it
  }
  retiring_ = false;
  look_again_();  // others, of another limit, may have asked meanwhile
}

Task<> IdleNodes::wait_until(async::Clock::TimePoint when) {
  co_await context_.runtime.clock.sleep_until(when);
  if (next_look_ == when) next_look_.reset();
  look_again_();
}

}  // namespace nodepool::launcher
