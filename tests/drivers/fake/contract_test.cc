#include "tests/drivers/contract/contract.h"

#include <stdexcept>

#include "drivers/fake/fake_driver.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::drivers::contract {
namespace {

using driver::CloudError;
using fake::CloudCall;
using fake::FakeFailure;

constexpr const char* kConfiguration = R"(
labels: [{name: small}, {name: built}]
diskimages: [{name: trixie}]
providers:
  - name: fake-contract
    launch-timeout: 900
    cloud: fake
    diskimages: [{name: trixie}]
    cloud-images: [{name: Fake Precise}]
    fake-cloud: {boot-time: %BOOT%, latency: 0.02, delete-time: 0.2, limits: {instances: %ROOM%}}
    pools:
      - name: main
        labels:
          - {name: small, cloud-image: Fake Precise, flavor-name: Fake Flavor}
          - {name: built, diskimage: trixie, min-ram: 8000}
)";

class FakeFixture final : public CloudFixture {
 public:
  explicit FakeFixture(const harness::Installation& installation) : clock_(installation.clock) {
    environment_ = {
        {"OS_CLIENT_CONFIG_FILE", directory_.write("clouds.yaml", "clouds: {fake: {auth: {}}}")}};
  }

  // The clouds are the only thing that survives a program.
  std::unique_ptr<driver::Provider> make_provider(driver::ProviderContext context) override {
    const fake::FakeDriver driver(environment_, clouds_);
    return driver.provider(read_provider(driver, configuration()), std::move(context));
  }

  std::vector<Machine> machines() override {
    std::vector<Machine> all;
    for (const fake::FakeServer& server : cloud().servers(clock_.now())) {
      all.push_back({server.id, server.spec.metadata});
    }
    return all;
  }

  void provoke(Trouble trouble, std::size_t times) override {
    using Kind = CloudError::Kind;
    const auto fail = [&](CloudCall call, FakeFailure failure) {
      cloud().fail_next(call, failure, times);
    };
    switch (trouble) {
      case Trouble::quota:
        return fail(CloudCall::create, {.kind = Kind::quota});
      case Trouble::no_capacity:
        return fail(CloudCall::create, {.kind = Kind::no_capacity});
      case Trouble::creation_error:
        return fail(CloudCall::create, {.kind = Kind::failed});
      case Trouble::broken_machine:
        return cloud().break_next(times);
      case Trouble::response_lost:
        return fail(CloudCall::create, {.kind = Kind::unknown_outcome, .is_done = true});
      case Trouble::request_lost:
        return fail(CloudCall::create, {.kind = Kind::unknown_outcome});
      case Trouble::deletion_error:
        return fail(CloudCall::remove, {});
      case Trouble::listing_error:
        return fail(CloudCall::list, {});
      case Trouble::listing_failed:
        return fail(CloudCall::list, {.kind = Kind::failed});
      case Trouble::limits_error:
        return fail(CloudCall::limits, {});
      case Trouble::image_error:
        return fail(CloudCall::upload_image, {.kind = Kind::failed});
      case Trouble::busy:
      case Trouble::token_expired:
        throw std::logic_error("there is no wire");
    }
  }

  void set_boot_time(async::Duration time) override {
    boot_time_ = std::chrono::duration<double>(time).count();
  }

  void set_capacity(std::size_t machines) override { room_ = machines; }

  void add_machine(driver::Metadata metadata) override {
    fake::ServerSpec spec;
    spec.name = "other";
    spec.flavor = "Fake Flavor";
    spec.metadata = std::move(metadata);
    cloud().create("other-" + std::to_string(++others_), spec, /*is_broken=*/false, clock_.now());
  }

 private:
  fake::FakeCloud& cloud() { return *clouds_->cloud(kProvider); }

  std::string configuration() const {
    std::string text = kConfiguration;
    const auto fill_in = [&text](std::string_view what, const std::string& value) {
      text.replace(text.find(what), what.size(), value);
    };
    fill_in("%BOOT%", std::to_string(boot_time_));
    fill_in("%ROOM%", std::to_string(room_));
    return text;
  }

  const async::VirtualClock& clock_;
  test_support::TemporaryDirectory directory_;
  config::Environment environment_;
  double boot_time_ = 0.1;
  std::size_t room_ = 20;
  std::size_t others_ = 0;
  std::shared_ptr<fake::FakeClouds> clouds_ = std::make_shared<fake::FakeClouds>();
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(fake, DriverContract, testing::Values(backend<FakeFixture>()));
INSTANTIATE_TEST_SUITE_P(fake, DeathContract, testing::Values(backend<FakeFixture>()));
INSTANTIATE_TEST_SUITE_P(fake, QuotaContract, testing::Values(backend<FakeFixture>()));
INSTANTIATE_TEST_SUITE_P(fake, ImageContract, testing::Values(backend<FakeFixture>()));

}  // namespace nodepool::drivers::contract
