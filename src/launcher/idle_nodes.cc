#include "launcher/idle_nodes.h"

#include <algorithm>

#include "coordination/error.h"
#include "model/change_node.h"

namespace nodepool::launcher {

namespace {

using model::Node;
using model::NodeState;

// A deletion that takes longer than this, in seconds, is not waited for.
constexpr double kPatience = 300;

// Before another node is tried when one could not be had.
constexpr auto kRecycleRetryPause = std::chrono::seconds(1);

}  // namespace

IdleNodes::IdleNodes(LauncherContext& context, const PoolIdentity& pool, const PoolStock& stock,
                     telemetry::Logger log, async::TaskScope& scope,
                     std::function<void()> look_again)
    : context_(context),
      pool_(pool),
      stock_(stock),
      log_(std::move(log)),
      scope_(scope),
      look_again_(std::move(look_again)) {}

void IdleNodes::on_node(const model::NodeTable::Change& change) {
  deleting_.erase(change.id);
  const Node* node = change.after;
  if (node != nullptr && node->state == NodeState::deleting && node->provider == pool_.provider) {
    deleting_[change.id] = {node->pool.value_or(""), node->state_time};
  }
}

// Whether a node of `pool` takes the room that is short.
bool IdleNodes::is_short(decision::Decision::Shortage shortage, std::string_view pool) const {
  return shortage == decision::Decision::Shortage::provider || pool == pool_.name;
}

void IdleNodes::recycle(decision::Decision::Shortage shortage,
                        const std::vector<std::string>& plan) {
  if (retiring_) return;
  const std::optional<std::string> id = oldest(shortage, plan);
  if (!id) return;
  double youngest = 0;
  for (const auto& [deleted, deletion] : deleting_) {
    if (is_short(shortage, deletion.pool)) youngest = std::max(youngest, deletion.since);
  }
  const double left = youngest + kPatience - context_.runtime.clock.wall_seconds();
  if (left > 0) {
    if (waiting_) return;
    waiting_ = true;
    scope_.spawn("wait for a deletion in pool " + pool_.name, wait(std::min(left, kPatience)));
    return;
  }
  retiring_ = true;
  scope_.spawn("recycle node " + *id, retire(*id));
}

std::optional<std::string> IdleNodes::oldest(decision::Decision::Shortage shortage,
                                             const std::vector<std::string>& plan) const {
  const Node* oldest = nullptr;
  for (const std::string& id : context_.nodes.free(pool_.provider)) {
    const Node* node = context_.nodes.find(id);
    if (!is_short(shortage, *node->pool)) continue;
    if (stock_.is_reserved(id) || std::ranges::find(plan, id) != plan.end()) continue;
    if (oldest == nullptr || node->state_time < oldest->state_time) oldest = node;
  }
  return oldest == nullptr ? std::nullopt : std::optional(oldest->id);
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
        model::change_node(context_.runtime, context_.store, context_.nodes, id, retire);
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
  if (change != model::NodeChange::written) look_again_();
}

Task<> IdleNodes::wait(double seconds) {
  co_await context_.runtime.clock.sleep_for(
      std::chrono::duration_cast<async::Duration>(std::chrono::duration<double>(seconds)));
  waiting_ = false;
  look_again_();
}

}  // namespace nodepool::launcher
