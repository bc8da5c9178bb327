// What providers of one cluster share, in virtual time, over HTTP on the loopback: calls are
// counted.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "async/live_tasks.h"
#include "async/task_scope.h"
#include "config/load.h"
#include "driver/ownership.h"
#include "drivers/kubernetes/space_adapter.h"
#include "tests/drivers/kubernetes/stand_in/stand_in.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::drivers::kubernetes {
namespace {

using async::Task;
using testing::ElementsAre;

class EndpointTest : public testing::Test {
 protected:
  EndpointTest() { add_space("a"); }

  ~EndpointTest() override {
    for (const auto& adapter : adapters_) loop_.run(adapter->stop());
    loop_.run(cluster_.stop());
  }

  std::shared_ptr<ClusterEndpoint> make_endpoint() {
    return std::make_shared<ClusterEndpoint>(runtime_, config()->cluster(), threads_, log_,
                                             make_spaces_);
  }

  std::shared_ptr<const KubeConfig> config() {
    const config::Environment environment = {
        {"KUBECONFIG",
         directory_.write("kubeconfig",
                          "current-context: one\ncontexts: [{name: one, context: {cluster: c}}]\n"
                          "clusters: [{name: c, cluster: {server: '" +
                              cluster_.url() + "'}}]\n")}};
    config::LoadOptions options;
    options.path = directory_.write("nodepool.yaml",
                                    "labels: [{name: small}]\nproviders:\n"
                                    "  - name: kube\n    driver: kubernetes\n" +
                                        options_ +
                                        "    pools:\n"
                                        "      - name: main\n        labels: [{name: small, "
                                        "type: " +
                                        type_ + "}]\n");
    options.drivers.schemas = {{"kubernetes", &kube_schema(Kind::kubernetes)}};
    const config::Config config = config::load(options).config;
    return std::make_shared<KubeConfig>(Kind::kubernetes, config.providers.at(0), config,
                                        environment);
  }

  void add_space(const std::string& name) {
    const StandIn::Json labels = {{std::string(driver::kNodeIdKey), "0000000001"}};
    cluster_.add("namespaces/" + name, {{"metadata", {{"labels", labels}}}});
  }

  SpaceAdapter& start_provider(std::shared_ptr<ClusterEndpoint> endpoint) {
    adapters_.push_back(std::make_unique<SpaceAdapter>(runtime_, config(), std::move(endpoint),
                                                       log_, make_spaces_));
    loop_.run(adapters_.back()->start([] {}));
    return *adapters_.back();
  }

  // Every call that waits for an answer is a watch that the cluster holds back.
  bool is_silent() {
    const auto tasks = async::live_tasks(runtime_.executor);
    const auto calls = std::ranges::count_if(tasks, [](const async::LiveTask& task) {
      return std::ranges::any_of(task.waits, [](const async::LiveTask::Wait& wait) {
        return wait.what.starts_with("http:");
      });
    });
    return !loop_.poll() && static_cast<std::size_t>(calls) <= cluster_.held_back();
  }

  // Without that time passes.
  void run_until_silent() {
    while (!is_silent()) {
    }
  }

  void run_until_ended() {
    while (!scope_.empty()) {
      if (is_silent()) clock_.advance_to(clock_.next_wakeup());
    }
  }

  static Task<> list(SpaceAdapter& adapter) {
    const driver::MachineList list = co_await adapter.list();
    EXPECT_EQ(list.machines.size(), 1);
  }

  // The calls of two providers that start, and list their nodes at the same time.
  std::vector<int> calls_of(const std::shared_ptr<ClusterEndpoint>& first,
                            const std::shared_ptr<ClusterEndpoint>& second) {
    for (const auto& endpoint : {first, second}) start_provider(endpoint);
    run_until_silent();
    for (const auto& adapter : adapters_) scope_.spawn("list", list(*adapter));
    run_until_ended();
    return {cluster_.count("WATCH namespaces"), cluster_.count("WATCH pods"),
            cluster_.count("LIST namespaces")};
  }

  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  async::ThreadPool threads_{1, "test"};
  test_support::TemporaryDirectory directory_;
  StandIn cluster_{runtime_};
  std::vector<std::string> logged_;
  telemetry::Logger log_{
      telemetry::Log::to_consumer([this](telemetry::LogLevel, std::string_view,
                                         std::string_view line) { logged_.emplace_back(line); }),
      "test"};
  MakeSpaces make_spaces_ = [this](KubeApi& api) {
    return std::make_unique<Namespaces>(runtime_, log_, api);
  };
  std::string type_ = "namespace";  // of the label
  std::string options_;             // of the provider
  std::vector<std::unique_ptr<SpaceAdapter>> adapters_;
  async::TaskScope scope_{runtime_, [](const std::string& name, const std::string& error) {
                            ADD_FAILURE() << name << ": " << error;
                          }};
};

TEST_F(EndpointTest, providers_of_one_cluster_watch_and_list_once) {
  const auto shared = make_endpoint();
  EXPECT_THAT(calls_of(shared, shared), ElementsAre(1, 1, 1));
}

TEST_F(EndpointTest, providers_that_are_limited_to_the_capacity_of_a_cluster_list_its_pods_once) {
  options_ = "    limit-to-cluster-capacity: true\n";
  const auto shared = make_endpoint();
  calls_of(shared, shared);
  EXPECT_EQ(cluster_.count("LIST pods"), 1);
}

TEST_F(EndpointTest, two_endpoints_watch_and_list_twice) {
  EXPECT_THAT(calls_of(make_endpoint(), make_endpoint()), ElementsAre(2, 2, 2));
}

TEST_F(EndpointTest, providers_of_one_cluster_learn_once_that_they_may_not_list_pods) {
  type_ = "pod";
  cluster_.denied = {"LIST pods"};
  const auto shared = make_endpoint();
  for (int i = 0; i < 2; ++i) calls_of(shared, shared);
  EXPECT_EQ(cluster_.count("LIST pods"), 1);
  EXPECT_THAT(logged_, testing::Contains(testing::HasSubstr("one by one")).Times(1));
}

TEST_F(EndpointTest, the_watch_of_a_provider_survives_the_stop_of_the_other) {
  const auto shared = make_endpoint();
  start_provider(shared);
  SpaceAdapter& second = start_provider(shared);
  run_until_silent();
  loop_.run(adapters_.front()->stop());
  adapters_.erase(adapters_.begin());
  scope_.spawn("delete", second.remove_resource(
                             {.type = std::string(kNodeResource), .id = "a", .metadata = {}}));
  const auto begun = clock_.now();
  run_until_ended();
  EXPECT_THAT(cluster_.things(), testing::IsEmpty());
  EXPECT_LT(clock_.now() - begun, kWatched.unknown) << "reported by the watch";
}

}  // namespace
}  // namespace nodepool::drivers::kubernetes
