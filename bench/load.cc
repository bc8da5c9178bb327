// Many clients at once: 200 slots of static hosts, 50 clients with a session each, 5,000 requests;
// each client asks, accepts, gives back, asks again. Embedded store with durable commits, the
// launcher as a process of its own. With `--kill N` the launcher is killed N times in between and
// started again.
//
// Says whether a request was lost or a node served twice at a time; that is not a figure, so it
// decides the exit status.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "async/task_scope.h"
#include "coordination/sqlite/sqlite_store.h"
#include "requestor/held_nodes.h"
#include "requestor/request.h"
#include "tests/support/child.h"
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

// The processor time that a process has used so far, in seconds (proc(5)).
double cpu_seconds(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string field;
  double ticks = 0;
  for (int i = 1; i <= 15 && file >> field; ++i) {
    if (i >= 14) ticks += std::stod(field);  // utime, stime
  }
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

struct Tally {
  int begun = 0;
  std::vector<double> milliseconds;  // from the creation of a request to its fulfilment
  int not_fulfilled = 0;
  int served_twice = 0;
  std::set<std::string> held;  // ids of nodes that a client holds now
};

Task<> one_request(async::Runtime runtime, coordination::Store& store, Tally& tally) {
  const async::Clock::TimePoint start = runtime.clock.now();
  requestor::Wish wish;
  wish.labels = {"bench"};
  wish.requestor = "bench";
  const std::string id = co_await requestor::ask(runtime, store, std::move(wish));
  requestor::Progress progress = [](const model::NodeRequest&) {};
  requestor::Answer answer =
      co_await requestor::await_answer(runtime, store, id, start + kPatience, std::move(progress));
  if (answer.outcome != requestor::Outcome::fulfilled) {
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
    spent_ += cpu_seconds(child_->pid());
    child_->signal(SIGKILL);
    child_->wait();
    start();
  }
  double cpu() const { return spent_ + cpu_seconds(child_->pid()); }

 private:
  void start() {
    child_ = std::make_unique<Child>(
        std::vector<std::string>{NODEPOOL_BINARIES "/nodepool-launcher", "-f", "-c", config_});
  }

  std::string config_;
  std::unique_ptr<Child> child_;
  double spent_ = 0;  // by those that were killed
};

// Kills the launcher each time another part of the requests is done.
Task<> kill_now_and_then(async::Runtime runtime, Launcher& launcher, int times, Tally& tally) {
  for (int i = 1; i <= times; ++i) {
    while (static_cast<int>(tally.milliseconds.size()) < i * kRequests / (times + 1)) {
      co_await runtime.clock.sleep_for(std::chrono::milliseconds(2));
    }
    launcher.kill_and_start();
  }
}

Task<> run(async::Runtime runtime, std::string database, Launcher& launcher, int kills,
           Tally& tally) {
  async::TaskScope scope(runtime, [](const std::string& name, const std::string& error) {
    fmt::print("{}: {}\n", name, error);
  });
  const async::Clock::TimePoint start = runtime.clock.now();
  for (int i = 0; i < kClients; ++i) {
    scope.spawn(fmt::format("client {}", i), client(runtime, database, tally));
  }
  scope.spawn("killer", kill_now_and_then(runtime, launcher, kills, tally));
  co_await scope.join();
  const double seconds = std::chrono::duration<double>(runtime.clock.now() - start).count();
  std::vector<double>& times = tally.milliseconds;
  std::ranges::sort(times);
  const auto percentile = [&times](double part) {
    return times.empty() ? 0 : times[static_cast<std::size_t>(part * (times.size() - 1.0))];
  };
  fmt::print("{} requests by {} clients on {} slots, SQLite, launcher killed {} times\n", kRequests,
             kClients, kHosts * kSlots, kills);
  fmt::print("  {:.0f} requests/s   p50 {:.1f} ms   p99 {:.1f} ms\n", times.size() / seconds,
             percentile(0.5), percentile(0.99));
  fmt::print("  launcher {:.2f} CPU s per 1,000 requests\n",
             launcher.cpu() * 1000 / static_cast<double>(times.size()));
  fmt::print("  not fulfilled {}, served twice {}\n", tally.not_fulfilled, tally.served_twice);
}

std::string configuration(const std::string& database) {
  std::string text = fmt::format(
      "store: sqlite://{}\nlabels: [{{name: bench}}]\nproviders:\n  - name: rack\n    driver: "
      "static\n    pools:\n      - name: main\n        nodes:\n",
      database);
  // Names with "fake" are not contacted: the figures are the launcher's and the store's.
  for (int i = 0; i < kHosts; ++i) {
    text += fmt::format("          - {{name: fake-{}, labels: [bench], max-parallel-jobs: {}}}\n",
                        i, kSlots);
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const bool with_kills = argc == 3 && std::string(argv[1]) == "--kill";
  const test_support::TemporaryDirectory directory;
  const std::string database = directory.path() / "nodepool.db";
  Launcher launcher(directory.write("nodepool.yaml", configuration(database)));
  async::EventLoop loop;
  async::SystemClock clock;
  async::Random random = async::Random::from_system();
  const async::Runtime runtime{loop.executor(), clock, random};
  Tally tally;
  loop.run(run(runtime, database, launcher, with_kills ? std::stoi(argv[2]) : 0, tally));
  const bool complete = static_cast<int>(tally.milliseconds.size()) == kRequests;
  return complete && tally.served_twice == 0 ? 0 : 1;
}
