// The costs of an idle launcher with 10,000 node records and 2,000 requests that it cannot serve,
// on the embedded store. Prints the time until the first response, and the CPU time and memory
// used.

#include <fmt/format.h>

#include <fstream>
#include <string>

#include "async/event_loop.h"
#include "bench/process.h"
#include "coordination/sqlite/sqlite_store.h"
#include "coordination/tree.h"
#include "model/node.h"
#include "model/node_request.h"
#include "model/paths.h"
#include "requestor/request.h"
#include "tests/support/child.h"
#include "tests/support/temporary_directory.h"

namespace {

using namespace nodepool;
using async::Task;
using test_support::Child;

constexpr int kNodes = 10000;
constexpr int kRequests = 2000;
constexpr int kAtOnce = 500;  // records in one transaction
constexpr auto kIdleTime = std::chrono::seconds(60);
constexpr auto kPatience = std::chrono::minutes(5);

constexpr auto kConfiguration = R"(
labels: [{{name: bench}}, {{name: scarce}}]
store: sqlite://{}
providers:
  - name: rack
    driver: static
    pools:
      - name: main
        nodes:
          - {{name: 127.0.0.1, host-key-checking: false, labels: bench}}
          - {{name: 127.0.0.2, host-key-checking: false, labels: scarce}}
)";

Task<> add(coordination::Store& store, std::string path, std::string text, int count) {
  for (int done = 0; done < count; done += kAtOnce) {
    coordination::Transaction transaction;
    for (int i = 0; i < kAtOnce; ++i) {
      transaction.create(path, text, coordination::CreateMode::persistent_sequential);
    }
    co_await store.commit(std::move(transaction));
  }
}

// Nodes in use, and requests that wait for two nodes although there is one.
Task<> fill(async::Runtime runtime, coordination::Store& store) {
  co_await coordination::ensure_path(store, std::string(model::kNodesRoot));
  co_await coordination::ensure_path(store, std::string(model::kRequestsRoot));
  model::Node node;
  node.set_state(model::NodeState::hold, runtime.clock.wall_seconds());
  node.provider = "elsewhere";
  node.pool = "main";
  node.type = {"bench"};
  co_await add(store, model::node_path(""), to_record(node), kNodes);
  model::NodeRequest request;
  request.set_state(model::RequestState::requested, runtime.clock.wall_seconds());
  request.node_types = {"scarce"};
  request.requestor = "bench";
  co_await add(store, model::request_path("300-"), to_record(request), kRequests);
}

Task<> ask(async::Runtime runtime, coordination::Store& store) {
  requestor::NodeRequestSpec request_spec;
  request_spec.labels = {"bench"};
  request_spec.requestor = "bench";
  const std::string id =
      co_await requestor::create_request(runtime, store, std::move(request_spec));
  requestor::Progress progress = [](const model::NodeRequest&) {};
  co_await requestor::await_result(runtime, store, id, runtime.clock.now() + kPatience,
                                   std::move(progress));
}

Task<> run(async::Runtime runtime, std::string database, std::string config) {
  const auto store = co_await coordination::sqlite::open_store(runtime, {.path = database});
  co_await fill(runtime, *store);
  const auto start = runtime.clock.now();
  Child launcher({NODEPOOL_BINARIES "/nodepool-launcher", "-f", "--no-webapp", "-c", config});
  co_await ask(runtime, *store);
  const double seconds = std::chrono::duration<double>(runtime.clock.now() - start).count();
  const double used = bench::cpu_seconds(launcher.pid());
  fmt::print("{} node records, {} waiting requests: first response after {:.2f} s, {:.2f} CPU s\n",
             kNodes, kRequests, seconds, used);
  co_await runtime.clock.sleep_for(
      std::chrono::seconds(5));  // until the work of the start is complete
  const double before = bench::cpu_seconds(launcher.pid());
  co_await runtime.clock.sleep_for(kIdleTime);
  const double idle = bench::cpu_seconds(launcher.pid()) - before;
  fmt::print("  idle: {:.3f} % of a core, {:.0f} MB resident at most\n",
             100 * idle / std::chrono::duration<double>(kIdleTime).count(),
             bench::peak_megabytes(launcher.pid()));
  co_await store->close();
}

}  // namespace

int main() {
  const test_support::TemporaryDirectory directory;
  const std::string database = directory.path() / "nodepool.db";
  const std::string config =
      directory.write("nodepool.yaml", fmt::format(kConfiguration, database));
  async::EventLoop loop;
  async::SystemClock clock;
  async::Random random = async::Random::from_system();
  loop.run(run({loop.executor(), clock, random}, database, config));
  return 0;
}
