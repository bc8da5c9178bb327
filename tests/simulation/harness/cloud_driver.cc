#include "tests/simulation/harness/cloud_driver.h"

#include <stdexcept>

#include "config/nodepool_schema.h"
#include "tests/simulation/harness/chance.h"

namespace nodepool::simulation {

namespace {

using driver::LaunchError;
using driver::Limits;
using model::Node;

class CloudConfig final : public driver::ProviderConfig {
 public:
  CloudConfig(const config::ProviderSection& section, const config::Schema& schema)
      : ProviderConfig(section) {
    const config::Section provider(section.value, schema, section.file, section.path);
    for (const config::Section& part : provider.sections("pools")) {
      driver::PoolConfig pool = driver::load_common_pool(part, section);
      for (const std::string& label : part.texts("labels")) pool.labels.insert(label);
      pool.ignore_provider_quota = part.boolean("ignore-provider-quota");
      pools_.emplace(pool.name, pool);
    }
  }
};

class CloudProvider final : public driver::Provider {
 public:
  CloudProvider(std::shared_ptr<const driver::ProviderConfig> config,
                driver::ProviderContext context, CloudWorld world)
      : config_(std::move(config)), context_(std::move(context)), world_(world) {}

  const driver::ProviderConfig& config() const override { return *config_; }
  Task<> start() override { co_return; }
  void idle() override {}
  Task<> stop() override { co_return; }
  bool launches() const override { return true; }

  driver::Resources need(std::string_view /*pool*/, std::string_view label) const override {
    return need_of(label);
  }

  Task<Limits> available() override {
    co_await sleep(world_.hardware.slowest_answer);
    if (draw(world_.hardware.answer_fails)) {
      count("cloud: limits not told");
      throw std::runtime_error("the cloud does not answer");
    }
    Limits limits = world_.clouds.limits(config_->name());
    world_.known.provider_may_take(world_.world.actor->number(), config_->name(), limits);
    co_return limits;
  }

  Task<> launch(driver::NodeLaunch& launch) override {
    const Hardware& hardware = world_.hardware;
    const driver::Resources need = need_of(launch.node().type.front());
    co_await sleep(hardware.slowest_launch);
    if (!world_.clouds.has_room(config_->name(), need)) refuse("the cloud is full");
    if (draw(hardware.launch_refused)) refuse("the cloud does not say why");
    if (draw(hardware.launch_fails)) fail("it is not even begun");
    const std::string id = world_.clouds.make(config_->name(), need);
    co_await sleep(hardware.slowest_launch / 2);  // a launcher that dies here loses the machine
    launch.node().external_id = model::json_string(id);
    co_await launch.save();
    co_await sleep(hardware.slowest_launch);
    if (draw(hardware.launch_refused / 2)) refuse("after the machine was made");
    if (draw(hardware.launch_fails)) fail("the machine does not boot");
  }

  Task<bool> is_usable(Node /*node*/) override {
    co_await sleep(world_.hardware.slowest_check);
    const bool usable = !draw(world_.hardware.unusable);
    if (!usable) count("machine: unusable");
    co_return usable;
  }

  Task<std::optional<Node>> take_back(Node node) override {
    co_await sleep(world_.hardware.slowest_take_back);
    if (draw(world_.hardware.take_back_fails)) {
      count("machine: take_back failed");
      throw std::runtime_error("the cloud does not delete the machine");
    }
    world_.clouds.remove(node.external_id_text());
    co_return std::nullopt;
  }

 private:
  bool draw(double probability) { return chance(context_.runtime.random, probability); }
  void count(const std::string& what) { world_.world.journal.count(what); }

  Task<> sleep(double most) {
    if (most <= 0) co_return;
    co_await context_.runtime.clock.sleep_for(seconds_between(context_.runtime.random, 0, most));
  }

  [[noreturn]] void refuse(const std::string& why) {
    count("cloud: launch refused");
    throw LaunchError(LaunchError::Kind::quota, "quota exceeded: " + why);
  }

  [[noreturn]] void fail(const std::string& why) {
    count("cloud: launch failed");
    throw LaunchError(LaunchError::Kind::failed, why);
  }

  std::shared_ptr<const driver::ProviderConfig> config_;
  driver::ProviderContext context_;
  CloudWorld world_;
};

}  // namespace

const config::Schema& CloudDriver::schema() const {
  static const config::Schema pool{
      .description = "A pool.",
      .fields = config::joined(config::common_pool_fields(),
                               {{.key = "labels",
                                 .type = config::list_of(config::label_name()),
                                 .description = "Its labels."},
                                {.key = "ignore-provider-quota",
                                 .type = config::boolean(),
                                 .default_value = "false",
                                 .description = "Whether only its own limits count."}})};
  static const config::Schema schema{.description = "A simulated cloud.",
                                     .fields = {{.key = "pools",
                                                 .type = config::list_of(config::section(pool)),
                                                 .description = "Its pools."}}};
  return schema;
}

std::shared_ptr<const driver::ProviderConfig> CloudDriver::configure(
    const config::ProviderSection& section, const config::Config& /*config*/) const {
  static const config::Schema schema = config::provider_schema(this->schema());
  auto config = std::make_shared<CloudConfig>(section, schema);
  world_.known.configured(world_.world.actor->number(), *config);
  return config;
}

std::unique_ptr<driver::Provider> CloudDriver::provider(
    std::shared_ptr<const driver::ProviderConfig> config, driver::ProviderContext context) const {
  return std::make_unique<CloudProvider>(std::move(config), std::move(context), world_);
}

}  // namespace nodepool::simulation
