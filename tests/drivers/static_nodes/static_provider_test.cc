#include "drivers/static_nodes/static_provider.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "async/event_loop.h"
#include "async/thread_pool.h"
#include "coordination/memory/memory_server.h"
#include "coordination/memory/memory_store.h"
#include "drivers/registry.h"
#include "drivers/static_nodes/static_config.h"
#include "model/records.h"
#include "nodescan/error.h"
#include "tests/drivers/provider_config_test.h"

namespace nodepool::drivers::static_nodes {
namespace {

using async::Task;
using testing::HasSubstr;

// No host has an address.
class NoHosts final : public nodescan::Scanner {
 public:
  Task<nodescan::Address> address(std::string /*host*/,
                                  async::Clock::TimePoint /*deadline*/) override {
    throw unresolved();
    co_return nodescan::Address{};
  }

  Task<> connectable(std::string /*host*/, std::uint16_t /*port*/,
                     async::Clock::TimePoint /*deadline*/, Attempts /*attempts*/) override {
    throw unresolved();
    co_return;
  }

  Task<std::vector<std::string>> host_keys(std::string /*host*/, std::uint16_t /*port*/,
                                           async::Clock::TimePoint /*deadline*/,
                                           nodescan::Progress* /*progress*/) override {
    throw unresolved();
    co_return std::vector<std::string>();
  }

 private:
  static nodescan::ScanError unresolved() {
    return {nodescan::ScanError::Kind::unresolved, "it has no address"};
  }
};

class StaticProviderTest : public ProviderConfigTest {
 protected:
  StaticProviderTest() : ProviderConfigTest(all_drivers().schemas()) {}

  std::unique_ptr<StaticProvider> provider() {
    const config::Config config = read(R"(
labels: [{name: a}]
providers: [{name: rack, driver: static, pools: [{name: main, nodes: [{name: h, labels: [a]}]}]}]
)");
    return std::make_unique<StaticProvider>(
        std::make_shared<StaticProviderConfig>(config.providers.at(0), config),
        driver::ProviderContext{.runtime = runtime_,
                                .store = store_,
                                .nodes = records_.nodes,
                                .images = records_.images,
                                .threads = threads_,
                                .log = log_,
                                .metrics = telemetry::Metrics().also_to(registry_)},
        std::make_unique<NoHosts>());
  }

  void start(StaticProvider& provider) {
    loop_.run(provider.start());
    while (loop_.poll()) {
    }
  }

  std::string metrics() const { return registry_->prometheus_text(); }

  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  coordination::MemoryServer server_;
  coordination::MemoryStore store_{server_, runtime_};
  telemetry::Logger log_{telemetry::Log::to_consumer([](auto&&...) {}), "test"};
  model::Records records_{runtime_, store_, log_};
  async::ThreadPool threads_{1, "test"};
  std::shared_ptr<telemetry::MetricsRegistry> registry_ =
      std::make_shared<telemetry::MetricsRegistry>();
};

TEST_F(StaticProviderTest, a_replaced_one_leaves_the_count_of_unhealthy_hosts_to_its_successor) {
  const auto replaced = provider();
  start(*replaced);
  EXPECT_THAT(metrics(), HasSubstr("nodepool_hosts_unhealthy{provider=\"rack\"} 1\n"));
  replaced->quiesce();
  const auto successor = provider();
  successor->take_over(*replaced);
  start(*successor);
  loop_.run(replaced->stop());
  EXPECT_THAT(metrics(), HasSubstr("nodepool_hosts_unhealthy{provider=\"rack\"} 1\n"));
  loop_.run(successor->stop());
  EXPECT_THAT(metrics(), HasSubstr("nodepool_hosts_unhealthy{provider=\"rack\"} 0\n"));
}

}  // namespace
}  // namespace nodepool::drivers::static_nodes
