// The contract of all drivers that make machines, on a stand-in of the APIs.

#include "tests/drivers/contract/contract.h"

#include <algorithm>

#include "async/live_tasks.h"
#include "drivers/openstack/openstack_driver.h"
#include "tests/drivers/openstack/stand_in/stand_in.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::drivers::contract {
namespace {

using openstack::StandIn;

constexpr const char* kConfiguration = R"(
labels: [{name: small}, {name: built}]
diskimages: [{name: trixie}]
providers:
  - name: fake-contract
    launch-timeout: 900
    driver: openstack
    cloud: one
    region-name: north
    rate: 0
    diskimages: [{name: trixie}]
    cloud-images: [{name: jammy}]
    pools:
      - name: main
        host-key-checking: false
        labels:
          - {name: small, cloud-image: jammy, flavor-name: m1.small}
          - {name: built, diskimage: trixie, min-ram: 1024}
)";

// How often a call is made until it has failed for the driver.
constexpr std::size_t kAttempts = 4;

class OpenStackFixture : public CloudFixture {
 public:
  explicit OpenStackFixture(harness::Installation& installation)
      : OpenStackFixture(installation, "private: true, ") {}

  OpenStackFixture(harness::Installation& installation, std::string cloud_options)
      : runtime_{loop_.executor(), installation.clock, installation.random},
        cloud_(runtime_),
        cloud_options_(std::move(cloud_options)) {
    cloud_.networks = {{{"id", "id-net"}, {"name", "private"}}};
    cloud_.subnets = {{{"network_id", "id-net"}, {"gateway_ip", "10.0.0.1"}}};
    cloud_.flavors = {{{"id", "id-small"}, {"name", "m1.small"}, {"ram", 2048}, {"vcpus", 1}}};
    cloud_.add_image("jammy");
  }

  std::unique_ptr<driver::Provider> make_provider(driver::ProviderContext context) override {
    const config::Environment environment = {
        {"OS_CLIENT_CONFIG_FILE",
         directory_.write("clouds.yaml",
                          "clouds: {one: {" + cloud_options_ + "auth: {auth_url: '" + cloud_.url() +
                              "/identity', username: ci, password: secret, project_name: p}}}")}};
    launcher_ = context.runtime.executor;
    const openstack::OpenStackDriver driver(environment);
    return driver.provider(read_provider(driver, kConfiguration), std::move(context));
  }

  std::vector<Machine> machines() override {
    std::vector<Machine> all;
    for (const auto& [id, server] : cloud_.servers) {
      all.push_back({id, server["metadata"].get<driver::Metadata>()});
    }
    return all;
  }

  void provoke(Trouble trouble, std::size_t times) override {
    constexpr const char* kCreate = "POST /compute/servers";
    const auto fail = [&](const char* call, std::size_t calls, int status,
                          const char* message = "as the test wants it") {
      cloud_.fail(call, std::vector<int>(calls, status), message);
    };
    switch (trouble) {
      case Trouble::quota:
        return fail(kCreate, times, 403, "Quota exceeded for cores");
      case Trouble::creation_error:
        return fail(kCreate, times, 400);
      case Trouble::no_capacity:  // is noticed after the request has been accepted
      case Trouble::broken_machine:
        cloud_.broken_servers = times;
        return;
      case Trouble::response_lost:
        return fail(kCreate, times, -1);
      case Trouble::request_lost:
        return fail(kCreate, times, 0);
      case Trouble::deletion_error:
        return fail("DELETE /compute/servers/ID", times, 409);
      case Trouble::listing_error:
        return fail("GET /compute/servers/detail", times * kAttempts, 503);
      case Trouble::listing_failed:
        return fail("GET /compute/servers/detail", times, 400);
      case Trouble::limits_error:
        return fail("GET /compute/limits", times * kAttempts, 503);
      case Trouble::image_error:
        return fail("PUT /image/images/ID/file", times, 400);
      case Trouble::busy:
        return provoke_busy(times);
      case Trouble::token_expired:
        return cloud_.fail_any(std::vector<int>(times, 401));
    }
  }

  void set_boot_time(async::Duration time) override { cloud_.boot_time = time; }
  void set_capacity(std::size_t machines) override { cloud_.room = machines; }
  void add_machine(driver::Metadata metadata) override {
    cloud_.add_server("other", "id-small", metadata);
  }
  void end_machine(const std::string& id) override { cloud_.servers[id]["status"] = "SHUTOFF"; }
  bool has_complete_listings() const override { return false; }

  // The wire is silent when every call that waits for an answer is one that the cloud holds back.
  bool wait_for_wire() override {
    const bool cloud_ran = loop_.poll();
    const auto tasks = async::live_tasks(launcher_);
    const auto calls = static_cast<std::size_t>(std::ranges::count_if(tasks, waits_for_answer));
    return cloud_ran || calls > cloud_.held_back();
  }

  StandIn& cloud() { return cloud_; }

 private:
  static bool waits_for_answer(const async::LiveTask& task) {
    return std::ranges::any_of(task.waits, [](const async::LiveTask::Wait& wait) {
      return wait.what.starts_with("http:");
    });
  }

  // Too many calls, and services that are being restarted.
  void provoke_busy(std::size_t times) {
    std::vector<int> statuses;
    for (std::size_t i = 0; i < times; ++i) statuses.push_back(i % 2 == 0 ? 429 : 503);
    cloud_.fail_any(statuses);
  }

