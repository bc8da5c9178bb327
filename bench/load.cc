// Many concurrent clients: 200 slots of static hosts, 50 clients with a session each, 5,000
// requests; each client requests, accepts and returns nodes in a loop. Embedded store with durable
// commits, the launchers as separate processes, all with the same provider. Options: `--launchers
// N` (1),
// `--kill N` (0): how often a launcher, one after the other, is killed and restarted.
//
// The exit status is not 0 if a request was lost or a node was served to two clients at a time.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "async/task_scope.h"
#include "bench/process.h"
#include "coordination/sqlite/sqlite_store.h"
#include "requestor/held_nodes.h"
#include "requestor/request.h"
#include "tests/support/child.h"
#include "tests/support/network.h"
#include "tests/support/temporary_directory.h"

namespace {

using namespace nodepool;
using async::Task;
using test_support::Child;

constexpr int kHosts = 50;
constexpr int kSlots = 4;  // of each host
constexpr int kClients = 50;
constexpr int kRequests = 5000;
constexpr auto kPatience = std::chrono::minutes(5);

struct Tally {
  int begun = 0;
  std::vector<double> milliseconds;  // from the creation of a request until it is fulfilled
  int not_fulfilled = 0;
  int served_twice = 0;
  std::set<std::string> held;  // ids of nodes that clients hold
};

Task<> one_request(async::Runtime runtime, coordination::Store& store, Tally& tally) {
  const async::Clock::TimePoint start = runtime.clock.now();
  requestor::NodeRequestSpec request_spec;
  request_spec.labels = {"bench"};
  request_spec.requestor = "bench";
  const std::string id =
      co_await requestor::create_request(runtime, store, std::move(request_spec));
  requestor::Progress progress = [](const model::NodeRequest&) {};
  requestor::Result answer =
      co_await requestor::await_result(runtime, store, id, start + kPatience, std::move(progress));
  if (answer.kind != requestor::Result::Kind::fulfilled) {
    ++tally.not_fulfilled;
    co_return;
  }
  tally.milliseconds.push_back(
      std::chrono::duration<double, std::milli>(runtime.clock.now() - start).count());
  requestor::HeldNodes nodes(runtime, store);
  co_await nodes.accept(std::move(answer.request));
  for (const model::Node& node : nodes.nodes()) {
    if (!tally.held.insert(node.id).second) ++tally.served_twice;
  }
  for (const model::Node& node : nodes.nodes()) tally.held.erase(node.id);
  co_await nodes.release();
}

Task<> client(async::Runtime runtime, std::string database, Tally& tally) {
  const auto store = co_await coordination::sqlite::open_store(runtime, {.path = database});
  while (tally.begun < kRequests) {
    ++tally.begun;
    co_await one_request(runtime, *store, tally);
  }
  co_await store->close();
}

class Launcher {
 public:
  explicit Launcher(std::string config) : config_(std::move(config)) { start(); }

  void kill_and_start() {
    spent_ += bench::cpu_seconds(child_->pid());
    child_->signal(SIGKILL);
    child_->wait();
    start();
  }
  double cpu() const { return spent_ + bench::cpu_seconds(child_->pid()); }

 private:
  void start() {
    child_ = std::make_unique<Child>(std::vector<std::string>{
        NODEPOOL_BINARIES "/nodepool-launcher", "-f", "--no-webapp", "-c", config_});
  }

