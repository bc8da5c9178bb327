#include "tests/launcher/cloud_double.h"

#include <stdexcept>

#include "config/nodepool_schema.h"
#include "driver/cloud_error.h"

namespace nodepool::launcher {

namespace {

using async::Task;
using driver::Limits;
using driver::Resources;

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

class CloudProvider final : public driver::LaunchingProvider {
 public:
  CloudProvider(std::shared_ptr<const driver::ProviderConfig> config,
                driver::ProviderContext context, std::shared_ptr<Cloud> cloud)
      : config_(std::move(config)), context_(std::move(context)), cloud_(std::move(cloud)) {}

  const driver::ProviderConfig& config() const override { return *config_; }
  Task<> start() override {
    ++cloud_->starts;
    const async::Duration time = cloud_->start_time;
    if (time > async::Duration()) co_await context_.runtime.clock.sleep_for(time);
    if (!cloud_->start_failure.empty()) throw std::runtime_error(cloud_->start_failure);
    co_return;
  }
  void quiesce() override {}
  Task<> stop() override { co_return; }

  Task<> remove_leaks() override {
    co_await context_.runtime.clock.sleep_for(cloud_->leak_time);
    if (!cloud_->leak_failure.empty()) throw std::runtime_error(cloud_->leak_failure);
  }
  Task<std::vector<driver::Leak>> leaks() override { co_return std::vector<driver::Leak>{}; }
  Task<> remove_leak(driver::Leak /*leak*/) override { co_return; }

  std::shared_ptr<const driver::Offer> offer() const override {
    ++cloud_->offers;
    driver::Offer offer = *LaunchingProvider::offer();
    for (auto& [pool, offered] : offer.pools) {
      for (auto& [name, label] : offered.labels) {
        const auto need = cloud_->needs.find(name);
        if (need != cloud_->needs.end()) label.need = need->second;
        const auto problem = cloud_->label_problems.find(name);
        if (problem != cloud_->label_problems.end()) label.problem = problem->second;
      }
    }
    return std::make_shared<const driver::Offer>(std::move(offer));
  }

  Task<Limits> available() override {
    ++cloud_->questions;
    const async::Duration time = cloud_->limits_time;
    if (time > async::Duration()) co_await context_.runtime.clock.sleep_for(time);
    if (!cloud_->limits_failure.empty()) throw std::runtime_error(cloud_->limits_failure);
    co_return cloud_->limits;
  }

  Task<> launch(driver::NodeLaunch& launch) override {
    ++cloud_->launches;
    co_await context_.runtime.clock.sleep_for(cloud_->launch_time);
    cloud_->may_be_left = launch.may_be_left_to_others();
    if (cloud_->launch_error) throw driver::LaunchError(*cloud_->launch_error);
    if (cloud_->refused.contains(launch.node().type.front())) {
      throw driver::LaunchError(driver::LaunchError::Kind::quota, "no host has enough memory");
    }
    const std::string id = "machine-" + launch.node().id;
    cloud_->machines.insert(id);
    launch.node().external_id = model::json_string(id);
    co_await launch.save();
  }

  Task<bool> is_usable(std::string node_id) override {
    const model::Node* node = context_.nodes.find(node_id);
    if (node == nullptr) co_return false;
    const std::string machine = node->external_id_text();
    co_await context_.runtime.clock.sleep_for(cloud_->check_time);
    if (cloud_->uncheckable.contains(machine)) {
      throw std::runtime_error("the machine cannot be checked");
    }
    co_return !cloud_->ended.contains(machine);
  }
  Task<std::map<std::string, std::string>> terminated() override {
    std::map<std::string, std::string> reasons;
    for (const std::string& id : context_.nodes.of_provider(config_->name())) {
      const auto found = cloud_->ended.find(context_.nodes.find(id)->external_id_text());
      if (found != cloud_->ended.end()) reasons.emplace(id, found->second);
    }
    co_return reasons;
  }
  void take_over(driver::Provider& predecessor) override {
    cloud_->events.push_back("taken over from " + predecessor.config().name());
  }

  Task<std::optional<model::Node>> reclaim(driver::NodeRecord& record) override {
    const model::Node node = record.node();
    ++cloud_->deletions;
    co_await context_.runtime.clock.sleep_for(cloud_->delete_time);
    if (cloud_->refuses_deletions) {
      throw driver::CloudError(driver::CloudError::Kind::permanent, cloud_->delete_failure);
    }
    if (!cloud_->delete_failure.empty()) throw std::runtime_error(cloud_->delete_failure);
    cloud_->machines.erase(node.external_id_text());
    co_return std::nullopt;
  }

 private:
  std::shared_ptr<const driver::ProviderConfig> config_;
  driver::ProviderContext context_;
  std::shared_ptr<Cloud> cloud_;
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
                                 .description = "Whether the limits are ignored."}})};
  static const config::Schema schema{.description = "A cloud for tests.",
                                     .fields = {{.key = "pools",
                                                 .type = config::list_of(config::section(pool)),
                                                 .description = "Its pools."}}};
  return schema;
}

std::shared_ptr<const driver::ProviderConfig> CloudDriver::configure(
    const config::ProviderSection& section, const config::Config& /*config*/) const {
  static const config::Schema schema = config::provider_schema(this->schema());
  return std::make_shared<CloudConfig>(section, schema);
}

std::unique_ptr<driver::Provider> CloudDriver::provider(
    std::shared_ptr<const driver::ProviderConfig> config, driver::ProviderContext context) const {
  return std::make_unique<CloudProvider>(std::move(config), std::move(context), cloud_);
}

}  // namespace nodepool::launcher
