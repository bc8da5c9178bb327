#include "tests/cli/driver_double.h"

#include <stdexcept>
#include <utility>

namespace nodepool::cli {

namespace {

using async::Task;

class ConfigDouble final : public driver::ProviderConfig {
 public:
  explicit ConfigDouble(config::ProviderSection section) : ProviderConfig(std::move(section)) {}
};

class ProviderDouble final : public driver::Provider {
 public:
  ProviderDouble(std::shared_ptr<const driver::ProviderConfig> config,
                 std::shared_ptr<DriverLog> log)
      : config_(std::move(config)), log_(std::move(log)) {}

  const driver::ProviderConfig& config() const override { return *config_; }

  Task<> start() override {
    log_->lines.push_back("start " + config_->name());
    co_return;
  }

  void quiesce() override { log_->lines.emplace_back("idle"); }

  Task<> stop() override {
    log_->lines.emplace_back("stop");
    co_return;
  }

  Task<std::vector<std::string>> missing_in_cloud() override {
    if (log_->query_fails) throw std::runtime_error("the cloud is away");
    co_return std::vector<std::string>();
  }

  Task<bool> is_usable(std::string /*node_id*/) override { co_return true; }

  Task<std::optional<model::Node>> reclaim(driver::NodeRecord& record) override {
    model::Node node = record.node();
    log_->lines.push_back("take back " + node.id + " " + std::string(to_string(node.state)));
    if (log_->meanwhile) co_await log_->meanwhile();
    if (log_->fails) throw std::runtime_error("the machine does not answer");
    if (!log_->replaces) co_return std::nullopt;
    node.state = model::NodeState::ready;
    co_return node;
  }

 private:
  std::shared_ptr<const driver::ProviderConfig> config_;
  std::shared_ptr<DriverLog> log_;
};

}  // namespace

const config::Schema& DriverDouble::schema() const {
  static const config::Schema schema{.description = "A provider that does nothing."};
  return schema;
}

std::shared_ptr<const driver::ProviderConfig> DriverDouble::configure(
    const config::ProviderSection& section, const config::Config& /*config*/) const {
  return std::make_shared<ConfigDouble>(section);
}

std::unique_ptr<driver::Provider> DriverDouble::provider(
    std::shared_ptr<const driver::ProviderConfig> config,
    driver::ProviderContext /*context*/) const {
  return std::make_unique<ProviderDouble>(std::move(config), log_);
}

}  // namespace nodepool::cli
