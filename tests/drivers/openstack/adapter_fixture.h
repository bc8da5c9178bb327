#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "config/load.h"
#include "driver/cloud_error.h"
#include "driver/statemachine/journaled_steps.h"
#include "drivers/openstack/config/openstack_schema.h"
#include "drivers/openstack/openstack_adapter.h"
#include "tests/drivers/openstack/stand_in/stand_in.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::drivers::openstack {

// A message for StandIn::fail().
inline constexpr const char* kProxyPage = "<html>default backend - 404</html>";

// One launch, whose record is nowhere but here.
class Launch final : public driver::NodeLaunch {
 public:
  explicit Launch(const std::string& id) { node_.id = id; }
  model::Node& node() override { return node_; }
  const model::NodeRequest& request() const override { return request_; }
  async::Task<> save() override { co_return; }

  driver::LaunchJournal journal;

 private:
  model::Node node_;
  model::NodeRequest request_;
};

// The adapter on a stand-in.
class AdapterTest : public testing::Test {
 protected:
  AdapterTest() {
    cloud_.networks = {{{"id", "id-net"}, {"name", "private"}}};
    cloud_.subnets = {{{"network_id", "id-net"}, {"gateway_ip", "10.0.0.1"}}};
    cloud_.flavors = {
        {{"id", "id-big"}, {"name", "m1.big"}, {"ram", 8192}, {"vcpus", 4}},
        {{"id", "id-small"}, {"name", "m1.small"}, {"ram", 2048}, {"vcpus", 1}},
    };
    image_ = cloud_.add_image("jammy");
  }

  ~AdapterTest() override {
    if (adapter_) loop_.run(adapter_->stop());
    loop_.run(cloud_.stop());
  }

  OpenStackAdapter& adapter() {
    if (!adapter_) make_adapter();
    return *adapter_;
  }

  void make_adapter() {
    const std::string clouds = directory_.write(
        "clouds.yaml", "clouds: {one: {" + cloud_options_ + "auth: {auth_url: '" + cloud_.url() +
                           "/identity', username: ci, password: secret, project_name: p}}}");
    config::LoadOptions options;
    options.path = directory_.write(
        "nodepool.yaml",
        "labels: [{name: small}, {name: special}, {name: none}, {name: bare}]\n"
        "providers:\n"
        "  - name: os\n    cloud: one\n    region-name: north\n    rate: 0\n" +
            provider_options_ +
            "    cloud-images: [{name: jammy, config-drive: true}, {name: gone}]\n"
            "    pools:\n      - name: main\n        security-groups: [ssh]\n        labels:\n"
            "          - {name: small, cloud-image: jammy, min-ram: 1024}\n"
            "          - {name: special, cloud-image: jammy, flavor-name: m1.big, networks: "
            "[private],\n             boot-from-volume: true, volume-size: 20, key-name: k,\n"
            "             userdata: hello, instance-properties: {a: b},\n"
            "             dynamic-instance-properties: {r: 'for {request.requestor}'}}\n"
            "          - {name: none, cloud-image: gone, flavor-name: m1.big}\n"
            "          - {name: bare, cloud-image: jammy, flavor-name: m9}\n");
    options.drivers.schemas = {{"openstack", &openstack_schema()}};
    const config::Config config = config::load(options).config;
    const config::Environment environment = {{"OS_CLIENT_CONFIG_FILE", clouds}};
    auto openstack = std::make_shared<OpenStackConfig>(config.providers.at(0), config, environment);
    const auto log = telemetry::Log::to_consumer(
        [this](telemetry::LogLevel, std::string_view, std::string_view message) {
          log_ += std::string(message) + "\n";
        });
    const telemetry::Logger logger(log, "test");
    auto endpoint = std::make_shared<CloudEndpoint>(runtime_, openstack->account(), threads_,
                                                    logger, poll_policy_);
    adapter_ = std::make_unique<OpenStackAdapter>(cloud::AdapterContext{.runtime = runtime_,
                                                                        .threads = threads_,
                                                                        .installation = {},
                                                                        .log = logger,
                                                                        .on_attempt = {}},
                                                  openstack, std::move(endpoint));
  }

  static driver::CreateSpec spec(const std::string& node_id, const std::string& label) {
    driver::CreateSpec spec;
    spec.node_id = node_id;
    spec.hostname = "np" + node_id;
    spec.pool = "main";
    spec.label = label;
    spec.image_name = "jammy";
    spec.metadata = {{"nodepool_node_id", node_id}, {"nodepool_provider_name", "os"}};
    spec.request.requestor = "zuul";
    return spec;
  }

  driver::JournaledSteps machine_of(Launch& launch) {
    const auto log =
        telemetry::Log::to_consumer([](telemetry::LogLevel, std::string_view, std::string_view) {});
    return {runtime_, launch, launch.journal, poll_policy_.consistency_delay,
            telemetry::Logger(log, "test")};
  }

  async::Task<driver::Instance> create_with(Launch& launch, driver::CreateSpec spec) {
    driver::JournaledSteps steps = machine_of(launch);
    co_return co_await adapter().create(std::move(spec), steps);
  }

  async::Task<> remove(model::Json external_id) {
    driver::JournaledSteps steps = machine_of(launch_);
    co_await adapter().remove(std::move(external_id), steps);
  }

  driver::Instance create(const std::string& label = "small") {
    return loop_.run(create_with(launch_, spec(launch_.node().id, label)));
  }

  template <typename T>
  std::optional<driver::CloudError> failure_of(async::Task<T> task) {
    try {
      loop_.run(std::move(task));
    } catch (const driver::CloudError& error) {
      return error;
    }
    return std::nullopt;
  }

  driver::CloudDescription describe(
      driver::CloudDescription::Purpose purpose = driver::CloudDescription::Purpose::plan) {
    return loop_.run(adapter().describe(purpose));
  }

  std::string problem(const std::string& label) {
    return describe().labels.at({"main", label}).problem;
  }

  // How a launch fails.
  driver::CloudError failure(const std::string& label = "small") {
    const auto error = failure_of(create_with(launch_, spec(launch_.node().id, label)));
    EXPECT_TRUE(error) << "launched";
    return error.value_or(driver::CloudError(driver::CloudError::Kind::failed, ""));
  }

  async::EventLoop loop_;
  async::SystemClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  async::ThreadPool threads_{1, "test"};
  test_support::TemporaryDirectory directory_;
  StandIn cloud_{runtime_};
  std::string image_;
  std::string cloud_options_;
  std::string provider_options_;
  PollPolicy poll_policy_{.poll = std::chrono::milliseconds(5),
                          .image_poll = std::chrono::milliseconds(5),
                          .floating_ip_limit = std::chrono::seconds(5),
                          .consistency_delay = std::chrono::seconds(1),
                          .missing = std::chrono::seconds(0)};
  Launch launch_{"0000000001"};
  std::string log_;
  std::unique_ptr<OpenStackAdapter> adapter_;
};

}  // namespace nodepool::drivers::openstack
