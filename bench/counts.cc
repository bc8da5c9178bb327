// The launcher's costs of one request, in numbers that are the same on every machine: transactions,
// reads, allocations, calls of the cloud's API, and round trips from request to node (the store
// responds after a millisecond, and nothing else takes time).
//
//   bench_counts [SCENARIO…]      default: all
//
// Prints a line of JSON for each. Compare results with bench/compare.

#include <fmt/format.h>

#include <fstream>
#include <functional>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "async/task_scope.h"
#include "bench/counting_store.h"
#include "bench/zuul_clients.h"
#include "config/load.h"
#include "coordination/group_commit.h"
#include "coordination/memory/memory_server.h"
#include "coordination/memory/memory_store.h"
#include "coordination/tree.h"
#include "drivers/fake/fake_driver.h"
#include "drivers/static_nodes/static_driver.h"
#include "launcher/launcher.h"
#include "model/component.h"
#include "model/node.h"
#include "model/node_request.h"
#include "model/paths.h"
#include "nodescan/imaginary_hosts.h"
#include "tests/support/allocations.h"
#include "tests/support/temporary_directory.h"

namespace {

using namespace nodepool;  // NOLINT: a program
using async::Task;
using bench::Load;

constexpr auto kRoundTrip = std::chrono::milliseconds(1);
constexpr auto kPatience = std::chrono::minutes(10);
constexpr int kForeignNodesPerRequest = 5;

std::string hosts(int number) {
  std::string yaml = R"(
labels: [{name: bench}]
providers:
  - name: rack
    driver: static
    pools:
      - name: main
        nodes:
)";
  for (int i = 0; i < number; ++i) {
    yaml += fmt::format("          - {{name: host-{}, labels: [bench], username: ci}}\n", i);
  }
  return yaml;
}

// Machines that boot for 0.1 s.
std::string cloud(int room) {
  return fmt::format(R"(
labels: [{{name: bench}}]
providers:
  - name: cloud
    driver: fake
    cloud: one
    rate: 0
    cloud-images: [{{name: jammy, image-id: id-jammy}}]
    fake-cloud: {{boot-time: 0.1, limits: {{instances: {}, cores: -1, ram: -1}}}}
    pools:
      - name: main
        labels: [{{name: bench, cloud-image: jammy, min-ram: 1024}}]
)",
                     room);
}

std::unique_ptr<nodescan::Scanner> imagine_hosts(const driver::ProviderContext& /*context*/) {
  return std::make_unique<nodescan::ImaginaryHosts>(std::vector<std::string>{"ssh-rsa KEY"});
}

