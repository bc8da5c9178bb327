// Many machines at once: 100 concurrent requests, a new machine for each, 5 s to boot. Embedded
// store with durable commits, the launcher as a separate process. Two clouds: the one of the driver
// `fake`, inside the launcher, and the tests' simulation of OpenStack's APIs, inside this process,
// with HTTP on the loopback.
//
// The launcher's own time for a node is the time from the creation of its request until the
// requestor sees it fulfilled, minus the boot time, which starts with the arrival of the call that
// creates the machine. It includes deciding, writing, calling, and waiting for the next poll of the
// machines. The rate limit of calls is off (`rate: 0`), because it would dominate; a second
// measurement uses the default, a call per second. One machine is launched before, so that the
// launcher knows the boot time, like after a restart.

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "async/task_scope.h"
#include "bench/process.h"
#include "coordination/sqlite/sqlite_store.h"
#include "coordination/tree.h"
#include "requestor/request.h"
#include "tests/drivers/openstack/stand_in/stand_in.h"
#include "tests/support/child.h"
#include "tests/support/temporary_directory.h"

namespace {

using namespace nodepool;
using async::Task;
using drivers::openstack::StandIn;
using test_support::Child;

constexpr int kNodes = 100;
constexpr int kMachines = kNodes + 1;
constexpr auto kBootTime = std::chrono::seconds(5);
constexpr auto kPatience = std::chrono::minutes(5);

struct Tally {
  std::vector<double> own_seconds;  // for each node
  int not_fulfilled = 0;
};

Task<> request(async::Runtime runtime, coordination::Store& store, Tally& tally) {
  const async::Clock::TimePoint start = runtime.clock.now();
  requestor::NodeRequestSpec request_spec;
  request_spec.labels = {"bench"};
  request_spec.requestor = "bench";
  const std::string id =
      co_await requestor::create_request(runtime, store, std::move(request_spec));
  requestor::Progress progress = [](const model::NodeRequest&) {};
  const requestor::Result answer =
      co_await requestor::await_result(runtime, store, id, start + kPatience, std::move(progress));
  if (answer.kind != requestor::Result::Kind::fulfilled) {
    ++tally.not_fulfilled;
    co_return;
  }
  const async::Duration own = runtime.clock.now() - start - kBootTime;
  tally.own_seconds.push_back(std::chrono::duration<double>(own).count());
}

// The id of the latest change of the store.
Task<std::int64_t> latest_change(coordination::Store& store) {
  co_return (co_await store.set("/bench", "", coordination::kAnyVersion)).mzxid;
}

void print(const std::string& cloud, Tally& tally, double seconds, double cpu,
           std::int64_t changes) {
  std::ranges::sort(tally.own_seconds);
  const auto percentile = [&tally](double part) {
    const std::vector<double>& all = tally.own_seconds;
    return all.empty() ? 0 : all[static_cast<std::size_t>(part * (all.size() - 1.0))];
  };
  fmt::print("{} machines at once, {} s to boot, SQLite, {}\n", kNodes, kBootTime.count(), cloud);
  fmt::print("  all ready after {:.2f} s; own time p50 {:.2f} s   p99 {:.2f} s   max {:.2f} s\n",
             seconds, percentile(0.5), percentile(0.99), percentile(1));
  fmt::print("  launcher {:.3f} CPU s per node\n", cpu / kNodes);
  fmt::print("  {:.1f} changes of records per node, including the requestor's\n",
             static_cast<double>(changes) / kNodes);
  if (tally.not_fulfilled > 0) fmt::print("  not fulfilled {}\n", tally.not_fulfilled);
}

Task<> measure(async::Runtime runtime, std::string database, std::string cloud, pid_t launcher,
               Tally& tally) {
  const auto store = co_await coordination::sqlite::open_store(runtime, {.path = database});
  co_await coordination::ensure_path(*store, "/bench");
  async::TaskScope scope(runtime, [](const std::string& name, const std::string& error) {
    fmt::print("{}: {}\n", name, error);
  });
  Tally before;
  co_await request(runtime, *store, before);
  const std::int64_t first_change = co_await latest_change(*store);
  const double first_cpu = bench::cpu_seconds(launcher);
  const async::Clock::TimePoint start = runtime.clock.now();
  for (int i = 0; i < kNodes; ++i) {
    scope.spawn(fmt::format("request {}", i), request(runtime, *store, tally));
  }
  co_await scope.join();
  const double seconds = std::chrono::duration<double>(runtime.clock.now() - start).count();
  const double cpu = bench::cpu_seconds(launcher) - first_cpu;
  const std::int64_t changes = co_await latest_change(*store) - first_change - 1;
  print(cloud, tally, seconds, cpu, changes);
  co_await store->close();
}

std::string configuration(const std::string& database, const std::string& driver,
                          const std::string& more) {
  return fmt::format(R"(
store: sqlite://{}
labels: [{{name: bench}}]
providers:
  - name: cloud
    driver: {}
    cloud: one
    cloud-images: [{{name: jammy, image-id: id-jammy}}]
{}    pools:
      - name: main
        host-key-checking: false
        labels: [{{name: bench, cloud-image: jammy, min-ram: 1024}}]
)",
                     database, driver, more);
}

