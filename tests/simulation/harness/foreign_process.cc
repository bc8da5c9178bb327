#include "tests/simulation/harness/foreign_process.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "coordination/path.h"
#include "coordination/tree.h"
#include "model/component.h"
#include "model/paths.h"
#include "tests/simulation/harness/chance.h"

namespace nodepool::simulation {

namespace {

using coordination::CreateMode;
using coordination::Lock;
using coordination::StoreError;
using model::Node;
using model::NodeRequest;
using model::NodeState;
using model::RequestState;

// Of the requestor, once it has got what it wanted.
constexpr double kChanceOfWithdrawal = 0.1;

const std::string kPoolComponents = std::string(model::kComponentsRoot) + "/pool";

bool is_own(const NodeRequest& request) {
  return std::ranges::all_of(
      request.node_types, [](const std::string& label) { return label == ForeignProcess::kLabel; });
}

}  // namespace

ForeignProcess::ForeignProcess(World& world, async::Random& seeds, coordination::FaultPlan plan)
    : Process(world, seeds, "foreign", std::move(plan)),
      lock_sweeper_(runtime_, store_),
      jobs_(runtime_, report()),
      scope_(runtime_, report()) {
  scope_.spawn("foreign launcher", serve());
  scope_.spawn("foreign requestor", ask_again_and_again());
}

async::TaskScope::ErrorHandler ForeignProcess::report() {
  return [this](const std::string& name, const std::string& error) { note(name + ": " + error); };
}

void ForeignProcess::finish() {
  finishing_ = true;
  wake_.set();
}

// --- the launcher

Task<> ForeignProcess::serve() {
  while (true) {
    std::string failure;
    bool is_idle = false;
    try {
      co_await look_around();
      is_idle = finishing_ && !has_something_ && jobs_.empty();
    } catch (const StoreError& error) {
      failure = error.what();
    }
    if (!failure.empty()) note(failure);
    if (is_idle) {
      co_await store_.close();
      co_return;
    }
    co_await wake_.wait_until(runtime_.clock,
                              runtime_.clock.now() + seconds_between(runtime_.random, 1, 10));
  }
}

Task<> ForeignProcess::look_around() {
  has_something_ = false;
  co_await keep_registered();
  const std::vector<std::string> requests =
      co_await store_.children(std::string(model::kRequestsRoot));
  for (const std::string& id : requests) co_await look_at_request(id);
  const std::vector<std::string> nodes = co_await store_.children(std::string(model::kNodesRoot));
  for (const std::string& id : nodes) co_await delete_what_is_used(id);
}

Task<> ForeignProcess::keep_registered() {
  if (!registration_.empty() && co_await store_.exists(registration_)) co_return;
  for (const std::string_view root :
       {model::kNodesRoot, model::kRequestsRoot, model::kRequestLocksRoot}) {
    co_await coordination::ensure_path(store_, std::string(root));
  }
  model::Component pool;
  pool.kind = model::Component::Kind::pool;
  pool.hostname = "foreign";
  pool.state = "running";
  pool.id = kPool;
  pool.name = "main";
  pool.provider_name = kProvider;
  pool.supported_labels = {std::string(kLabel)};
  co_await coordination::ensure_path(store_, kPoolComponents);
  registration_ = co_await store_.create(kPoolComponents + "/foreign", to_record(pool),
                                         CreateMode::ephemeral_sequential);
}

Task<> ForeignProcess::look_at_request(std::string id) {
  std::optional<NodeRequest> request;
  try {
    request = model::parse_node_request(id, co_await store_.get(model::request_path(id)));
  } catch (const std::exception&) {
    // Garbage, or gone.
  }
  if (request && is_own(*request)) has_something_ = true;
  const bool is_left = request && request->requestor == kRequestor && !own_.contains(id);
  if (is_left) co_return co_await store_.remove(model::request_path(id), coordination::kAnyVersion);
  const bool is_to_be_served =
      request && request->state == RequestState::requested && !request->declined(kPool);
  const bool is_lost = request && request->state == RequestState::pending && is_own(*request);
  if (!is_to_be_served && !is_lost) co_return;
  if (is_own(*request)) {
    scope_.spawn("foreign launch", fulfil(std::move(*request)));
  } else {
    co_await decline_if_free(std::move(id));
  }
}

Task<> ForeignProcess::decline_if_free(std::string id) {
  Lock lock(store_, runtime_.random, model::request_lock_path(id), "foreign");
  std::exception_ptr failure;
  try {
    if (co_await lock.try_acquire()) {
      NodeRequest request =
          model::parse_node_request(id, co_await store_.get(model::request_path(id)));
      if (request.state == RequestState::requested) co_await decline(std::move(request));
    }
  } catch (...) {
    failure = std::current_exception();
  }
  co_await lock.abandon();
  if (failure) std::rethrow_exception(failure);
}

Task<> ForeignProcess::decline(NodeRequest request) {
  request.declined_by.emplace_back(kPool);
  if (co_await all_have_declined(request)) {
    request.set_state(RequestState::failed, runtime_.clock.wall_seconds());
  }
  co_await write(request);
}

Task<bool> ForeignProcess::all_have_declined(const NodeRequest& request) {
  const std::vector<std::string> names = co_await store_.children(kPoolComponents);
  for (const std::string& name : names) {
    std::string id;
    try {
      const coordination::Entry entry =
          co_await store_.get(coordination::join_path(kPoolComponents, name));
      id = model::parse_component(model::Component::Kind::pool, entry).id;
    } catch (const model::RecordError&) {
      continue;
    }
    if (!request.declined(id)) co_return false;
  }
  co_return true;
}

// The lock of a request that somebody is at work on is taken; of its nodes, each has been locked.
Task<> ForeignProcess::fulfil(NodeRequest request) {
  Lock lock(store_, runtime_.random, model::request_lock_path(request.id), "foreign");
  std::vector<std::unique_ptr<Lock>> locks(request.node_types.size());
  std::string failure;
  try {
    if (!co_await lock.try_acquire()) co_return;
    request =
        model::parse_node_request(request.id, co_await store_.get(model::request_path(request.id)));
    const std::int64_t session_before = session();
    request.nodes.clear();
    request.set_state(RequestState::pending, runtime_.clock.wall_seconds());
    co_await write(request);
    for (std::unique_ptr<Lock>& node_lock : locks) {
      std::string node;
      co_await launch(request, node, node_lock);
      request.nodes.push_back(std::move(node));
    }
    request.set_state(RequestState::fulfilled, runtime_.clock.wall_seconds());
    if (session() == session_before) co_await write(request);
  } catch (const std::exception& error) {
    failure = error.what();
  }
  if (!failure.empty()) note("does not serve " + request.id + ": " + failure);
  for (const std::unique_ptr<Lock>& node_lock : locks) {
    if (node_lock) co_await node_lock->abandon();
  }
  co_await lock.abandon();
}

Task<> ForeignProcess::launch(const NodeRequest& request, std::string& id,
                              std::unique_ptr<Lock>& lock) {
  Node node;
  node.set_state(NodeState::building, runtime_.clock.wall_seconds());
  node.created_time = runtime_.clock.wall_seconds();
  node.type = {std::string(kLabel)};
  node.provider = kProvider;
  node.pool = "main";
  node.launcher = kPool;
  node.allocated_to = request.id;
  node.unknown = {{"python_only", {R"({"a": [1, 2]})"}}};
  const std::string path = co_await store_.create(model::node_path(""), to_record(node),
                                                  CreateMode::persistent_sequential);
  node.id = std::string(coordination::base_name(path));
  id = node.id;
  lock = std::make_unique<Lock>(store_, runtime_.random, model::node_lock_path(id), "foreign");
  co_await lock->try_acquire();
  co_await runtime_.clock.sleep_for(seconds_between(runtime_.random, 0, 30));
  node.external_id = model::json_string("foreign-" + id);
  node.set_state(NodeState::ready, runtime_.clock.wall_seconds());
  co_await write(node);
}

// What was left building, and what its requestor did not take, too.
Task<> ForeignProcess::delete_what_is_used(std::string id) {
  std::optional<Node> node;
  try {
    node = model::parse_node(id, co_await store_.get(model::node_path(id)));
  } catch (const std::exception&) {
    // Garbage, or gone.
  }
  if (!node || node->provider != kProvider) co_return;
  has_something_ = true;
  Lock lock(store_, runtime_.random, model::node_lock_path(id), "foreign");
  std::exception_ptr failure;
  try {
    if (co_await lock.try_acquire()) co_await delete_locked(std::move(*node));
  } catch (...) {
    failure = std::current_exception();
  }
  co_await lock.abandon();
  if (failure) std::rethrow_exception(failure);
}

Task<> ForeignProcess::delete_locked(Node node) {
  if (node.state == NodeState::ready && node.allocated_to) {
    const bool is_wanted =
        (co_await store_.exists(model::request_path(*node.allocated_to))).has_value();
    if (is_wanted) co_return;
  }
  node.set_state(NodeState::deleting, runtime_.clock.wall_seconds());
  co_await write(node);
  co_await coordination::remove_tree(store_, model::node_path(node.id));
}

// --- the requestor

Task<> ForeignProcess::ask_again_and_again() {
  while (!finishing_) {
    jobs_.spawn("foreign job", job());
    co_await runtime_.clock.sleep_for(seconds_between(runtime_.random, 5, 60));
  }
}

Task<> ForeignProcess::job() {
  NodeRequest request;
  request.node_types.assign(static_cast<std::size_t>(between(runtime_.random, 1, 2)),
                            std::string(kLabel));
  request.requestor = kRequestor;
  request.created_time = runtime_.clock.wall_seconds();
  request.unknown = {{"python_only", {"7"}}};
  request.set_state(RequestState::requested, runtime_.clock.wall_seconds());
  const std::string path = co_await store_.create(model::request_path("200-"), to_record(request),
                                                  CreateMode::persistent_sequential);
  const std::string id(coordination::base_name(path));
  own_.insert(id);
  bool is_gone = false;
  while (!is_gone) {
    co_await runtime_.clock.sleep_for(std::chrono::seconds(5));
    try {
      request = model::parse_node_request(id, co_await store_.get(path));
      const bool is_accepted =
          request.state == RequestState::fulfilled && !chance(runtime_.random, kChanceOfWithdrawal);
      if (is_accepted) co_await use(id);
      if (request.state != RequestState::requested && request.state != RequestState::pending) {
        co_await store_.remove(path, coordination::kAnyVersion);
      }
    } catch (const StoreError& error) {
      is_gone = error.kind() == StoreError::Kind::no_node;
    }
  }
  own_.erase(id);
}

Task<> ForeignProcess::use(std::string id) {
  const NodeRequest request =
      model::parse_node_request(id, co_await store_.get(model::request_path(id)));
  std::vector<std::unique_ptr<Lock>> locks;
  std::string failure;
  try {
    for (const std::string& node : request.nodes) {
      locks.push_back(std::make_unique<Lock>(store_, runtime_.random, model::node_lock_path(node)));
      if (!co_await locks.back()->try_acquire()) continue;
      Node held = model::parse_node(node, co_await store_.get(model::node_path(node)));
      if (held.allocated_to != id) {
        world_.journal.violation("node " + node + " was taken from " + id + ", a foreigner's");
        continue;
      }
      world_.journal.count("foreign: nodes used");
      held.set_state(NodeState::in_use, runtime_.clock.wall_seconds());
      co_await write(held);
    }
    co_await store_.remove(model::request_path(id), coordination::kAnyVersion);
    co_await runtime_.clock.sleep_for(seconds_between(runtime_.random, 0, 60));
  } catch (const std::exception& error) {
    failure = error.what();
  }
  if (!failure.empty()) note("gives up on " + id + ": " + failure);
  for (const std::unique_ptr<Lock>& lock : locks) co_await lock->abandon();
}

Task<> ForeignProcess::write(const NodeRequest& request) {
  co_await store_.set(model::request_path(request.id), to_record(request),
                      coordination::kAnyVersion);
}

Task<> ForeignProcess::write(const Node& node) {
  co_await store_.set(model::node_path(node.id), to_record(node), coordination::kAnyVersion);
}

}  // namespace nodepool::simulation