  std::string config_;
  std::unique_ptr<Child> child_;
  double spent_ = 0;  // by killed launchers
};

using Launchers = std::vector<std::unique_ptr<Launcher>>;

// Kills a launcher after each part of the requests.
Task<> kill_now_and_then(async::Runtime runtime, Launchers& launchers, int times, Tally& tally) {
  for (int i = 1; i <= times; ++i) {
    while (static_cast<int>(tally.milliseconds.size()) < i * kRequests / (times + 1)) {
      co_await runtime.clock.sleep_for(std::chrono::milliseconds(2));
    }
    launchers[static_cast<std::size_t>(i) % launchers.size()]->kill_and_start();
  }
}

// The id of the latest change of the store.
Task<std::int64_t> latest_change(async::Runtime runtime, std::string database) {
  const auto store = co_await coordination::sqlite::open_store(runtime, {.path = database});
  const coordination::Stat stat = co_await store->set("/", "", coordination::kAnyVersion);
  co_await store->close();
  co_return stat.mzxid;
}

void print(const Launchers& launchers, int kills, Tally& tally, double seconds,
           std::int64_t changes) {
  std::vector<double>& times = tally.milliseconds;
  std::ranges::sort(times);
  const auto percentile = [&times](double part) {
    return times.empty() ? 0 : times[static_cast<std::size_t>(part * (times.size() - 1.0))];
  };
  const auto requests = static_cast<double>(times.size());
  double cpu = 0;
  for (const auto& launcher : launchers) cpu += launcher->cpu();
  fmt::print("{} requests by {} clients on {} slots, SQLite, {} launcher(s), {} kills\n", kRequests,
             kClients, kHosts * kSlots, launchers.size(), kills);
  fmt::print("  {:.0f} requests/s   p50 {:.1f} ms   p99 {:.1f} ms\n", requests / seconds,
             percentile(0.5), percentile(0.99));
  fmt::print("  launchers {:.2f} CPU s per 1,000 requests\n", cpu * 1000 / requests);
  fmt::print("  {:.1f} changes of the store per request, by launchers and clients\n",
             static_cast<double>(changes) / requests);
  fmt::print("  not fulfilled {}, served twice {}\n", tally.not_fulfilled, tally.served_twice);
}

Task<> run(async::Runtime runtime, std::string database, Launchers& launchers, int kills,
           Tally& tally) {
  async::TaskScope scope(runtime, [](const std::string& name, const std::string& error) {
    fmt::print("{}: {}\n", name, error);
  });
  const std::int64_t first_change = co_await latest_change(runtime, database);
  const async::Clock::TimePoint start = runtime.clock.now();
  for (int i = 0; i < kClients; ++i) {
    scope.spawn(fmt::format("client {}", i), client(runtime, database, tally));
  }
  scope.spawn("killer", kill_now_and_then(runtime, launchers, kills, tally));
  co_await scope.join();
  const double seconds = std::chrono::duration<double>(runtime.clock.now() - start).count();
  const std::int64_t changes = co_await latest_change(runtime, database) - first_change;
  print(launchers, kills, tally, seconds, changes);
}

// All hosts are one listener, so the results include the kernel's time to accept a connection for
// each slot.
std::string configuration(const std::string& database, int port) {
  std::string text = fmt::format(
      "store: sqlite://{}\nlabels: [{{name: bench}}]\nproviders:\n  - name: rack\n    driver: "
      "static\n    pools:\n      - name: main\n        nodes:\n",
      database);
  for (int i = 0; i < kHosts; ++i) {
    text += fmt::format(
        "          - {{name: 127.0.0.1, connection-port: {}, username: ci{}, host-key-checking: "
        "false, labels: [bench], max-parallel-jobs: {}}}\n",
        port, i, kSlots);
  }
  return text;
}

int option(const std::vector<std::string>& arguments, const std::string& name, int otherwise) {
  const auto found = std::ranges::find(arguments, name);
  if (found == arguments.end() || found + 1 == arguments.end()) return otherwise;
  return std::stoi(*(found + 1));
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const test_support::TcpListener hosts(test_support::TcpListener::Behaviour::closing);
  const test_support::TemporaryDirectory directory;
  const std::string database = directory.path() / "nodepool.db";
  const std::string config =
      directory.write("nodepool.yaml", configuration(database, hosts.port()));
  Launchers launchers;
  for (int i = 0; i < option(arguments, "--launchers", 1); ++i) {
    launchers.push_back(std::make_unique<Launcher>(config));
  }
  async::EventLoop loop;
  async::SystemClock clock;
  async::Random random = async::Random::from_system();
  const async::Runtime runtime{loop.executor(), clock, random};
  Tally tally;
  loop.run(run(runtime, database, launchers, option(arguments, "--kill", 0), tally));
  const bool complete = static_cast<int>(tally.milliseconds.size()) == kRequests;
  return complete && tally.served_twice == 0 ? 0 : 1;
}