struct Scenario {
  std::string name;
  std::string yaml;
  Load load;
  int foreign_nodes = 0;  // of other providers, with a fifth as many requests; created before
  bool measures_start = false;
};

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> all{
      {"static-burst", hosts(200), {.requests = 2000, .clients = 100, .labels = {"bench"}}},
      {"static-single", hosts(200), {.requests = 100, .clients = 1, .labels = {"bench"}}},
      {"cloud-burst", cloud(200), {.requests = 1000, .clients = 100, .labels = {"bench"}}},
      {"cloud-single", cloud(200), {.requests = 50, .clients = 1, .labels = {"bench"}}},
      {"cloud-five",
       cloud(1000),
       {.requests = 200, .clients = 100, .labels = std::vector<std::string>(5, "bench")}},
      {"start", hosts(10), {.requests = 1, .clients = 1, .labels = {"bench"}}, 10'000, true},
      {"beside-1000", hosts(200), {.requests = 100, .clients = 1, .labels = {"bench"}}, 1'000},
      {"beside-10000", hosts(200), {.requests = 100, .clients = 1, .labels = {"bench"}}, 10'000},
      {"beside-100000", hosts(200), {.requests = 100, .clients = 1, .labels = {"bench"}}, 100'000},
  };
  return all;
}

// A launcher and its requestors on one store, in virtual time.
class World {
 public:
  World() {
    directory_.write("clouds.yaml", "clouds: {one: {auth: {}}}");
    for (const std::string_view root : {model::kNodesRoot, model::kRequestsRoot}) {
      loop_.run(coordination::ensure_path(requestors_, std::string(root)));
    }
  }

  void add_foreign_records(int nodes);
  // Starts the launcher with the configuration and optionally waits until it is idle.
  void start(const std::string& yaml, bool settles);
  void run(const Scenario& scenario);

 private:
  config::Config parse(const std::string& yaml);
  void poll();
  void pass_until(const std::function<bool()>& done);
  void pass(async::Duration duration);

  test_support::TemporaryDirectory directory_;
  async::VirtualClock clock_;
  async::Random random_{1};
  coordination::MemoryServer server_;
  async::EventLoop loop_;  // the requestors'
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  coordination::MemoryStore requestors_{server_, runtime_};
  driver::DriverRegistry drivers_ = make_drivers();

  async::EventLoop launcher_loop_;
  async::Runtime launcher_runtime_{launcher_loop_.executor(), clock_, random_};
  coordination::MemoryStore session_{server_, launcher_runtime_};
  bench::CountingStore store_{session_, clock_, kRoundTrip};
  coordination::GroupCommit grouping_{launcher_runtime_, store_};  // like on ZooKeeper
  launcher::Launcher launcher_{
      launcher_runtime_, grouping_,
      telemetry::Log::to_consumer(
          [](telemetry::LogLevel, std::string_view logger, std::string_view text) {
            std::cerr << logger << ": " << text << '\n';
          },
          telemetry::LogLevel::warning),
      drivers_, launcher::Launcher::Options{"host", "host.example"}};
  std::uint64_t allocations_ =
      0;  // of the launcher, and of the store during its iterations of the loop

  driver::DriverRegistry make_drivers() {
    const config::Environment environment{
        {"OS_CLIENT_CONFIG_FILE", (directory_.path() / "clouds.yaml").string()}};
    std::vector<std::unique_ptr<driver::Driver>> drivers;
    drivers.push_back(std::make_unique<drivers::static_nodes::StaticDriver>(imagine_hosts));
    drivers.push_back(std::make_unique<drivers::fake::FakeDriver>(environment));
    return driver::DriverRegistry(std::move(drivers));
  }
};

config::Config World::parse(const std::string& yaml) {
  config::LoadOptions options;
  options.path = directory_.write("nodepool.yaml", yaml);
  options.drivers = drivers_.schemas();
  return config::load(options).config;
}

void World::poll() {
  bool ran = true;
  while (ran) {
    ran = loop_.poll();
    bool launcher_ran = false;
    const auto turn = [&] { launcher_ran = launcher_loop_.poll(); };
    allocations_ += test_support::allocations_of(turn).count;
    ran = launcher_ran || ran;
  }
}

void World::pass_until(const std::function<bool()>& done) {
  const async::Clock::TimePoint deadline = clock_.now() + kPatience;
  poll();
  while (!done()) {
    if (clock_.next_wakeup() > deadline) throw std::runtime_error("the scenario does not end");
    clock_.advance_to(clock_.next_wakeup());
    poll();
  }
}

void World::pass(async::Duration duration) {
  const async::Clock::TimePoint end = clock_.now() + duration;
  pass_until([&] { return clock_.next_wakeup() > end; });
  clock_.advance_to(end);
}

void World::add_foreign_records(int nodes) {
  const auto sequential = coordination::CreateMode::persistent_sequential;
  const std::string path = std::string(model::kComponentsRoot) + "/pool";
  loop_.run(coordination::ensure_path(requestors_, path));
  model::Component pool;
  pool.kind = model::Component::Kind::pool;
  pool.id = "elsewhere-PoolWorker.foreign-main-0";
  pool.name = "main";
  pool.provider_name = "foreign";
  pool.state = "running";
  pool.supported_labels = {"foreign"};
  loop_.run(requestors_.create(path + "/elsewhere", to_record(pool),
                               coordination::CreateMode::ephemeral_sequential));
  model::Node node;
  node.provider = "foreign";
  node.pool = "main";
  node.type = {"foreign"};
  node.set_state(model::NodeState::hold, clock_.wall_seconds());
  for (int i = 0; i < nodes; ++i) {
    loop_.run(requestors_.create(model::node_path(""), to_record(node), sequential));
  }
  model::NodeRequest request;
  request.node_types = {"foreign"};
  request.requestor = "somebody";
  request.set_state(model::RequestState::requested, clock_.wall_seconds());
  for (int i = 0; i < nodes / kForeignNodesPerRequest; ++i) {
    loop_.run(requestors_.create(model::request_path("200-"), to_record(request), sequential));
  }
}

void World::start(const std::string& yaml, bool settles) {
  async::TaskScope scope(launcher_runtime_, [](const std::string& name, const std::string& error) {
    throw std::runtime_error(name + ": " + error);
  });
  scope.spawn("start", launcher_.start(parse(yaml)));
  pass_until([&] { return scope.empty(); });
  if (settles) pass(std::chrono::minutes(2));
}

void World::run(const Scenario& scenario) {
  if (scenario.foreign_nodes > 0) add_foreign_records(scenario.foreign_nodes);
  allocations_ = 0;
  bench::StoreCounts before;
  async::Clock::TimePoint began = clock_.now();
  start(scenario.yaml, !scenario.measures_start);
  if (!scenario.measures_start) {
    before = store_.counts();
    allocations_ = 0;
    began = clock_.now();
  }
  bench::Served served;
  bool is_served = false;
  bench::CountingStore requestors(requestors_, clock_, kRoundTrip);
  async::TaskScope scope(runtime_, [](const std::string& name, const std::string& error) {
    throw std::runtime_error(name + ": " + error);
  });
  const auto serve = [](Task<bench::Served> serving, bench::Served& result, bool& done) -> Task<> {
    result = co_await std::move(serving);
    done = true;
  };
  scope.spawn("clients",
              serve(bench::serve(runtime_, requestors, scenario.load), served, is_served));
  pass_until([&] { return is_served; });
  const double all = std::chrono::duration<double, std::milli>(clock_.now() - began).count();
  pass(std::chrono::seconds(30));  // until all nodes are returned
  if (served.not_fulfilled > 0 || served.served_twice > 0) {
    throw std::runtime_error("not all requests were fulfilled");
  }
  const bench::StoreCounts& after = store_.counts();
  const auto requests = static_cast<double>(scenario.load.requests);
  const auto each = [requests](std::uint64_t number) {
    return static_cast<double>(number) / requests;
  };
  fmt::print(R"({{"scenario": "{}", "requests": {}, "transactions": {:.3f}, "operations": {:.3f}, )"
             R"("reads": {:.3f}, "allocations": {:.0f}, "p50_ms": {:.1f}, "p95_ms": {:.1f}, )"
             R"("p99_ms": {:.1f}, "all_ms": {:.1f}}})"
             "\n",
             scenario.name, scenario.load.requests, each(after.transactions - before.transactions),
             each(after.operations - before.operations), each(after.reads - before.reads),
             each(allocations_), bench::percentile(served.milliseconds, 0.5),
             bench::percentile(served.milliseconds, 0.95),
             bench::percentile(served.milliseconds, 0.99), all);
}

}  // namespace

int main(int argc, char** argv) {
  const std::set<std::string> wanted(argv + 1, argv + argc);
  try {
    for (const Scenario& scenario : scenarios()) {
      if (wanted.empty() || wanted.contains(scenario.name)) World().run(scenario);
    }
  } catch (const std::exception& error) {
    std::cerr << "bench_counts: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
