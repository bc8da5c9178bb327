#include "launcher/idle_nodes.h"

#include <algorithm>
#include <utility>

#include "coordination/error.h"
#include "model/change_node.h"

namespace nodepool::launcher {

namespace {

using model::Node;
using model::NodeState;
using Shortage = planning::Decision::Shortage;
using TimesBy = std::map<std::string, std::multiset<double>>;

// A deletion that takes longer than this, in seconds, is not waited for. And a request that has
// waited so long may have the room of another pool's idle nodes.
constexpr double kPatience = 300;

// Before another node is tried when one could not be had.
constexpr auto kRecycleRetryPause = std::chrono::seconds(1);

void remove_time(TimesBy& times, const std::string& key, double time) {
  const auto found = times.find(key);
  found->second.extract(time);
  if (found->second.empty()) times.erase(found);
}

double latest_of(const TimesBy& times, const std::string& key) {
  const auto found = times.find(key);
  return found == times.end() ? 0 : *found->second.rbegin();
}

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
  forget_deletion(change.id);
  const Node* node = change.after;
  if (node == nullptr || node->state != NodeState::deleting) return;
  const Deletion deletion{node->provider.value_or(""), node->pool.value_or(""),
                          node->tenant_name.value_or(""), node->state_time};
  if (deletion.provider == pool_.provider) {
    times_.insert(deletion.since);
    times_by_pool_[deletion.pool].insert(deletion.since);
  }
  times_by_tenant_[deletion.tenant].insert(deletion.since);
  deleting_.emplace(change.id, deletion);
}

void IdleNodes::forget_deletion(const std::string& id) {
  const auto entry = deleting_.extract(id);
  if (entry.empty()) return;
  const Deletion& deletion = entry.mapped();
  if (deletion.provider == pool_.provider) {
    times_.extract(deletion.since);
    remove_time(times_by_pool_, deletion.pool, deletion.since);
  }
  remove_time(times_by_tenant_, deletion.tenant, deletion.since);
}

// When the last node was given up that counts for the limit; 0: none is being deleted.
double IdleNodes::latest_deletion(Shortage shortage, const std::string& tenant) const {
  switch (shortage) {
    case Shortage::none:
      break;
    case Shortage::pool:
      return latest_of(times_by_pool_, pool_.name);
    case Shortage::provider:
      return times_.empty() ? 0 : *times_.rbegin();
    case Shortage::tenant:
      return latest_of(times_by_tenant_, tenant);
  }
  return 0;
}

void IdleNodes::recycle(Shortage shortage, const std::string& tenant,
                        const std::vector<std::string>& plan, double since) {
  if (retiring_ || shortage == Shortage::none) return;
  const double now = context_.runtime.clock.wall_seconds();
  const double left = latest_deletion(shortage, tenant) + kPatience - now;
  if (left > 0) return look_again_in(left);
  std::optional<std::string> id = oldest(shortage, tenant, plan, {{pool_.provider, pool_.name}});
  if (!id && shortage != Shortage::pool) {
    id = oldest(shortage, tenant, plan, others_at_the_limit(shortage));
    if (id && now < since + kPatience) return look_again_in(since + kPatience - now);
  }
  if (!id) return;
  retiring_ = true;
  scope_.spawn("recycle node " + *id, retire(*id));
}

void IdleNodes::look_again_in(double seconds) {
  if (std::exchange(waiting_, true)) return;
  scope_.spawn("room for pool " + pool_.name, wait(std::min(seconds, kPatience)));
}

// The pools whose nodes count for the limit: a tenant's is for all providers. Some may be served by
// nobody any more, but of a provider that is not, nobody could delete a node.
IdleNodes::Pools IdleNodes::others_at_the_limit(Shortage shortage) const {
  std::set<std::string> providers{pool_.provider};
  for (const model::Component* pool : context_.records.components.pools()) {
    if (shortage == Shortage::tenant) providers.insert(pool->provider_name);
  }
  Pools pools;
  for (auto& pool : context_.usage.pools()) {
    if (providers.contains(pool.first)) pools.insert(std::move(pool));
  }
  return pools;
}

std::optional<std::string> IdleNodes::oldest(Shortage shortage, const std::string& tenant,
                                             const std::vector<std::string>& plan,
                                             const Pools& pools) const {
  const auto counts = [&](const Node& node) {
    return shortage != Shortage::tenant ||
           (node.tenant_name == tenant && !Usage::of_tenant(node).empty());
  };
  const Node* oldest = nullptr;
  for (const auto& [provider, pool] : pools) {
    for (const std::string& id : context_.records.nodes.free(provider, pool)) {
      const Node* node = context_.records.nodes.find(id);
      if (!counts(*node)) continue;
      if (stock_.is_reserved(id) || std::ranges::find(plan, id) != plan.end()) continue;
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

Task<> IdleNodes::wait(double seconds) {
  co_await context_.runtime.clock.sleep_for(
      std::chrono::duration_cast<async::Duration>(std::chrono::duration<double>(seconds)));
  waiting_ = false;
  look_again_();
}

}  // namespace nodepool::launcher
