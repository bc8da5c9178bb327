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
constexpr auto kRetryPause = std::chrono::seconds(1);

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
  if (node != nullptr && node->state == NodeState::deleting && node->provider == pool_.provider &&
      node->pool == pool_.name) {
    deleting_[change.id] = node->state_time;
  }
}

void IdleNodes::recycle(const std::set<std::string, std::less<>>& labels_of_pool,
                        const std::vector<std::string>& wanted) {
  if (retiring_) return;
  const std::optional<std::string> id = oldest(labels_of_pool, wanted);
  if (!id) return;
  double youngest = 0;
  for (const auto& [deleted, since] : deleting_) youngest = std::max(youngest, since);
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

std::optional<std::string> IdleNodes::oldest(
    const std::set<std::string, std::less<>>& labels_of_pool,
    const std::vector<std::string>& wanted) const {
  const Node* oldest = nullptr;
  for (const std::string& label : labels_of_pool) {
    if (std::ranges::find(wanted, label) != wanted.end()) continue;
    for (const std::string& id : context_.nodes.free(pool_.provider, pool_.name, label)) {
      const Node* node = context_.nodes.find(id);
      const bool is_wanted = std::ranges::any_of(
          wanted, [node](const std::string& other) { return node->has_label(other); });
      if (is_wanted || stock_.is_reserved(id)) continue;
      if (oldest == nullptr || node->state_time < oldest->state_time) oldest = node;
    }
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
    co_await context_.runtime.clock.sleep_for(kRetryPause);  // somebody else has it
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
