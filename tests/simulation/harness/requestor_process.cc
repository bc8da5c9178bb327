#include "tests/simulation/harness/requestor_process.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "coordination/path.h"
#include "model/paths.h"
#include "requestor/error.h"
#include "requestor/lease.h"
#include "requestor/request.h"
#include "tests/simulation/harness/chance.h"
#include "tests/simulation/harness/topology.h"

namespace nodepool::simulation {

using coordination::StoreError;
using model::Node;
using model::NodeRequest;
using model::NodeState;
using model::RequestState;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

constexpr auto kPatienceWithLocks = seconds(30);
constexpr auto kAskAgainPause = seconds(2);

// How often it looks for requests and held nodes that nobody needs any more.
constexpr auto kCleanUpInterval = minutes(2);

bool is_answered(const NodeRequest& request) {
  return request.state == RequestState::fulfilled || request.state == RequestState::failed;
}

}  // namespace

RequestorProcess::RequestorProcess(World& world, Holds& holds, std::string system_id,
                                   std::vector<std::string> labels, coordination::FaultPlan plan)
    : Process(world, system_id, std::move(plan)),
      holds_(holds),
      lock_sweeper_(runtime_, store_),
      system_id_(std::move(system_id)),
      labels_(std::move(labels)),
      scope_(runtime_, [this](const std::string& name, const std::string& error) {
        note(name + ": " + error);
      }) {
  const auto look_at_all = [this] {
    for (auto& [id, event] : changed_) event.set();
  };
  watch_ = store_.watch(std::string(model::kRequestsRoot),
                        [this, look_at_all](const coordination::WatchEvent& event) {
                          if (event.path.empty()) return look_at_all();
                          const auto waiting =
                              changed_.find(std::string(coordination::base_name(event.path)));
                          if (waiting != changed_.end()) waiting->second.set();
                        });
  scope_.spawn("jobs", start_jobs());
  scope_.spawn("clean-up", clean_up_again_and_again());
}

void RequestorProcess::finish() {
  finishing_ = true;
  finish_.set();
  for (auto& [id, event] : changed_) event.set();
}

void RequestorProcess::give_up() {
  gives_up_ = true;
  for (auto& [id, event] : changed_) event.set();
}

RequestorProcess::Plan RequestorProcess::draw_plan() {
  async::Random& random = runtime_.random;
  Plan plan;
  const auto count = chance(random, 0.6) ? 1 : between(random, 1, kMostNodesAtOnce);
  for (std::int64_t i = 0; i < count; ++i) plan.labels.push_back(pick(random, labels_));
  static const std::vector<std::string> kPriorities{"100", "200", "200", "300"};
  plan.priority = pick(random, kPriorities);
  plan.tenant = pick(random, kTenants);
  plan.reuse = chance(random, 0.85);
  plan.patience = chance(random, 0.15) ? seconds_between(random, 0, 120) : async::Duration::max();
  plan.revises = chance(random, 0.3);
  using Ending = Plan::Ending;
  static const std::vector<Ending> kBadEndings{Ending::left_ready, Ending::left_in_use,
                                               Ending::held, Ending::not_accepted,
                                               Ending::withdrawn};
  plan.ending = chance(random, 0.5) ? Ending::used : pick(random, kBadEndings);
  plan.setup = seconds_between(random, 0, 5);
  plan.run = seconds_between(random, 0, chance(random, 0.8) ? 30 : 200);
  return plan;
}

Task<> RequestorProcess::start_jobs() {
  async::Random& random = runtime_.random;
  while (!finishing_) {
    Plan plan = draw_plan();
    if (chance(random, 0.15)) {
      scope_.spawn("lease", lease_job(std::move(plan)));
    } else {
      scope_.spawn("job", job(std::move(plan)));
    }
    if (chance(random, 0.3)) continue;  // several at a time
    co_await runtime_.clock.sleep_for(seconds_between(random, 0, 60));
  }
}

Task<> RequestorProcess::clean_up_again_and_again() {
  while (!finished_) {
    co_await finish_.wait_until(runtime_.clock, runtime_.clock.now() + kCleanUpInterval);
    bool nothing_left = false;
    try {
      nothing_left = co_await clean_up();
    } catch (const StoreError&) {
      // Another time.
    }
    finished_ = finishing_ && nothing_left;
  }
}

// Removes requests of its own that no job waits for; returns whether there was no request of its
// own at all.
Task<bool> RequestorProcess::clean_up() {
  const std::vector<std::string> ids = co_await store_.children(std::string(model::kRequestsRoot));
  bool nothing_left = own_.empty();
  for (const std::string& id : ids) {
    if (own_.contains(id)) continue;
    std::optional<NodeRequest> request;
    try {
      request = model::parse_node_request(id, co_await store_.get(model::request_path(id)));
    } catch (const model::RecordError&) {
      continue;
    } catch (const StoreError& error) {
      if (error.kind() != StoreError::Kind::no_node) throw;
      continue;
    }
    if (request->requestor != system_id_ || own_.contains(id)) continue;
    nothing_left = false;
    note("removes request " + id + ", which it no longer needs");
    co_await remove_surely(model::request_path(id));
  }
  co_return nothing_left;
}

