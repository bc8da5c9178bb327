#include "tests/simulation/harness/operator_process.h"

#include <vector>

#include "coordination/lock.h"
#include "coordination/tree.h"
#include "model/paths.h"
#include "tests/simulation/harness/chance.h"

namespace nodepool::simulation {

using coordination::CreateMode;
using coordination::StoreError;
using model::Node;
using model::NodeState;

namespace {

struct Garbage {
  const char* path;
  const char* data;
  CreateMode mode;
};

constexpr Garbage kGarbage[] = {
    {"/nodepool/requests/200-", "{\"state\": \"wishful\"}", CreateMode::persistent_sequential},
    {"/nodepool/requests/200-", "", CreateMode::persistent_sequential},
    {"/nodepool/requests/nonsense", "{}", CreateMode::persistent},
    {"/nodepool/requests/300-", "[1, 2", CreateMode::persistent_sequential},
    {"/nodepool/nodes/", "no json", CreateMode::persistent_sequential},
    {"/nodepool/nodes/", "{\"state\": \"levitating\"}", CreateMode::persistent_sequential},
    {"/nodepool/nodes/", "{\"state\": \"ready\", \"type\": 7}", CreateMode::persistent_sequential},
    {"/nodepool/components/pool/x", "{\"supported_labels\": 1}", CreateMode::persistent},
};

}  // namespace

OperatorProcess::OperatorProcess(World& world, const Holds& holds, const Auditor& auditor,
                                 coordination::FaultPlan plan, bool busy)
    : Process(world, "operator", std::move(plan)),
      holds_(holds),
      auditor_(auditor),
      busy_(busy),
      scope_(runtime_, [this](const std::string& name, const std::string& error) {
        world_.journal.violation(name + ": " + error);
      }) {
  scope_.spawn("operator", run());
}

Task<> OperatorProcess::run() {
  while (!finishing_) {
    co_await runtime_.clock.sleep_for(seconds_between(runtime_.random, 10, 120));
    try {
      if (busy_) co_await act();
    } catch (const StoreError& error) {
      note(error.what());
    }
  }
  // Requestors may hold nodes for as long as they have requests.
  while (true) {
    co_await end_holds();
    co_await runtime_.clock.sleep_for(std::chrono::minutes(1));
  }
}

Task<> OperatorProcess::act() {
  async::Random& random = runtime_.random;
  if (chance(random, 0.2)) co_return co_await leave_garbage();
  const std::vector<std::string> ids = co_await store_.children(std::string(model::kNodesRoot));
  if (ids.empty()) co_return;
  const std::string& id = pick(random, ids);
  switch (random.below(4)) {
    case 0:
      co_return co_await set_state(id, NodeState::ready, NodeState::hold);
    case 1:
      co_return co_await set_state(id, NodeState::ready, NodeState::deleting);
    case 2:
      co_return co_await end_holds();
    default:
      if (chance(random, 0.3)) co_await erase(id);
  }
}

Task<> OperatorProcess::leave_garbage() {
  const Garbage& garbage = kGarbage[runtime_.random.below(std::size(kGarbage))];
  world_.journal.count("operator: garbage");
  co_await store_.create(garbage.path, garbage.data, garbage.mode);
}

// Only what nobody uses: to take a node away from its requestor is beyond what is promised here. A
// command that fails ends, and its session with it: it leaves no lock behind.
Task<> OperatorProcess::set_state(std::string id, NodeState from, NodeState to) {
  coordination::Lock lock(store_, runtime_.random, model::node_lock_path(id));
  std::string failure;
  try {
    if (co_await lock.try_acquire()) co_await set_state_locked(id, from, to);
    co_await lock.release();
  } catch (const std::exception& error) {
    failure = error.what();
  }
  if (failure.empty()) co_return;
  note(failure);
  expire();
}

Task<> OperatorProcess::set_state_locked(std::string id, NodeState from, NodeState to) {
  Node node = model::parse_node(id, co_await store_.get(model::node_path(id)));
  if (node.state != from || (from != NodeState::hold && node.allocated_to)) co_return;
  node.set_state(to, runtime_.clock.wall_seconds());
  co_await store_.set(model::node_path(id), to_record(node), node.stat.version);
  world_.journal.count("operator: node to " + std::string(to_string(to)));
}

Task<> OperatorProcess::erase(std::string id) {
  if (holds_.is_held(id)) co_return;
  const coordination::Entry entry = co_await store_.get(model::node_path(id));
  try {
    const Node node = model::parse_node(id, entry);
    if (node.allocated_to || !node.slot) co_return;  // with a cloud's record its machine is lost
  } catch (const model::RecordError&) {
    // Garbage: even better.
  }
  world_.journal.count("operator: node erased");
  co_await coordination::remove_tree(store_, model::node_path(id));
}

// Sees which they are without reading them all: it comes often.
Task<> OperatorProcess::end_holds() {
  std::vector<std::string> ids;
  for (const auto& [id, node] : auditor_.nodes()) {
    if (node.state == NodeState::hold) ids.push_back(id);
  }
  for (const std::string& id : ids) co_await set_state(id, NodeState::hold, NodeState::used);
}

}  // namespace nodepool::simulation
