#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/driver.h"
#include "driver/simple/simple_adapter.h"
#include "driver/simple/simple_driver.h"
#include "driver/simple/task_manager.h"
#include "driver/statemachine/shared_poller.h"

namespace nodepool::driver {

// The Adapter of a simple driver: calls a SimpleAdapter on threads.
class SimpleMachines final : public Adapter {
 public:
  SimpleMachines(const ProviderContext& context, std::shared_ptr<const StateMachineConfig> config,
                 std::shared_ptr<SimpleAdapter> cloud, SimpleOptions options);

  Task<> start(std::function<void()> changed) override;
  Task<> stop() override;
  Task<Instance> create(CreateSpec spec, LaunchSteps& steps) override;
  Task<> remove(model::Json external_id, LaunchSteps& steps) override;
  Task<MachineList> list() override;
  Task<> remove_resource(Resource resource) override;
  Task<CloudDescription> describe(CloudDescription::Purpose purpose) override;
  CloudTraits traits() override { return {.consistency_delay = options_.consistency_delay}; }

 private:
  using Machines = std::vector<Machine>;

  Task<LabelDescription> describe_label(std::string pool, std::string label);
  Task<Machines> ask();
  Task<std::string> make(const CreateSpec& spec, LaunchSteps& steps, PollWaiter& awaited);
  Task<std::optional<std::string>> find(Metadata ours, LaunchSteps& steps);
  // Returns whether the machine existed.
  Task<bool> call_delete(std::string id);
  // The machine in the next listing; nothing if it is absent.
  Task<std::optional<Machine>> poll(model::Json external_id, PollWaiter& awaited);

  async::Runtime runtime_;
  telemetry::Logger log_;
  std::shared_ptr<const StateMachineConfig> config_;
  std::shared_ptr<SimpleAdapter> cloud_;
  SimpleOptions options_;
  TaskManager tasks_;
  SharedPoller<Machines> listing_;
  std::map<LabelKey, Resources> needs_;  // asked once
};

}  // namespace nodepool::driver
