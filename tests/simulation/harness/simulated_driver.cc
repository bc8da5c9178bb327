#include "tests/simulation/harness/simulated_driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "config/nodepool_schema.h"
#include "coordination/lock.h"
#include "coordination/path.h"
#include "coordination/tree.h"
#include "model/paths.h"
#include "tests/simulation/harness/chance.h"

namespace nodepool::simulation {

namespace {

using coordination::Transaction;
using model::Node;
using model::NodeState;

constexpr auto kRegistrationRetryPause = std::chrono::seconds(5);
constexpr auto kFlappingPause = std::chrono::seconds(1);

struct Machine {
  std::string pool;
  std::vector<std::string> labels;
};

std::string machine_name(std::string_view host, std::int64_t slot) {
  return fmt::format("{}/{}", host, slot);
}

std::string machine_of(const Node& node) {
  return machine_name(node.hostname.value_or(""), node.slot.value_or(-1));
}

class SimulatedConfig final : public driver::ProviderConfig {
 public:
  explicit SimulatedConfig(const config::ProviderSection& section) : ProviderConfig(section) {
    for (const config::Value& entry : section.value.find("pools")->as_list()) {
      driver::PoolConfig pool;
      pool.name = entry.find("name")->as_string();
      pool.priority = entry.find("priority")->as_integer();
      for (const config::Value& host : entry.find("nodes")->as_list()) add(pool, host);
      pools_.emplace(pool.name, pool);
    }
  }

  const std::map<std::string, Machine>& machines() const { return machines_; }

  driver::Offer offer() const override {
    driver::Offer offer = ProviderConfig::offer();
    for (auto& [name, pool] : offer.pools) pool.inventory = inventory_.at(name);
    return offer;
  }

 private:
  void add(driver::PoolConfig& pool, const config::Value& host) {
    std::vector<std::string> labels;
    for (const config::Value& label : host.find("labels")->as_list()) {
      labels.push_back(label.as_string());
      pool.labels.insert(label.as_string());
    }
    const std::int64_t slots = host.find("max-parallel-jobs")->as_integer();
    for (std::int64_t slot = 0; slot < slots; ++slot) {
      inventory_[pool.name].push_back(labels);
      machines_[machine_name(host.find("name")->as_string(), slot)] = {pool.name, labels};
    }
  }

  std::map<std::string, Machine> machines_;
  std::map<std::string, driver::Inventory> inventory_;  // by pool
};

class SimulatedProvider final : public driver::Provider {
 public:
  SimulatedProvider(std::shared_ptr<const SimulatedConfig> config, driver::ProviderContext context,
                    std::shared_ptr<const Hardware> hardware, Journal& journal)
      : config_(std::move(config)),
        offer_(std::make_shared<const driver::Offer>(config_->offer())),
        context_(std::move(context)),
        hardware_(std::move(hardware)),
        journal_(journal),
        scope_(context_.runtime, [](const std::string&, const std::string&) {}) {}

  const driver::ProviderConfig& config() const override { return *config_; }

  Task<> start() override {
    nodes_ = context_.nodes.observe([this](const model::NodeTable::Change& change) {
      for (const Node* node : {change.before, change.after}) {
        if (node != nullptr && node->provider == config_->name()) wake_.set();
      }
    });
    locks_ = context_.nodes.observe_locks([this](const std::string&) { wake_.set(); });
    readiness_ = context_.nodes.observe_readiness([this](bool) { wake_.set(); });
    scope_.spawn("simulated provider", run());
    wake_.set();
    co_return;
  }

  void quiesce() override {
    idle_ = true;
    nodes_.reset();
    locks_.reset();
    readiness_.reset();
    scope_.cancel();
  }

  Task<> stop() override {
    quiesce();
    co_await scope_.join();
  }

  std::shared_ptr<const driver::Offer> offer() const override { return offer_; }

  Task<bool> is_usable(std::string node_id) override {
    const Node* node = context_.nodes.find(node_id);
    if (node == nullptr) co_return false;
    const std::string machine = machine_of(*node);
    co_await context_.runtime.clock.sleep_for(
        seconds_between(context_.runtime.random, 0, hardware_->slowest_check));
    if (!config_->machines().contains(machine)) co_return false;
    const bool usable = !chance(context_.runtime.random, hardware_->unusable);
    if (!usable) journal_.count("machine: unusable");
    co_return usable;
  }

  Task<std::optional<Node>> reclaim(driver::NodeRecord& record) override {
    Node node = record.node();
    const std::string machine = machine_of(node);
    taking_back_.insert(machine);
    std::exception_ptr failure;
    std::optional<Node> replacement;
    try {
      replacement = co_await clean(std::move(node));
    } catch (...) {
      failure = std::current_exception();
    }
    taking_back_.erase(machine);
    wake_.set();
    if (failure) std::rethrow_exception(failure);
    co_return replacement;
  }

 private:
  Task<std::optional<Node>> clean(Node node) {
    async::Random& random = context_.runtime.random;
    co_await context_.runtime.clock.sleep_for(
        seconds_between(random, 0, hardware_->slowest_take_back));
    if (chance(random, hardware_->reclaim_fails)) {
      journal_.count("machine: take_back failed");
      throw std::runtime_error("the machine does not answer");
    }
    if (chance(random, hardware_->needs_repair)) {
      journal_.count("machine: no replacement");
      co_return std::nullopt;
    }
    const std::string machine = machine_of(node);
    if (idle_ || !config_->machines().contains(machine) || is_registered(machine, node.id)) {
      co_return std::nullopt;
    }
    co_return record(machine);
  }

