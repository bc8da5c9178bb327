// Many requestors on one ZooKeeper, each as Zuul does it, write by write: ask, wait for the answer,
// lock the node, delete the request, mark the node in use, then used, unlock it. The same program
// measures any launcher. One session, as a Zuul scheduler has.
//
//   bench_zookeeper_load PORT CA CERT KEY REQUESTS CLIENTS LABEL PAUSE
//
// Before each request a client pauses for a random time up to PAUSE milliseconds.
//
// Prints one line of JSON:
// how many requests, seconds, percentiles from the creation of a request until it is seen fulfilled
// (milliseconds), own writes and CPU seconds. A request that failed or a node that was given to two
// at a time decides the exit status.

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "async/deadline.h"
#include "async/event.h"
#include "async/event_loop.h"
#include "async/task_scope.h"
#include "coordination/lock.h"
#include "coordination/path.h"
#include "coordination/tree.h"
#include "coordination/zookeeper/zookeeper_store.h"
#include "model/node.h"
#include "model/node_request.h"
#include "model/paths.h"

namespace {

using namespace nodepool;
using async::Task;
using coordination::kAnyVersion;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr auto kPatience = std::chrono::minutes(5);

// The processor time of this process, in seconds.
double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Tally {
  int to_do = 0;
  int writes = 0;
  int not_fulfilled = 0;
  int served_twice = 0;
  std::vector<double> milliseconds;
  std::set<std::string> held;  // what clients hold now: host and slot
};

// Tells requestors that their request has changed: one watch for all, as Zuul has it.
class RequestWatch {
 public:
  explicit RequestWatch(coordination::Store& store)
      : subscription_(store.watch(std::string(model::kRequestsRoot),
                                  [this](const coordination::WatchEvent& event) { tell(event); })) {
  }

  async::Event& changes_of(const std::string& path) { return waiting_[path]; }
  void forget(const std::string& path) { waiting_.erase(path); }