  async::EventLoop loop_;
  async::Runtime runtime_;
  StandIn cloud_;
  std::string cloud_options_;
  test_support::TemporaryDirectory directory_;
  async::Executor launcher_;
};

// Each machine needs a floating IP: a second step.
class FloatingIpFixture final : public OpenStackFixture {
 public:
  explicit FloatingIpFixture(harness::Installation& installation)
      : OpenStackFixture(installation, "") {
    cloud().networks.push_back(
        {{"id", "id-public"}, {"name", "public"}, {"router:external", true}});
  }

  // Floating IPs that have outlived their machine are no less of a leak.
  std::vector<Machine> machines() override {
    std::vector<Machine> all = OpenStackFixture::machines();
    for (const auto& [id, floating_ip] : cloud().floating_ips) {
      const std::string server = floating_ip["port_details"]["device_id"];
      if (!cloud().servers.contains(server)) all.push_back({"floating IP " + id, {}});
    }
    return all;
  }
};

// All answers take a while.
class SlowFixture final : public OpenStackFixture {
 public:
  explicit SlowFixture(harness::Installation& installation) : OpenStackFixture(installation) {
    cloud().latency = std::chrono::milliseconds(1500);
  }
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(openstack, DriverContract, testing::Values(backend<OpenStackFixture>()));
INSTANTIATE_TEST_SUITE_P(openstack, DeathContract, testing::Values(backend<OpenStackFixture>()));
INSTANTIATE_TEST_SUITE_P(openstack, EndContract, testing::Values(backend<OpenStackFixture>()));
INSTANTIATE_TEST_SUITE_P(openstack, QuotaContract, testing::Values(backend<OpenStackFixture>()));
INSTANTIATE_TEST_SUITE_P(openstack, ImageContract, testing::Values(backend<OpenStackFixture>()));
INSTANTIATE_TEST_SUITE_P(openstack, WireContract, testing::Values(backend<OpenStackFixture>()));

INSTANTIATE_TEST_SUITE_P(floating_ips, DriverContract,
                         testing::Values(backend<FloatingIpFixture>()));
INSTANTIATE_TEST_SUITE_P(floating_ips, DeathContract,
                         testing::Values(backend<FloatingIpFixture>()));
INSTANTIATE_TEST_SUITE_P(floating_ips, WireContract, testing::Values(backend<FloatingIpFixture>()));

INSTANTIATE_TEST_SUITE_P(slow, DriverContract, testing::Values(backend<SlowFixture>()));
INSTANTIATE_TEST_SUITE_P(slow, DeathContract, testing::Values(backend<SlowFixture>()));
INSTANTIATE_TEST_SUITE_P(slow, WireContract, testing::Values(backend<SlowFixture>()));

// What OpenStack alone does.
class OpenStackContract : public DriverContract {
 protected:
  StandIn& openstack() { return static_cast<OpenStackFixture&>(*cloud_).cloud(); }

  async::Task<std::string> upload() {
    const test_support::TemporaryDirectory directory;
    driver::ProviderImage image;
    image.name = kDiskimage;
    driver::ImageFile file;
    file.path = directory.write("image.raw", std::string(kImageSize, 'x'));
    file.format = "raw";
    file.size = kImageSize;
    const driver::Metadata marks = {{std::string(driver::kUploadIdKey), "0000000000"},
                                    {std::string(driver::kProviderNameKey), kProvider}};
    const driver::ImageSupport::Progress progress;
    auto uploading = provider().images()->upload(image, "trixie-1700000000", file, marks, progress);
    co_return co_await std::move(uploading);
  }

  static constexpr std::size_t kImageSize = 100'000;
};

INSTANTIATE_TEST_SUITE_P(openstack, OpenStackContract,
                         testing::Values(backend<OpenStackFixture>()));

TEST_P(OpenStackContract, an_upload_survives_an_outage_while_it_is_polled) {
  openstack().fail("GET /image/images/ID", std::vector<int>(3 * kAttempts, 503));
  start();
  const std::string id = process_->run(upload());
  EXPECT_EQ(openstack().images.at(id)["status"], "active");
  EXPECT_EQ(openstack().count("PUT /image/images/ID/file"), 1);
  EXPECT_EQ(openstack().count("DELETE /image/images/ID"), 0);
}

TEST_P(OpenStackContract, an_upload_with_a_lost_response_is_kept_if_all_has_arrived) {
  openstack().fail("PUT /image/images/ID/file", {-1});
  start();
  const std::string id = process_->run(upload());
  EXPECT_EQ(openstack().images.at(id)["status"], "active");
  EXPECT_EQ(openstack().count("POST /image/images"), 1);

  openstack().image_files_are_cut = true;
  openstack().fail("PUT /image/images/ID/file", {-1});
  EXPECT_THROW(process_->run(upload()), driver::CloudError);
  EXPECT_GE(openstack().count("DELETE /image/images/ID"), 1);
}

class FloatingIpContract : public OpenStackContract {};

INSTANTIATE_TEST_SUITE_P(openstack, FloatingIpContract,
                         testing::Values(backend<FloatingIpFixture>()));

TEST_P(FloatingIpContract, a_machine_is_kept_while_its_ports_cannot_be_read) {
  openstack().fail("GET /network/ports", std::vector<int>(3 * kAttempts, 503));
  expect_one_machine(launch_new().id);
  EXPECT_EQ(openstack().count("GET /network/ports"), static_cast<int>(3 * kAttempts) + 1);
  EXPECT_EQ(openstack().count("POST /compute/servers"), 1);
}

}  // namespace nodepool::drivers::contract