// The system clock and one loop, for the requestor and the simulated cloud.
struct Bench {
  // Returns whether all requests were fulfilled.
  bool run(const std::string& driver, const std::string& more, const std::string& auth_url,
           const std::string& cloud) {
    const test_support::TemporaryDirectory directory;
    const std::string database = directory.path() / "nodepool.db";
    const auto config = directory.write("nodepool.yaml", configuration(database, driver, more));
    const auto clouds = directory.write(
        "clouds.yaml", "clouds: {one: {private: true, auth: {auth_url: '" + auth_url +
                           "', username: ci, password: secret, project_name: p}}}");
    Child launcher({NODEPOOL_BINARIES "/nodepool-launcher", "-f", "--no-webapp", "-c", config},
                   {.environment = {{"OS_CLIENT_CONFIG_FILE", clouds}}});
    Tally tally;
    loop.run(measure(runtime, database, cloud, launcher.pid(), tally));
    launcher.signal(SIGTERM);
    launcher.wait();
    return tally.own_seconds.size() == kNodes;
  }

  async::EventLoop loop;
  async::SystemClock clock;
  async::Random random = async::Random::from_system();
  async::Runtime runtime{loop.executor(), clock, random};
};

bool run_fake(Bench& bench) {
  const std::string more = fmt::format(
      "    fake-cloud: {{boot-time: {}, limits: {{instances: {}, cores: -1, ram: -1}}}}\n",
      kBootTime.count(), kMachines);
  return bench.run("fake", more, "http://127.0.0.1:9", "driver fake");
}

// `rate`: seconds between two calls.
bool run_openstack(Bench& bench, const std::string& rate) {
  StandIn cloud(bench.runtime);
  cloud.networks = {{{"id", "id-net"}, {"name", "private"}}};
  cloud.subnets = {{{"network_id", "id-net"}, {"gateway_ip", "10.0.0.1"}}};
  cloud.flavors = {{{"id", "id-small"}, {"name", "m1.small"}, {"ram", 2048}, {"vcpus", 1}}};
  cloud.room = kMachines;
  cloud.ram = -1;
  cloud.boot_time = kBootTime;
  cloud.looks_until_active = 0;
  const bool done = bench.run("openstack", "    rate: " + rate + "\n", cloud.url() + "/identity",
                              "OpenStack's APIs on the loopback, rate " + rate);
  const int calls = cloud.count_all("");
  fmt::print("  {:.2f} calls per node, {} in all:", static_cast<double>(calls) / kMachines, calls);
  for (const auto& [call, times] : cloud.calls()) fmt::print(" {} {},", times, call);
  fmt::print("\n");
  bench.loop.run(cloud.stop());
  return done;
}

}  // namespace

int main() {
  Bench bench;
  const bool fake = run_fake(bench);
  const bool openstack = run_openstack(bench, "0");
  const bool paced = run_openstack(bench, "1.0");
  return fake && openstack && paced ? 0 : 1;
}
