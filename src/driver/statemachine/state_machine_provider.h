#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "driver/driver.h"
#include "driver/statemachine/adapter.h"
#include "driver/statemachine/boot_memory.h"
#include "driver/statemachine/leak_search.h"
#include "driver/statemachine/machine_inventory.h"
#include "driver/statemachine/machine_launch.h"
#include "driver/statemachine/state_machine_config.h"
#include "nodescan/scanner.h"

namespace nodepool::driver {

// A provider whose machines are made by an Adapter.
class StateMachineProvider final : public LaunchingProvider {
 public:
  StateMachineProvider(std::shared_ptr<const StateMachineConfig> config, ProviderContext context,
                       std::unique_ptr<Adapter> adapter,
                       std::unique_ptr<nodescan::Scanner> scanner);
  ~StateMachineProvider() override;

  const ProviderConfig& config() const override { return *config_; }
  Task<> start() override;
  void quiesce() override { *context_.is_serving = false; }
  void take_over(Provider& predecessor) override;
  Task<> stop() override;
  std::shared_ptr<const Offer> offer() const override;
  Task<Limits> available() override;
  Task<std::vector<std::string>> missing_in_cloud() override;
  Task<> launch(NodeLaunch& launch) override;
  Task<> remove_leaks() override;
  Task<std::vector<Leak>> leaks() override;
  Task<> remove_leak(Leak leak) override;
  ImageSupport* images() override { return adapter_->traits().images; }
  Task<bool> is_usable(std::string node_id) override;
  Task<std::map<std::string, std::string>> terminated() override;
  Task<std::optional<model::Node>> reclaim(NodeRecord& record) override;

 private:
  Task<> describe_cloud();
  void log_new_problems(const CloudDescription& described) const;
  const LabelOffer* known_label(const std::string& pool, const std::string& label) const;
  Offer make_offer() const;
  Task<Resources> taken_by_others();
  const model::ImageUpload* newest_upload(const MachineLabel& label) const;
  const model::ImageUpload* upload_for(const model::Node& node, const MachineLabel& label) const;
  Task<> remove_machine(NodeRecord& record);

  std::shared_ptr<const StateMachineConfig> config_;
  ProviderContext context_;
  telemetry::Logger log_;
  Ownership ownership_;
  BootMemory boot_memory_;
  std::unique_ptr<Adapter> adapter_;
  std::unique_ptr<nodescan::Scanner> scanner_;
  MachineInventory machines_;
  LeakSearch leak_search_;
  std::optional<CloudDescription> cloud_;       // last known
  bool is_cloud_outdated_ = false;              // the last attempt to describe it has failed
  mutable std::shared_ptr<const Offer> offer_;  // null: the cloud or the uploads have changed
  coordination::Subscription uploads_;
};

}  // namespace nodepool::driver
