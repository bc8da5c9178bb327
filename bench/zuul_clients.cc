#include "bench/zuul_clients.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <set>

#include "async/event.h"
#include "async/task_scope.h"
#include "coordination/lock.h"
#include "coordination/path.h"
#include "model/node.h"
#include "model/node_request.h"
#include "model/paths.h"

namespace nodepool::bench {

namespace {

using async::Task;
using coordination::kAnyVersion;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr auto kPatience = std::chrono::minutes(5);

// Notifies requestors of changes of their requests, with one watch for all, like Zuul.
class RequestWatch {
 public:
  explicit RequestWatch(coordination::Store& store)
      : subscription_(
            store.watch(std::string(model::kRequestsRoot),
                        [this](const coordination::WatchEvent& event) { notify(event); })) {}

  async::Event& changes_of(const std::string& path) { return waiting_[path]; }
  void forget(const std::string& path) { waiting_.erase(path); }

 private:
  void notify(const coordination::WatchEvent& event) {
    if (event.kind == coordination::WatchEvent::Kind::resync) {
      for (auto& [path, changed] : waiting_) changed.set();
      return;
    }
    const auto found = waiting_.find(event.path);
    if (found != waiting_.end()) found->second.set();
  }

  std::map<std::string, async::Event> waiting_;
  coordination::Subscription subscription_;
};

struct Clients {
  async::Runtime runtime;
  coordination::Store& store;
  RequestWatch& watch;
  Load load;
  int to_do;
  std::set<std::string> held;  // in use by clients: machine and slot
  Served served;
};

// The record as Zuul writes it, without the keys that only launchers write.
std::string request_record(const Clients& clients) {
  const double now = clients.runtime.clock.wall_seconds();
  return fmt::format(
      R"({{"requestor_data": {{"build_set_uuid": "{}", "tenant_name": "t", "pipeline_name": "check", )"
      R"("job_uuid": "{}", "job_name": "job", "span_info": null}}, "node_types": ["{}"], )"
      R"("requestor": "bench", "created_time": {:.6f}, "provider": null, "state": "requested", )"
      R"("state_time": {:.6f}, "relative_priority": 0, "event_id": "{}", "tenant_name": "t"}})",
      clients.runtime.random.uuid_hex(), clients.runtime.random.uuid_hex(),
      fmt::join(clients.load.labels, R"(", ")"), now, now, clients.runtime.random.uuid_hex());
}

Task<model::NodeRequest> await_result(Clients& clients, std::string path) {
  async::Event& changed = clients.watch.changes_of(path);
  const auto deadline = clients.runtime.clock.now() + kPatience;
  while (true) {
    const coordination::Entry entry = co_await clients.store.get(path);
    model::NodeRequest request =
        model::parse_node_request(std::string(coordination::base_name(path)), entry);
    if (request.state == model::RequestState::fulfilled ||
        request.state == model::RequestState::failed) {
      clients.watch.forget(path);
      co_return request;
    }
    if (!co_await changed.wait_until(clients.runtime.clock, deadline)) {
      throw std::runtime_error(path + " has not been fulfilled in time");
    }
  }
}

struct UsedNode {
  std::unique_ptr<coordination::Lock> lock;
  model::Node node;
};

Task<UsedNode> take(Clients& clients, std::string id, std::string request_path) {
  UsedNode used{std::make_unique<coordination::Lock>(clients.store, clients.runtime.random,
                                                     model::node_lock_path(id)),
                {}};
  ++clients.served.writes;
  if (!co_await used.lock->try_acquire()) throw std::runtime_error("node " + id + " is locked");
  const coordination::Entry entry = co_await clients.store.get(model::node_path(id));
  used.node = model::parse_node(id, entry);
  if (model::request_path(used.node.allocated_to.value_or("")) != request_path) {
    throw std::runtime_error("node " + id + " is not allocated to " + request_path);
  }
  co_return used;
}

std::string place_of(const model::Node& node) {
  return fmt::format("{} {}", node.external_id_text(), node.slot.value_or(0));
}

Task<> set_state(Clients& clients, model::Node& node, model::NodeState state) {
  node.set_state(state, clients.runtime.clock.wall_seconds());
  ++clients.served.writes;
  co_await clients.store.set(model::node_path(node.id), to_record(node), kAnyVersion);
}

Task<> use_nodes(Clients& clients, std::vector<std::string> ids, std::string request_path) {
  std::vector<UsedNode> nodes;
  for (const std::string& id : ids) {
    nodes.push_back(co_await take(clients, id, request_path));
    if (!clients.held.insert(place_of(nodes.back().node)).second) ++clients.served.served_twice;
  }
  ++clients.served.writes;
  co_await clients.store.remove(request_path, kAnyVersion);
  for (UsedNode& used : nodes) co_await set_state(clients, used.node, model::NodeState::in_use);
  for (UsedNode& used : nodes) {
    clients.held.erase(place_of(used.node));
    co_await set_state(clients, used.node, model::NodeState::used);
    ++clients.served.writes;
    co_await used.lock->release();
  }
}

Task<std::string> ask(Clients& clients) {
  ++clients.served.writes;
  co_return co_await clients.store.create(std::string(model::kRequestsRoot) + "/200-",
                                          request_record(clients),
                                          coordination::CreateMode::persistent_sequential);
}

Task<> one_request(Clients& clients) {
  const async::Clock::TimePoint start = clients.runtime.clock.now();
  const std::string path = co_await ask(clients);
  const model::NodeRequest request = co_await await_result(clients, path);
  if (request.state != model::RequestState::fulfilled) {
    ++clients.served.not_fulfilled;
    co_return;
  }
  clients.served.milliseconds.push_back(Milliseconds(clients.runtime.clock.now() - start).count());
  co_await use_nodes(clients, request.nodes, path);
}

Task<> writer(Clients& clients) {
  model::Node node;
  node.type = clients.load.labels;
  node.id = coordination::base_name(co_await clients.store.create(
      model::node_path(""), to_record(node), coordination::CreateMode::persistent_sequential));
  while (clients.to_do > 0) {
    --clients.to_do;
    const async::Clock::TimePoint start = clients.runtime.clock.now();
    const std::string request = co_await ask(clients);
    coordination::Lock lock(clients.store, clients.runtime.random, model::node_lock_path(node.id));
    ++clients.served.writes;
    co_await lock.try_acquire();
    ++clients.served.writes;
    co_await clients.store.remove(request, kAnyVersion);
    co_await set_state(clients, node, model::NodeState::in_use);
    co_await set_state(clients, node, model::NodeState::used);
    ++clients.served.writes;
    co_await lock.release();
    clients.served.milliseconds.push_back(
        Milliseconds(clients.runtime.clock.now() - start).count());
  }
}

Task<> client(Clients& clients) {
  while (clients.to_do > 0) {
    --clients.to_do;
    if (clients.load.longest_pause.count() > 0) {
      co_await clients.runtime.clock.sleep_for(
          std::chrono::milliseconds(clients.runtime.random.below(
              static_cast<std::uint64_t>(clients.load.longest_pause.count()))));
    }
    co_await one_request(clients);
  }
}

Task<Served> run_all(async::Runtime runtime, coordination::Store& store, Load load,
                     Task<> (*one)(Clients& clients)) {
  RequestWatch watch(store);
  const int requests = load.requests;
  Clients clients{runtime, store, watch, std::move(load), requests, {}, {}};
  async::TaskScope scope(runtime, [&clients](const std::string& name, const std::string& error) {
    std::cerr << name << ": " << error << '\n';
    ++clients.served.not_fulfilled;
  });
  for (int i = 0; i < clients.load.clients; ++i) {
    scope.spawn(fmt::format("client {}", i), one(clients));
  }
  co_await scope.join();
  std::ranges::sort(clients.served.milliseconds);
  co_return std::move(clients.served);
}

}  // namespace

Task<Served> serve(async::Runtime runtime, coordination::Store& store, Load load) {
  return run_all(runtime, store, std::move(load), client);
}

Task<Served> write_only(async::Runtime runtime, coordination::Store& store, Load load) {
  return run_all(runtime, store, std::move(load), writer);
}

double percentile(const std::vector<double>& sorted, double part) {
  const auto last = static_cast<double>(sorted.size()) - 1;
  return sorted.empty() ? 0 : sorted[static_cast<std::size_t>(part * last)];
}

}  // namespace nodepool::bench