// As often as it takes, until the path is gone or the session is.
Task<> RequestorProcess::remove_surely(std::string path) {
  while (!path.empty()) {
    bool done = true;
    try {
      co_await store_.remove(path, coordination::kAnyVersion);
    } catch (const StoreError& error) {
      done = error.kind() == StoreError::Kind::no_node;
    }
    if (done) co_return;
    co_await runtime_.clock.sleep_for(kAskAgainPause);
  }
}

// As often as it takes to be sure.
Task<> RequestorProcess::leave(coordination::Lock& lock) {
  while (true) {
    bool done = true;
    try {
      co_await lock.abandon();
    } catch (const StoreError&) {
      done = false;
    }
    if (done) co_return;
    co_await runtime_.clock.sleep_for(kAskAgainPause);
  }
}

// --- a job

Task<> RequestorProcess::job(Plan plan) {
  const std::string id = co_await ask(plan);
  own_.insert(id);
  changed_.try_emplace(id);
  std::string failure;
  try {
    co_await serve(plan, id);
  } catch (const StoreError& error) {
    failure = error.what();
  }
  if (!failure.empty()) note("gives up on request " + id + ": " + failure);
  changed_.erase(id);
  if (plan.ending != Plan::Ending::not_accepted || !failure.empty()) {
    co_await remove_surely(model::request_path(id));
  }
  own_.erase(id);  // from now on the clean-up may take it
}

Task<> RequestorProcess::serve(const Plan& plan, const std::string& id) {
  const std::optional<NodeRequest> answer = co_await await_result(plan, id);
  if (!answer) co_return;
  world_.journal.count(fmt::format("answered: {}", to_string(answer->state)));
  if (answer->state != RequestState::fulfilled) co_return;
  if (plan.ending == Plan::Ending::not_accepted || plan.ending == Plan::Ending::withdrawn)
    co_return;
  co_await use(plan, *answer);
}

Task<std::string> RequestorProcess::ask(const Plan& plan) {
  NodeRequest request;
  request.node_types = plan.labels;
  request.requestor = system_id_;
  request.tenant_name = plan.tenant;
  request.reuse = plan.reuse;
  request.requestor_data = {R"({"build_set_uuid": "4a", "job_name": "unit"})"};
  request.unknown = {{"span_info", {"{}"}}};
  request.created_time = runtime_.clock.wall_seconds();
  request.set_state(RequestState::requested, runtime_.clock.wall_seconds());
  const std::string path =
      co_await store_.create(model::request_path(plan.priority + "-"), to_record(request),
                             coordination::CreateMode::persistent_sequential);
  world_.journal.count("requests");
  co_return std::string(coordination::base_name(path));
}

// The answer; nothing if the request was cancelled, or removed by somebody else.
Task<std::optional<NodeRequest>> RequestorProcess::await_result(const Plan& plan, std::string id) {
  const async::Clock::TimePoint asked = runtime_.clock.now();
  const bool cancels = plan.patience != async::Duration::max();
  const async::Clock::TimePoint end =
      asked + (cancels ? plan.patience : async::Duration(minutes(60)));
  bool to_be_revised = plan.revises;
  while (true) {
    std::optional<NodeRequest> request;
    try {
      request = model::parse_node_request(id, co_await store_.get(model::request_path(id)));
    } catch (const StoreError& error) {
      if (error.kind() == StoreError::Kind::no_node) co_return std::nullopt;
      // Out of reach: another time.
    }
    if (request && is_answered(*request)) co_return request;
    if (gives_up_ || (cancels && !finishing_ && runtime_.clock.now() >= end)) {
      world_.journal.count("cancelled");
      co_return std::nullopt;
    }
    if (request && to_be_revised && chance(runtime_.random, 0.5)) {
      to_be_revised = false;
      co_await revise(id);
    }
    const async::Clock::TimePoint next = runtime_.clock.now() + seconds(30);
    co_await changed_.at(id).wait_until(runtime_.clock,
                                        cancels && !finishing_ ? std::min(end, next) : next);
  }
}