  Node record(const std::string& machine) const {
    const Machine& wanted = config_->machines().at(machine);
    const std::size_t slash = machine.find('/');
    Node node;
    node.set_state(NodeState::ready, context_.runtime.clock.wall_seconds());
    node.created_time = node.state_time;
    node.provider = config_->name();
    node.pool = wanted.pool;
    node.type = wanted.labels;
    node.hostname = machine.substr(0, slash);
    node.slot = std::stoll(machine.substr(slash + 1));
    return node;
  }

  // Keeps one record for each machine.
  Task<> run() {
    while (true) {
      co_await wake_.wait();
      bool failed = false;
      try {
        if (context_.nodes.ready()) co_await restore_host();
      } catch (const coordination::StoreError&) {
        failed = true;
      }
      if (!failed) continue;
      co_await context_.runtime.clock.sleep_for(kRegistrationRetryPause);
      wake_.set();
    }
  }

  Task<> restore_host() {
    std::set<std::string> seen;
    std::vector<std::string> surplus;
    for (const std::string& id : context_.nodes.of_provider(config_->name())) {
      const Node& node = *context_.nodes.find(id);
      if (node.state == NodeState::deleting) continue;  // it may have been replaced already
      const std::string machine = machine_of(node);
      const auto configured = config_->machines().find(machine);
      const bool wanted = configured != config_->machines().end() &&
                          configured->second.labels == node.type && seen.insert(machine).second;
      if (!wanted && context_.nodes.is_free(node)) surplus.push_back(id);
    }
    co_await pause_if_flapping(!surplus.empty());
    for (const std::string& id : surplus) co_await deregister(id);
    for (const auto& [name, machine] : config_->machines()) {
      if (taking_back_.contains(name) || is_registered(name)) continue;
      Node node = record(name);
      Transaction transaction;
      transaction.create(model::node_path(""), to_record(node),
                         coordination::CreateMode::persistent_sequential);
      const auto results =
          co_await coordination::commit_with_parents(context_.store, std::move(transaction));
      node.id = coordination::base_name(results.front().path);
      context_.nodes.written(std::move(node), results.front().stat);
    }
  }

  // A launcher with another configuration of the provider registers at once what this one
  // deregisters. The static driver pauses, too.
  Task<> pause_if_flapping(bool has_surplus) {
    if (!has_surplus) co_return;
    async::Clock& clock = context_.runtime.clock;
    if (clock.now() == deregistered_at_) co_await clock.sleep_for(kFlappingPause);
    deregistered_at_ = clock.now();
  }

  // Whether a record beside `except` stands for the machine.
  bool is_registered(const std::string& machine, std::string_view except = {}) const {
    for (const std::string& id : context_.nodes.of_provider(config_->name())) {
      if (id != except && machine_of(*context_.nodes.find(id)) == machine) return true;
    }
    return false;
  }

  Task<> deregister(std::string id) {
    coordination::Lock lock(context_.store, context_.runtime.random, model::node_lock_path(id));
    if (!co_await lock.try_acquire()) co_return;
    std::exception_ptr failure;
    try {
      Node node = model::parse_node(id, co_await context_.store.get(model::node_path(id)));
      if (node.state == NodeState::ready && !node.allocated_to) {
        node.set_state(NodeState::deleting, context_.runtime.clock.wall_seconds());
        Transaction transaction;
        transaction.set(model::node_path(id), to_record(node), node.stat.version);
        lock.check_in(transaction);
        co_await context_.store.commit(std::move(transaction));
      }
    } catch (...) {
      failure = std::current_exception();
    }
    co_await lock.release();
    if (failure) std::rethrow_exception(failure);
  }

  std::shared_ptr<const SimulatedConfig> config_;
  std::shared_ptr<const driver::Offer> offer_;
  driver::ProviderContext context_;
  std::shared_ptr<const Hardware> hardware_;
  Journal& journal_;
  bool idle_ = false;
  std::set<std::string> taking_back_;
  async::Clock::TimePoint deregistered_at_{};
  async::Event wake_;
  coordination::Subscription nodes_;
  coordination::Subscription locks_;
  coordination::Subscription readiness_;
  async::TaskScope scope_;
};

}  // namespace

const config::Schema& SimulatedDriver::schema() const {
  static const config::Schema schema{.description = "Machines of a simulation."};
  return schema;
}

std::shared_ptr<const driver::ProviderConfig> SimulatedDriver::configure(
    const config::ProviderSection& section, const config::Config& /*config*/) const {
  return std::make_shared<SimulatedConfig>(section);
}

std::unique_ptr<driver::Provider> SimulatedDriver::provider(
    std::shared_ptr<const driver::ProviderConfig> config, driver::ProviderContext context) const {
  return std::make_unique<SimulatedProvider>(
      std::dynamic_pointer_cast<const SimulatedConfig>(config), std::move(context), hardware_,
      journal_);
}

}  // namespace nodepool::simulation
