// What providers on one account share, in virtual time, over HTTP on the loopback: calls are
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
#include "driver/statemachine/journaled_steps.h"
#include "drivers/openstack/config/openstack_schema.h"
#include "drivers/openstack/openstack_adapter.h"
#include "tests/drivers/openstack/stand_in/stand_in.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::drivers::openstack {
namespace {

using async::Task;
using std::chrono::seconds;

constexpr const char* kServerList = "GET /compute/servers/detail";
constexpr const char* kServerMade = "POST /compute/servers";

// A launch whose record is nowhere.
class UnsavedLaunch final : public driver::NodeLaunch {
 public:
  explicit UnsavedLaunch(const std::string& id) { node_.id = id; }
  model::Node& node() override { return node_; }
  const model::NodeRequest& request() const override { return request_; }
  Task<> save() override { co_return; }

  driver::LaunchJournal journal;

 private:
  model::Node node_;
  model::NodeRequest request_;
};

class EndpointTest : public testing::Test {
 protected:
  EndpointTest() {
    cloud_.networks = {{{"id", "id-net"}, {"name", "private"}}};
    cloud_.subnets = {{{"network_id", "id-net"}, {"gateway_ip", "10.0.0.1"}}};
    cloud_.flavors = {{{"id", "id-small"}, {"name", "m1.small"}, {"ram", 2048}, {"vcpus", 1}}};
    cloud_.add_image("jammy");
    cloud_.room = 1000;
    cloud_.ram = -1;
    cloud_.looks_until_active = 0;
  }

  ~EndpointTest() override {
    for (const auto& adapter : adapters_) loop_.run(adapter->stop());
    loop_.run(cloud_.stop());
  }

  std::shared_ptr<CloudEndpoint> make_endpoint() {
    return std::make_shared<CloudEndpoint>(runtime_, config("0")->account(), threads_, log_);
  }

  std::shared_ptr<const OpenStackConfig> config(const std::string& rate) {
    const config::Environment environment = {
        {"OS_CLIENT_CONFIG_FILE",
         directory_.write("clouds.yaml",
                          "clouds: {one: {private: true, auth: {auth_url: '" + cloud_.url() +
                              "/identity', username: ci, password: secret, project_name: p}}}")}};
    config::LoadOptions options;
    options.path = directory_.write(
        "nodepool.yaml",
        "labels: [{name: small}]\nproviders:\n  - name: os\n    cloud: one\n    rate: " + rate +
            "\n    cloud-images: [{name: jammy}]\n    pools:\n      - name: main\n        labels: "
            "[{name: small, cloud-image: jammy, min-ram: 1024}]\n");
    options.drivers.schemas = {{"openstack", &openstack_schema()}};
    const config::Config config = config::load(options).config;
    return std::make_shared<OpenStackConfig>(config.providers.at(0), config, environment);
  }

  OpenStackAdapter& add_provider(std::shared_ptr<CloudEndpoint> endpoint,
                                 const std::string& rate = "0") {
    adapters_.push_back(
        std::make_unique<OpenStackAdapter>(cloud::AdapterContext{.runtime = runtime_,
                                                                 .threads = threads_,
                                                                 .installation = {},
                                                                 .log = log_,
                                                                 .on_attempt = {}},
                                           config(rate), std::move(endpoint)));
    return *adapters_.back();
  }

  // What the launcher asks before it launches anything.
  static Task<> learn(OpenStackAdapter& adapter) {
    co_await adapter.describe(driver::CloudDescription::Purpose::plan);
    co_await adapter.list();
  }

  Task<> launch(OpenStackAdapter& adapter, std::string id) {
    UnsavedLaunch launch(id);
    driver::JournaledSteps steps(runtime_, launch, launch.journal, PollPolicy().consistency_delay,
                                 log_);
    driver::CreateSpec spec;
    spec.node_id = id;
    spec.hostname = "np" + id;
    spec.pool = "main";
    spec.label = "small";
    spec.image_name = "jammy";
    spec.metadata = {{"nodepool_node_id", id}};
    spec.expected = boot_times_.expectation();
    steps.on_booted([this](async::Duration taken) { boot_times_.learn(taken); });
    const driver::Instance instance = co_await adapter.create(std::move(spec), steps);
    EXPECT_FALSE(instance.interface_ip.value_or("").empty());
  }

