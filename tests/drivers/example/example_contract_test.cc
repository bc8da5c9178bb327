// The contract of all drivers that make machines, with a simple one.

#include <chrono>
#include <map>

#include "drivers/example/example_adapter.h"
#include "drivers/example/example_driver.h"
#include "tests/drivers/contract/contract.h"

namespace nodepool::drivers::contract {
namespace {

using driver::CloudError;
using example::ExampleAdapter;
using example::ExampleConfig;
using example::ExampleDriver;

constexpr const char* kConfiguration = R"(
labels: [{name: small}]
providers:
  - name: fake-contract
    driver: example
    region: north
    project: ci
    rate-limit: 10
    cloud-images: [{name: debian-12}]
    pools: [{name: main, labels: [{name: small, cloud-image: debian-12, instance-type: small}]}]
)";

// The cloud, and what it is to do wrong. A call on a thread and the test look at it in turns.
struct World {
  // Whether a call that this concerns goes wrong.
  bool goes_wrong(Trouble trouble) {
    if (troubles[trouble] == 0) return false;
    --troubles[trouble];
    return true;
  }

  const async::VirtualClock& clock;
  std::shared_ptr<sample_cloud::Cloud> cloud = std::make_shared<sample_cloud::Cloud>();
  std::map<Trouble, std::size_t> troubles = {};
  async::Duration boot_time = {};
  std::map<std::string, async::Clock::TimePoint> made = {};
  std::set<std::string> broken = {};
};

// The example's adapter, over a cloud that does wrong.
class TroubledAdapter final : public driver::SimpleAdapter {
 public:
  TroubledAdapter(std::shared_ptr<SimpleAdapter> adapter, std::shared_ptr<World> world)
      : adapter_(std::move(adapter)), world_(std::move(world)) {}

  std::string create_instance(const driver::CreateSpec& spec) override {
    fail_at(Trouble::quota, CloudError::Kind::quota);
    fail_at(Trouble::no_capacity, CloudError::Kind::no_capacity);
    fail_at(Trouble::creation_error, CloudError::Kind::failed);
    fail_at(Trouble::request_lost, CloudError::Kind::unknown_outcome);
    std::string id = adapter_->create_instance(spec);
    world_->made[id] = world_->clock.now();
    if (world_->goes_wrong(Trouble::broken_machine)) world_->broken.insert(id);
    fail_at(Trouble::response_lost, CloudError::Kind::unknown_outcome);
    return id;
  }

  void delete_instance(const std::string& id) override {
    fail_at(Trouble::deletion_error, CloudError::Kind::failed);
    adapter_->delete_instance(id);
  }

  std::vector<driver::Machine> list_instances() override {
    fail_at(Trouble::listing_error, CloudError::Kind::transient);
    fail_at(Trouble::listing_failed, CloudError::Kind::failed);
    std::vector<driver::Machine> listing = adapter_->list_instances();
    for (driver::Machine& instance : listing) {
      const std::string id = instance.external_id.string_value();
      if (world_->clock.now() < world_->made[id] + world_->boot_time) {
        instance.state = driver::Machine::State::building;
      }
      if (world_->broken.contains(id)) instance.state = driver::Machine::State::failed;
    }
    return listing;
  }

  driver::Limits quota_limits() override {
    fail_at(Trouble::limits_error, CloudError::Kind::transient);
    return adapter_->quota_limits();
  }

  driver::Resources quota_for_label(const std::string& pool, const std::string& label) override {
    return adapter_->quota_for_label(pool, label);
  }

 private:
  void fail_at(Trouble trouble, CloudError::Kind kind) {
    if (world_->goes_wrong(trouble)) throw CloudError(kind, "as the test wants it");
  }

  std::shared_ptr<SimpleAdapter> adapter_;
  std::shared_ptr<World> world_;
};

class TroubledDriver final : public driver::SimpleDriver {
 public:
  explicit TroubledDriver(std::shared_ptr<World> world)
      : world_(std::move(world)), example_(world_->cloud) {}

  std::string_view name() const override { return example_.name(); }
  const config::Schema& schema() const override { return example_.schema(); }
  std::shared_ptr<const driver::ProviderConfig> configure(
      const config::ProviderSection& section, const config::Config& config) const override {
    return example_.configure(section, config);
  }

  std::unique_ptr<nodescan::Scanner> scanner(
      const driver::ProviderContext& context) const override {
    return example_.scanner(context);
  }

 protected:
  Cloud cloud(std::shared_ptr<const driver::ProviderConfig> config) const override {
    auto example = std::dynamic_pointer_cast<const ExampleConfig>(config);
    driver::SimpleOptions options;
    options.tasks.calls_per_second = example->rate_limit();
    auto project = world_->cloud->project(example->region(), example->project());
    auto adapter = std::make_shared<ExampleAdapter>(std::move(example), std::move(project));
    return {std::make_shared<TroubledAdapter>(std::move(adapter), world_), options};
  }

 private:
  std::shared_ptr<World> world_;
  ExampleDriver example_;
};

class ExampleFixture final : public CloudFixture {
 public:
  explicit ExampleFixture(const harness::Installation& installation)
      : world_(std::make_shared<World>(installation.clock)) {}

  std::unique_ptr<driver::Provider> make_provider(driver::ProviderContext context) override {
    const TroubledDriver driver(world_);
    return driver.provider(read_provider(driver, kConfiguration), std::move(context));
  }

  // Not configurable.
  async::Duration launch_timeout() const override { return std::chrono::hours(1); }

  std::vector<Machine> machines() override {
    std::vector<Machine> all;
    for (const sample_cloud::Machine& machine : project().list_machines()) {
      all.push_back({machine.id, {machine.spec.tags.begin(), machine.spec.tags.end()}});
    }
    return all;
  }

  void provoke(Trouble trouble, std::size_t times) override { world_->troubles[trouble] = times; }

  void set_boot_time(async::Duration time) override { world_->boot_time = time; }

  void set_capacity(std::size_t machines) override {
    world_->cloud = std::make_shared<sample_cloud::Cloud>(
        sample_cloud::Quota{.machines = static_cast<std::int64_t>(machines)});
  }

  void add_machine(driver::Metadata metadata) override {
    project().create_machine({.name = "other",
                              .image = "debian-12",
                              .type = "small",
                              .tags = {metadata.begin(), metadata.end()}});
  }

 private:
  sample_cloud::Project& project() { return *world_->cloud->project("north", "ci"); }

  std::shared_ptr<World> world_;
};

}  // namespace

// Who waits for its turn on the wire, and shows credentials, is the client library.
INSTANTIATE_TEST_SUITE_P(example, DriverContract, testing::Values(backend<ExampleFixture>()));
INSTANTIATE_TEST_SUITE_P(example, DeathContract, testing::Values(backend<ExampleFixture>()));
INSTANTIATE_TEST_SUITE_P(example, QuotaContract, testing::Values(backend<ExampleFixture>()));

}  // namespace nodepool::drivers::contract