 private:
  void tell(const coordination::WatchEvent& event) {
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

struct Bench {
  async::Runtime runtime;
  coordination::Store& store;
  RequestWatch& watch;
  std::string label;
  std::uint64_t pause;  // milliseconds
  Tally& tally;
};

// The record as Zuul writes it: without the keys that only launchers write.
std::string request_record(const Bench& bench) {
  const double now = bench.runtime.clock.wall_seconds();
  return fmt::format(
      R"({{"requestor_data": {{"build_set_uuid": "{}", "tenant_name": "t", "pipeline_name": "check", )"
      R"("job_uuid": "{}", "job_name": "job", "span_info": null}}, "node_types": ["{}"], )"
      R"("requestor": "bench", "created_time": {:.6f}, "provider": null, "state": "requested", )"
      R"("state_time": {:.6f}, "relative_priority": 0, "event_id": "{}", "tenant_name": "t"}})",
      bench.runtime.random.uuid_hex(), bench.runtime.random.uuid_hex(), bench.label, now, now,
      bench.runtime.random.uuid_hex());
}

Task<model::NodeRequest> await_answer(Bench& bench, std::string path) {
  async::Event& changed = bench.watch.changes_of(path);
  const auto deadline = bench.runtime.clock.now() + kPatience;
  while (true) {
    const coordination::Entry entry = co_await bench.store.get(path);
    model::NodeRequest request =
        model::parse_node_request(std::string(coordination::base_name(path)), entry);
    if (request.state == model::RequestState::fulfilled ||
        request.state == model::RequestState::failed) {
      bench.watch.forget(path);
      co_return request;
    }
    if (!co_await changed.wait_until(bench.runtime.clock, deadline)) {
      throw std::runtime_error(path + " has not been answered");
    }
  }
}

Task<> set_state(Bench& bench, model::Node& node, model::NodeState state) {
  node.set_state(state, bench.runtime.clock.wall_seconds());
  ++bench.tally.writes;
  co_await bench.store.set(model::node_path(node.id), to_record(node), kAnyVersion);
}

Task<> use_node(Bench& bench, std::string id, std::string request_path) {
  coordination::Lock lock(bench.store, bench.runtime.random, model::node_lock_path(id));
  ++bench.tally.writes;
  if (!co_await lock.try_acquire()) throw std::runtime_error("node " + id + " is locked");
  const coordination::Entry entry = co_await bench.store.get(model::node_path(id));
  model::Node node = model::parse_node(id, entry);
  if (model::request_path(node.allocated_to.value_or("")) != request_path) {
    throw std::runtime_error("node " + id + " is not allocated to " + request_path);
  }
  const std::string place = fmt::format("{} {}", node.external_id_text(), node.slot.value_or(0));
  if (!bench.tally.held.insert(place).second) ++bench.tally.served_twice;
  ++bench.tally.writes;
  co_await bench.store.remove(request_path, kAnyVersion);
  co_await set_state(bench, node, model::NodeState::in_use);
  bench.tally.held.erase(place);
  co_await set_state(bench, node, model::NodeState::used);
  ++bench.tally.writes;
  co_await lock.release();
}

Task<> one_request(Bench& bench) {
  const async::Clock::TimePoint start = bench.runtime.clock.now();
  ++bench.tally.writes;
  const std::string path = co_await bench.store.create(
      std::string(model::kRequestsRoot) + "/200-", request_record(bench),
      coordination::CreateMode::persistent_sequential);
  const model::NodeRequest request = co_await await_answer(bench, path);
  if (request.state != model::RequestState::fulfilled) {
    ++bench.tally.not_fulfilled;
    co_return;
  }
  bench.tally.milliseconds.push_back(Milliseconds(bench.runtime.clock.now() - start).count());
  co_await use_node(bench, request.nodes.at(0), path);
}

Task<> client(Bench& bench) {
  while (bench.tally.to_do > 0) {
    --bench.tally.to_do;
    if (bench.pause > 0) {
      co_await bench.runtime.clock.sleep_for(
          std::chrono::milliseconds(bench.runtime.random.below(bench.pause)));
    }
    co_await one_request(bench);
  }
}

double percentile(const std::vector<double>& sorted, double part) {
  return sorted.empty() ? 0 : sorted[static_cast<std::size_t>(part * (sorted.size() - 1.0))];
}

// The requests of all clients; their writes and times are in the tally afterwards.
Task<> run_clients(Bench& bench, int requests, int clients) {
  bench.tally.to_do = requests;
  async::TaskScope scope(bench.runtime,
                         [&bench](const std::string& name, const std::string& error) {
                           std::cerr << name << ": " << error << '\n';
                           ++bench.tally.not_fulfilled;
                         });
  for (int i = 0; i < clients; ++i) scope.spawn(fmt::format("client {}", i), client(bench));
  co_await scope.join();
}

Task<> measure(async::Runtime runtime, coordination::zookeeper::ZooKeeperOptions options,
               int requests, int clients, std::string label, std::uint64_t pause, Tally& tally) {
  const auto store = co_await coordination::zookeeper::open_store(runtime, options);
  co_await coordination::ensure_path(*store, std::string(model::kRequestsRoot));
  RequestWatch watch(*store);
  Bench bench{runtime, *store, watch, std::move(label), pause, tally};
  const async::Clock::TimePoint start = runtime.clock.now();
  co_await run_clients(bench, requests, clients);
  const double seconds = std::chrono::duration<double>(runtime.clock.now() - start).count();
  co_await store->close();
  std::vector<double>& times = tally.milliseconds;
  std::ranges::sort(times);
  fmt::print(R"({{"requests": {}, "seconds": {:.3f}, "p50_ms": {:.2f}, "p99_ms": {:.2f}, )"
             R"("max_ms": {:.2f}, "writes": {}, "cpu_seconds": {:.2f}, "not_fulfilled": {}, )"
             R"("served_twice": {}}})"
             "\n",
             times.size(), seconds, percentile(times, 0.5), percentile(times, 0.99),
             percentile(times, 1), tally.writes, cpu_seconds(), tally.not_fulfilled,
             tally.served_twice);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 9) {
    std::cerr << "usage: bench_zookeeper_load PORT CA CERT KEY REQUESTS CLIENTS LABEL PAUSE\n";
    return 2;
  }
  coordination::zookeeper::ZooKeeperOptions options;
  options.servers = {{"127.0.0.1", static_cast<std::uint16_t>(std::stoul(argv[1]))}};
  options.tls = {.ca = argv[2], .cert = argv[3], .key = argv[4]};
  async::EventLoop loop;
  async::SystemClock clock;
  async::Random random = async::Random::from_system();
  Tally tally;
  try {
    loop.run(measure({loop.executor(), clock, random}, std::move(options), std::stoi(argv[5]),
                     std::stoi(argv[6]), argv[7], std::stoul(argv[8]), tally));
  } catch (const std::exception& error) {
    std::cerr << "bench_zookeeper_load: " << error.what() << '\n';
    return 1;
  }
  return tally.not_fulfilled == 0 && tally.served_twice == 0 ? 0 : 1;
}
