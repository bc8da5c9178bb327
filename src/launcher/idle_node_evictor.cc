#include "launcher/idle_node_evictor.h"

#include <utility>

#include "coordination/error.h"

namespace nodepool::launcher {

namespace {

using model::Node;
using model::NodeState;

// Before the next eviction after a failed one.
constexpr auto kEvictionRetryPause = std::chrono::seconds(1);

}  // namespace

IdleNodeEvictor::IdleNodeEvictor(const ServingContext& context, telemetry::Logger log,
                                 async::TaskScope& scope, std::function<void()> reevaluate)
    : context_(context), log_(std::move(log)), scope_(scope), reevaluate_(std::move(reevaluate)) {}

void IdleNodeEvictor::carry_out(const planning::Eviction& eviction,
                                std::function<bool()> is_wanted) {
  if (eviction.reevaluate_in) {
    reevaluate_in(std::chrono::duration_cast<async::Duration>(
        std::chrono::duration<double>(*eviction.reevaluate_in)));
  }
  if (!eviction.node || retiring_) return;
  retiring_ = true;
  context_.deletions.expect(*context_.records.nodes.find(*eviction.node),
                            context_.runtime.clock.wall_seconds());
  scope_.spawn("evict node " + *eviction.node, retire(*eviction.node, std::move(is_wanted)));
}

// Keeps the earliest of several times.
void IdleNodeEvictor::reevaluate_in(async::Duration pause) {
  const auto when = context_.runtime.clock.now() + pause;
  if (next_evaluation_ && *next_evaluation_ <= when) return;
  next_evaluation_ = when;
  scope_.spawn("capacity for a pool", wait_until(when));
}

Task<bool> IdleNodeEvictor::retire_idle(std::string id) {
  const auto is_idle = [](const Node& node) {
    return node.state == NodeState::ready && !node.allocated_to;
  };
  try {
    Task<bool> retiring = lifecycle::retire(context_.node_writer(), id, is_idle);
    co_return co_await std::move(retiring);
  } catch (const coordination::StoreError& error) {
    log_.about({}, {}, id).warning("Could not evict the node: {}", error.what());
  } catch (const model::RecordError& error) {
    log_.about({}, {}, id).warning("Could not evict the node: {}", error.what());
  }
  co_return false;
}

Task<> IdleNodeEvictor::retire(std::string id, std::function<bool()> is_wanted) {
  // A spawned task begins in a later turn of the loop: the other pools of this launcher have
  // decided about the request by now.
  const bool is_evicted = is_wanted() && co_await retire_idle(id);
  context_.deletions.stop_expecting(id);
  if (is_evicted) {
    log_.about({}, {}, id).info("Evicting the idle node for a waiting request");
  } else {
    co_await context_.runtime.clock.sleep_for(kEvictionRetryPause);  // it was taken
  }
  retiring_ = false;
  reevaluate_();  // for evictions that were refused meanwhile
}

Task<> IdleNodeEvictor::wait_until(async::Clock::TimePoint when) {
  co_await context_.runtime.clock.sleep_until(when);
  if (next_evaluation_ == when) next_evaluation_.reset();
  reevaluate_();
}

}  // namespace nodepool::launcher
