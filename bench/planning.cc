// The time for decisions with many nodes, requests and pools: one decision of each pool about each
// waiting request, from the records, in the order of the queue.
#include <fmt/format.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "async/task_scope.h"
#include "config/config.h"
#include "config/load.h"
#include "coordination/memory/memory_server.h"
#include "coordination/memory/memory_store.h"
#include "coordination/tree.h"
#include "drivers/registry.h"
#include "model/paths.h"
#include "planning/decision_simulator.h"

namespace {

using namespace nodepool;  // NOLINT: a program

constexpr int kPools = 50;
constexpr int kNodes = 10'000;
constexpr int kRequests = 5'000;
constexpr int kLabels = 40;

std::string label(int number) {
  return fmt::format("label-{}", number % kLabels);
}

// Pools of static hosts with all labels. The hosts exist only in the records.
std::string configuration() {
  std::string labels;
  std::string names;
  for (int i = 0; i < kLabels; ++i) {
    labels += fmt::format("  - {{name: {}}}\n", label(i));
    names += (i > 0 ? ", " : "") + label(i);
  }
  std::string yaml = "labels:\n" + labels + "providers:\n";
  for (int i = 0; i < kPools; ++i) {
    yaml += fmt::format(
        "  - {{name: rack-{0}, driver: static, pools: [{{name: main, nodes: [{{name: h-{0}, "
        "max-parallel-jobs: 1000, labels: [{1}]}}]}}]}}\n",
        i, names);
  }
  return yaml;
}

model::Node node(int number) {
  model::Node node;
  node.provider = fmt::format("rack-{}", number % kPools);
  node.pool = "main";
  node.type = {label(number)};
  // One in fifty is free.
  node.set_state(number % 50 == 0 ? model::NodeState::ready : model::NodeState::in_use, 0);
  return node;
}

model::NodeRequest request(int number) {
  model::NodeRequest request;
  for (int i = 0; i <= number % 3; ++i) request.node_types.push_back(label(number * 7 + i));
  request.requestor = "bench";
  request.set_state(model::RequestState::requested, 0);
  return request;
}

model::Component pool(int number) {
  model::Component pool;
  pool.kind = model::Component::Kind::pool;
  pool.id = fmt::format("host-PoolWorker.rack-{0}-main-{0}", number);
  pool.name = "main";
  pool.provider_name = fmt::format("rack-{}", number);
  for (int i = 0; i < kLabels; ++i) pool.supported_labels.push_back(label(i));
  return pool;
}

}  // namespace

int main() {
  async::EventLoop loop;
  async::VirtualClock clock;
  async::Random random(1);
  const async::Runtime runtime{loop.executor(), clock, random};
  coordination::MemoryServer server;
  coordination::MemoryStore store(server, runtime);
  const telemetry::Logger log(
      telemetry::Log::to_consumer([](telemetry::LogLevel, std::string_view, std::string_view) {},
                                  telemetry::LogLevel::error),
      "bench");
  for (const std::string_view root : {model::kNodesRoot, model::kRequestsRoot}) {
    loop.run(coordination::ensure_path(store, std::string(root)));
  }
  const auto sequential = coordination::CreateMode::persistent_sequential;
  for (int i = 0; i < kNodes; ++i) {
    loop.run(store.create(model::node_path(""), to_record(node(i)), sequential));
  }
  for (int i = 0; i < kRequests; ++i) {
    loop.run(store.create(model::request_path("100-"), to_record(request(i)), sequential));
  }
  model::NodeTable nodes(runtime, store, log);
  model::RequestTable requests(runtime, store, log);
  model::ImageTable images(runtime, store, log);
  async::ThreadPool threads(1, "blocking calls");
  async::TaskScope scope(runtime, [](const std::string&, const std::string&) {});
  scope.spawn("nodes", nodes.run());
  scope.spawn("requests", requests.run());
  while (loop.poll()) {
  }

  const driver::DriverRegistry drivers = drivers::all_drivers();
  const std::string path = fmt::format("/tmp/bench-planning-{}.yaml", ::getpid());
  std::ofstream(path) << configuration();
  config::LoadOptions options;
  options.path = path;
  options.drivers = drivers.schemas();
  const config::Config config = config::load(options).config;
  std::filesystem::remove(path);
  std::vector<model::Component> components;
  for (int i = 0; i < kPools; ++i) components.push_back(pool(i));
  std::vector<const model::Component*> pools;
  for (const model::Component& component : components) pools.push_back(&component);
  planning::ResourceUsage usage(nodes, [](std::string_view, std::string_view, std::string_view) {
    return std::optional(driver::Resources({{"instances", 1}}));
  });

  std::size_t verdicts = 0;
  std::size_t accepted = 0;
  const std::clock_t begun = std::clock();
  for (int i = 0; i < kPools; ++i) {
    const driver::Driver& driver = drivers.driver("static");
    planning::DecisionSimulator outlook(
        {0, nodes, requests, pools, config.tenant_limits, usage,
         [](const model::NodeRequest&) { return std::string(); }},
        components[i],
        driver.provider(driver.configure(config.providers[i], config),
                        {runtime, store, nodes, images, threads, log}),
        {});
    for (const auto& [order, id] : requests.waiting()) {
      const auto decision = outlook.decision_about(id);
      ++verdicts;
      if (decision->kind == planning::Decision::Kind::accept) ++accepted;
    }
  }
  const double took = static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC;
  fmt::print(
      "{} nodes, {} requests, {} pools: {} verdicts, {} accept, {:.2f} CPU s, {:.1f} us each\n",
      kNodes, kRequests, kPools, verdicts, accepted, took,
      took * 1e6 / static_cast<double>(verdicts));
  loop.run(scope.stop());
  return 0;
}