  void begin_launches(OpenStackAdapter& adapter, int count) {
    for (int i = 0; i < count; ++i) {
      std::string id = std::to_string(++launches_);
      scope_.spawn("launch " + id, launch(adapter, id));
    }
  }

  // Time passes while the wire is silent: every call that waits for an answer is one that the cloud
  // holds back.
  void run_until_ended() {
    while (!scope_.empty()) {
      if (loop_.poll() || calls_under_way() > cloud_.held_back()) continue;
      clock_.advance_to(clock_.next_wakeup());
    }
  }

  std::size_t calls_under_way() const {
    const auto tasks = async::live_tasks(runtime_.executor);
    return static_cast<std::size_t>(std::ranges::count_if(tasks, [](const async::LiveTask& task) {
      return std::ranges::any_of(task.waits, [](const async::LiveTask::Wait& wait) {
        return wait.what.starts_with("http:");
      });
    }));
  }

  void run(Task<> task) {
    scope_.spawn("a test's question", std::move(task));
    run_until_ended();
  }

  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  async::ThreadPool threads_{1, "test"};
  test_support::TemporaryDirectory directory_;
  StandIn cloud_{runtime_};
  telemetry::Logger log_{
      telemetry::Log::to_consumer([](telemetry::LogLevel, std::string_view, std::string_view) {}),
      "test"};
  std::vector<std::unique_ptr<OpenStackAdapter>> adapters_;
  int launches_ = 0;
  driver::BootTimes boot_times_;
  async::TaskScope scope_{runtime_, [](const std::string& name, const std::string& error) {
                            ADD_FAILURE() << name << ": " << error;
                          }};
};

TEST_F(EndpointTest, providers_on_one_account_share_what_is_listed) {
  cloud_.boot_time = seconds(60);
  const auto run_two = [this](const std::shared_ptr<CloudEndpoint>& first,
                              const std::shared_ptr<CloudEndpoint>& second) {
    cloud_.forget_calls();
    boot_times_ = driver::BootTimes();
    begin_launches(add_provider(first), 3);
    begin_launches(add_provider(second), 3);
    run_until_ended();
    return cloud_.count(kServerList);
  };
  const auto shared = make_endpoint();
  const int together = run_two(shared, shared);
  EXPECT_EQ(cloud_.count_all("POST /identity"), 1) << "and the token";
  EXPECT_EQ(cloud_.count(kServerMade), 6);
  const int apart = run_two(make_endpoint(), make_endpoint());
  EXPECT_EQ(cloud_.count_all("POST /identity"), 2);
  EXPECT_GE(together, 25);
  EXPECT_GE(apart, 2 * together - 2);
}

TEST_F(EndpointTest, providers_on_one_account_share_a_rate_limit) {
  const auto shared = make_endpoint();
  OpenStackAdapter& patient = add_provider(shared, "2.0");
  OpenStackAdapter& quick = add_provider(shared, "0.5");
  run(learn(patient));
  const auto begun = clock_.now();
  begin_launches(patient, 5);
  begin_launches(quick, 5);
  run_until_ended();
  EXPECT_GE(clock_.now() - begun, seconds(18));
}

// At the default rate a call a second is all that there is for making machines and looking at them.
TEST_F(EndpointTest, a_hundred_machines_are_created_before_they_are_polled) {
  cloud_.boot_time = seconds(5);
  OpenStackAdapter& adapter = add_provider(make_endpoint(), "1.0");
  const auto begun = clock_.now();
  run(learn(adapter));
  begin_launches(adapter, 100);
  run_until_ended();
  const auto taken = std::chrono::duration_cast<seconds>(clock_.now() - begun);
  std::string calls;
  for (const auto& [call, times] : cloud_.calls())
    calls += call + " " + std::to_string(times) + "\n";
  EXPECT_LT(cloud_.count_all(""), 115) << calls;
  EXPECT_LT(taken.count(), 110) << "100 machines, 4 questions before, 5 s to boot\n" << calls;
  RecordProperty("calls", cloud_.count_all(""));
  RecordProperty("seconds", static_cast<int>(taken.count()));
}

}  // namespace
}  // namespace nodepool::drivers::openstack
