// The simulator decides like the launcher.
#include "planning/decision_simulator.h"

#include <gtest/gtest.h>

#include <random>

#include "model/component_table.h"
#include "model/node_table.h"
#include "model/paths.h"
#include "model/request_table.h"
#include "planning/decision_text.h"
#include "tests/launcher/launcher_fixture.h"

namespace nodepool::launcher {
namespace {

using model::RequestState;
using planning::Decision;
using std::chrono::seconds;

constexpr auto kWorld = R"(
labels: [{name: a}, {name: b}, {name: c}]
tenant-resource-limits: [{tenant-name: acme, max-servers: 2}]
providers:
  - name: rack
    driver: static
    pools:
      - name: main
        nodes:
          - {name: host-a, labels: [a], max-parallel-jobs: 2}
          - {name: host-b, labels: [a, b]}
  - name: sky
    driver: cloud
    max-concurrency: 2
    pools:
      - {name: small, max-servers: 2, labels: [a, c]}
      - {name: large, max-servers: 4, labels: [b, c], priority: 50}
)";

// Requests are created, served, withdrawn and released. The simulator, which reads the records
// alone, decides like the launcher, which follows events.
class DecisionSimulatorTest : public LauncherFixture, public testing::WithParamInterface<unsigned> {
 protected:
  ~DecisionSimulatorTest() override { loop_.run(scope_.stop()); }

  unsigned draw(unsigned below) { return std::uniform_int_distribution(0u, below - 1)(engine_); }

  void ask() {
    const std::vector<std::string> labels{"a", "b", "c"};
    std::vector<std::string> wanted;
    for (unsigned i = 0; i <= draw(3); ++i) wanted.push_back(labels[draw(3)]);
    const bool is_tenants = draw(2) == 0;
    const bool reuse = draw(5) != 0;
    requests_.push_back(request(wanted, [&](model::NodeRequest& request) {
      if (is_tenants) request.tenant_name = "acme";
      request.reuse = reuse;
    }));
  }

  void give_one_back() {
    if (in_use_.empty()) return;
    const auto node = in_use_.begin() + draw(static_cast<unsigned>(in_use_.size()));
    give_back(*node);
    in_use_.erase(node);
  }

  void take_what_is_fulfilled() {
    std::erase_if(requests_, [this](const std::string& id) {
      const model::NodeRequest answer = read_request(id);
      if (answer.state == RequestState::failed) cancel(id);
      if (answer.state != RequestState::fulfilled) return answer.state == RequestState::failed;
      in_use_.insert(in_use_.end(), answer.nodes.begin(), answer.nodes.end());
      accept(id);
      return true;
    });
  }

  void withdraw_one() {
    if (requests_.empty()) return;
    const auto id = requests_.begin() + draw(static_cast<unsigned>(requests_.size()));
    cancel(*id);
    requests_.erase(id);
  }

  void step_of_the_world() {
    switch (draw(6)) {
      case 0:
        return withdraw_one();
      case 1:
      case 2:
        return give_one_back();
      default:
        return ask();
    }
  }

  std::shared_ptr<driver::Provider> provider(const config::Config& config, std::string_view name) {
    for (const config::ProviderSection& section : config.providers) {
      if (section.name != name) continue;
      const driver::Driver& driver = drivers_.driver(section.driver);
      return driver.provider(
          driver.configure(section, config),
          {runtime_, *requestor_, known_nodes_, known_images_, threads_, quiet_});
    }
    throw std::out_of_range("no such provider");
  }

  // Decisions that the launcher would have carried out already.
  void expect_that_nothing_is_left_to_do() {
    const config::Config config = parse(kWorld);
    std::map<std::string, std::shared_ptr<driver::Provider>, std::less<>> providers;
    for (const std::string_view name : {"rack", "sky"}) {
      providers.emplace(name, provider(config, name));
    }
    planning::ResourceUsage usage(
        known_nodes_, [&](std::string_view name, std::string_view pool, std::string_view label) {
          return std::optional(providers.find(name)->second->offer()->label(pool, label).need);
        });
    for (const model::Component* pool : known_components_.pools()) {
      planning::QuotaFacts quota;
      if (pool->provider_name == "sky") quota.available = cloud_->limits;
      planning::DecisionSimulator simulator(
          {clock_.wall_seconds(), known_nodes_, known_requests_, known_components_.pools(),
           config.tenant_limits, usage, [](const model::NodeRequest&) { return std::string(); }},
          *pool, providers.at(pool->provider_name)->config(),
          providers.at(pool->provider_name)->offer(), quota);
      for (const auto& [key, id] : known_requests_.waiting()) {
        const std::optional<Decision> decision = simulator.decision_about(id);
        ASSERT_TRUE(decision);
        EXPECT_EQ(decision->kind, Decision::Kind::wait)
            << pool->name << " about " << id << ": " << sentence(*decision);
        ++compared_;
      }
    }
  }

  void follow() {
    scope_.spawn("nodes", known_nodes_.run());
    scope_.spawn("requests", known_requests_.run());
    scope_.spawn("components", known_components_.run());
  }

  std::mt19937 engine_{GetParam()};
  std::vector<std::string> requests_;  // not yet served
  std::vector<std::string> in_use_;    // nodes
  int compared_ = 0;

  telemetry::Logger quiet_{
      telemetry::Log::to_consumer([](telemetry::LogLevel, std::string_view, std::string_view) {},
                                  telemetry::LogLevel::error),
      "test"};
  async::ThreadPool threads_{1, "blocking calls"};
  model::NodeTable known_nodes_{runtime_, *requestor_, quiet_};
  model::RequestTable known_requests_{runtime_, *requestor_, quiet_};
  model::ComponentTable known_components_{runtime_, *requestor_, quiet_};
  model::ImageTable known_images_{runtime_, *requestor_, quiet_};
  async::TaskScope scope_{runtime_, [](const std::string&, const std::string&) {}};
};

TEST_P(DecisionSimulatorTest, a_simulated_decision_finds_no_missed_request) {
  cloud_->limits = {{"instances", 5}};
  cloud_->launch_time = std::chrono::milliseconds(500);
  start(kWorld);
  follow();
  for (int round = 0; round < 25; ++round) {
    const unsigned steps = 1 + draw(4);
    for (unsigned i = 0; i < steps; ++i) step_of_the_world();
    pass(seconds(5));
    take_what_is_fulfilled();
    pass(seconds(5));
    expect_that_nothing_is_left_to_do();
  }
  EXPECT_GT(compared_, 0) << "no request waited";
}

INSTANTIATE_TEST_SUITE_P(Worlds, DecisionSimulatorTest, testing::Range(0u, 20u));

}  // namespace
}  // namespace nodepool::launcher
