// The latency of a request for a ready node without other load: the time from the creation of its
// record until its requestor, in another process than the launcher, reads `fulfilled`. With an SSH
// server as the host (the launcher connects to it before each assignment), the embedded store with
// durable commits, and the launcher as a separate process.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/event_loop.h"
#include "bench/process.h"
#include "coordination/path.h"
#include "coordination/sqlite/sqlite_store.h"
#include "coordination/tree.h"
#include "model/node.h"
#include "model/node_request.h"
#include "model/paths.h"
#include "tests/support/child.h"
#include "tests/support/sshd.h"
#include "tests/support/temporary_directory.h"

namespace {

using namespace nodepool;
using async::Task;
using coordination::Store;

constexpr int kRequests = 500;

// The pause between requests, until the SSH server has finished the last connection and all is
// idle.
constexpr auto kPause = std::chrono::milliseconds(20);

double milliseconds(async::Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

class Requestor {
 public:
  Requestor(async::Runtime runtime, Store& store) : runtime_(runtime), store_(store) {}

  // Requests a node and withdraws the request when it is fulfilled; returns the time in between.
  Task<async::Duration> request() {
    async::Event changed;
    const auto watching = store_.watch(std::string(model::kRequestsRoot),
                                       [&](const coordination::WatchEvent&) { changed.set(); });
    model::NodeRequest request;
    request.node_types = {"bench"};
    request.requestor = "bench";
    const async::Clock::TimePoint start = runtime_.clock.now();
    const std::string path = co_await store_.create(model::request_path("200-"), to_record(request),
                                                    coordination::CreateMode::ephemeral_sequential);
    const std::string id(coordination::base_name(path));
    while (request.state != model::RequestState::fulfilled) {
      co_await changed.wait();
      request = model::parse_node_request(id, co_await store_.get(path));
    }
    const async::Duration elapsed = runtime_.clock.now() - start;
    co_await store_.remove(path, coordination::kAnyVersion);
    co_return elapsed;
  }

  // Waits until a node is ready and free.
  Task<> wait_for_free_node() {
    async::Event changed;
    const auto watching = store_.watch(std::string(model::kNodesRoot),
                                       [&](const coordination::WatchEvent&) { changed.set(); });
    while (!co_await has_free_node()) co_await changed.wait();
  }

  // The number of changes of the store.
  Task<std::int64_t> changes() {
    co_return (co_await store_.set("/bench", "", coordination::kAnyVersion)).mzxid;
  }

 private:
  Task<bool> has_free_node() {
    const auto root = co_await store_.exists(std::string(model::kNodesRoot));
    if (!root) co_return false;
    const auto ids = co_await store_.children(std::string(model::kNodesRoot));
    for (const std::string& id : ids) {
      const auto node = model::parse_node(id, co_await store_.get(model::node_path(id)));
      if (node.state == model::NodeState::ready && !node.allocated_to) co_return true;
    }
    co_return false;
  }

  async::Runtime runtime_;
  Store& store_;
};

Task<> measure(async::Runtime runtime, std::string database, pid_t launcher) {
  const auto store = co_await coordination::sqlite::open_store(runtime, {.path = database});
  co_await coordination::ensure_path(*store, "/bench");
  Requestor requestor(runtime, *store);
  co_await requestor.wait_for_free_node();
  co_await requestor.request();  // warms up
  co_await requestor.wait_for_free_node();

  std::vector<double> times;
  const std::int64_t changes_before = co_await requestor.changes();
  const double cpu_before = bench::cpu_seconds(launcher);
  for (int i = 0; i < kRequests; ++i) {
    times.push_back(milliseconds(co_await requestor.request()));
    co_await requestor.wait_for_free_node();
    co_await runtime.clock.sleep_for(kPause);
  }
  const double cpu = bench::cpu_seconds(launcher) - cpu_before;
  const std::int64_t changes = co_await requestor.changes() - changes_before - 1;
  std::ranges::sort(times);
  const auto percentile = [&times](double part) {
    return times[static_cast<std::size_t>(part * static_cast<double>(times.size() - 1))];
  };
  fmt::print("request to fulfilment, one ready static node, SQLite, no other load ({} requests)\n",
             kRequests);
  fmt::print("  p50 {:.2f} ms   p99 {:.2f} ms   max {:.2f} ms\n", percentile(0.5), percentile(0.99),
             times.back());
  // Created 1; locked 3; allocated, fulfilled and unlocked 4; withdrawn 1; locked 1, freed and
  // unlocked 2.
  fmt::print("  changes of records per request and withdrawal {:.2f}\n",
             static_cast<double>(changes) / kRequests);
  fmt::print("  launcher {:.2f} CPU s per 1,000 requests\n", cpu * 1000 / kRequests);
  co_await store->close();
}

}  // namespace

int main() {
  const test_support::Sshd sshd;
  const test_support::TemporaryDirectory directory;
  const std::string database = directory.path() / "nodepool.db";
  const auto config = directory.write(
      "nodepool.yaml", fmt::format("store: sqlite://{}\n"
                                   "labels: [{{name: bench}}]\n"
                                   "providers:\n"
                                   "  - name: rack\n"
                                   "    driver: static\n"
                                   "    pools:\n"
                                   "      - name: main\n"
                                   "        nodes:\n"
                                   "          - {{name: {}, connection-port: {}, username: {}, "
                                   "labels: [bench]}}\n",
                                   database, sshd.address(), sshd.port(), sshd.user()));
  test_support::Child launcher(
      {NODEPOOL_BINARIES "/nodepool-launcher", "-f", "--no-webapp", "-c", config});
  async::EventLoop loop;
  async::SystemClock clock;
  async::Random random = async::Random::from_system();
  const async::Runtime runtime{loop.executor(), clock, random};
  loop.run(measure(runtime, database, launcher.pid()));
  launcher.signal(SIGTERM);
  launcher.wait();
  std::istringstream log(launcher.standard_output());
  for (std::string line; std::getline(log, line);) {
    if (line.find(" INFO ") == std::string::npos) fmt::print("  launcher: {}\n", line);
  }
  return 0;
}