// As Zuul does: under the request's lock if that is free, with a version check.
Task<> RequestorProcess::revise(std::string id) {
  coordination::Lock lock(store_, runtime_.random, model::request_lock_path(id));
  try {
    if (!co_await lock.try_acquire()) co_return;
    NodeRequest request =
        model::parse_node_request(id, co_await store_.get(model::request_path(id)));
    if (request.state == RequestState::requested) {
      request.relative_priority += between(runtime_.random, -3, 3);
      co_await store_.set(model::request_path(id), to_record(request), request.stat.version);
      world_.journal.count("revised");
    }
  } catch (const StoreError& error) {
    note(fmt::format("could not revise {}: {}", id, error.what()));
  }
  co_await leave(lock);
}

// --- using nodes

Task<> RequestorProcess::use(const Plan& plan, NodeRequest request) {
  std::vector<Held> held;
  std::string failure;
  try {
    const bool accepted = co_await accept(request, held);
    co_await remove_surely(model::request_path(request.id));
    if (accepted) co_await run_build(plan, held);
  } catch (const StoreError& error) {
    failure = error.what();
  } catch (const async::DeadlineExceeded& error) {
    failure = error.what();
  }
  if (!failure.empty()) note(fmt::format("drops request {}: {}", request.id, failure));
  co_await give_back(request.id, held);
}

// Locks all nodes and sees that they are meant for the request, before and after.
Task<bool> RequestorProcess::accept(const NodeRequest& request, std::vector<Held>& held) {
  for (const std::string& id : request.nodes) {
    Node node = model::parse_node(id, co_await store_.get(model::node_path(id)));
    if (node.allocated_to != request.id) co_return false;
    held.push_back({id, std::make_unique<coordination::Lock>(store_, runtime_.random,
                                                             model::node_lock_path(id))});
    coordination::Lock& lock = *held.back().lock;
    const std::int64_t session_before = session();
    co_await lock.acquire(runtime_.clock, runtime_.clock.now() + kPatienceWithLocks);
    node = model::parse_node(id, co_await store_.get(model::node_path(id)));
    if (node.allocated_to != request.id) co_return false;
    if (session() != session_before) co_return false;
    holds_.take(id, {job_name(request.id), session_before, 0, request.id});
  }
  world_.journal.count("accepted");
  co_return true;
}

Task<> RequestorProcess::run_build(const Plan& plan, const std::vector<Held>& held) {
  const std::int64_t session_before = session();
  co_await runtime_.clock.sleep_for(plan.setup);
  if (plan.ending == Plan::Ending::left_ready || session() != session_before) co_return;
  for (const Held& node : held) co_await set_state(node, NodeState::in_use);
  co_await runtime_.clock.sleep_for(plan.run);
  if (plan.ending == Plan::Ending::left_in_use || session() != session_before) co_return;
  const NodeState end = plan.ending == Plan::Ending::held ? NodeState::hold : NodeState::used;
  for (const Held& node : held) co_await set_state(node, end);
}

// Zuul relies on its lock alone; here the lock is proven with the write, because no launcher can
// protect the record against somebody who has lost his session and does not know.
Task<> RequestorProcess::set_state(const Held& held, NodeState state) {
  Node node = model::parse_node(held.id, co_await store_.get(model::node_path(held.id)));
  node.set_state(state, runtime_.clock.wall_seconds());
  node.user_data = {R"({"zuul_system": "4a"})"};
  coordination::Transaction transaction;
  transaction.check(held.lock->contender());
  transaction.set(model::node_path(held.id), to_record(node), node.stat.version);
  co_await store_.commit(std::move(transaction));
}

Task<> RequestorProcess::give_back(const std::string& request, std::vector<Held>& held) {
  for (Held& node : held) {
    holds_.drop(node.id, job_name(request));
    co_await leave(*node.lock);
  }
}

// As `nodepool request` does, by somebody who forgets to give the nodes back.
Task<> RequestorProcess::lease_job(Plan plan) {
  const requestor::NodeRequestSpec request_spec{plan.labels, system_id_};
  std::string failure;
  std::string id;
  try {
    id = co_await requestor::create_request(runtime_, store_, request_spec);
    own_.insert(id);
    world_.journal.count("requests");
    const auto patience = finishing_ ? minutes(60) : minutes(5);
    const requestor::Result answer = co_await requestor::await_result(
        runtime_, store_, id, runtime_.clock.now() + patience, nullptr);
    if (answer.kind == requestor::Result::Kind::fulfilled) {
      const requestor::LeasedNodes leased = co_await requestor::accept_with_lease(
          runtime_, store_, answer.request,
          {.duration = plan.run + seconds(1), .holder = system_id_});
      for (const Node& node : leased.nodes) {
        holds_.take(node.id, {job_name(id), 0, leased.lease.expires, id});
      }
      world_.journal.count("leased");
    }
  } catch (const StoreError& error) {
    failure = error.what();
  } catch (const requestor::RequestError& error) {
    failure = error.what();
  }
  own_.erase(id);
  if (!failure.empty()) note("no lease: " + failure);
}

}  // namespace nodepool::simulation
