#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/task_scope.h"
#include "driver/statemachine/adapter.h"
#include "drivers/metastatic/backing_nodes.h"
#include "drivers/metastatic/backing_requests.h"
#include "drivers/metastatic/metastatic_config.h"

namespace nodepool::drivers::metastatic {

// The adapter for nodes on backing nodes: its cloud is Nodepool itself, with all state in the
// store.
class MetastaticAdapter final : public driver::Adapter {
 public:
  MetastaticAdapter(std::shared_ptr<const MetastaticConfig> config,
                    driver::ProviderContext context);

  Task<> start(std::function<void()> changed) override;
  Task<> stop() override;
  Task<driver::Instance> create(driver::CreateSpec spec, driver::LaunchSteps& steps) override;
  Task<> remove(model::Json external_id, driver::LaunchSteps& steps) override;
  Task<driver::MachineList> list() override;
  Task<> remove_resource(driver::Resource resource) override;
  // Retires the backing node.
  Task<std::optional<std::string>> diagnose(model::Json external_id, bool wants_console) override;
  // How long the table of nodes may lack the last writes of a launcher that has died.
  driver::CloudTraits traits() override { return {.consistency_delay = std::chrono::seconds(2)}; }

 private:
  Task<std::string> take_slot(const driver::CreateSpec& spec, driver::LaunchSteps& steps);
  Task<bool> occupy(const driver::CreateSpec& spec, Slot slot,
                    const coordination::Transaction& proof);
  Task<std::optional<std::string>> find_slot(const driver::CreateSpec& spec,
                                             driver::LaunchSteps& steps) const;
  std::optional<std::string> slot_of_tenant(const driver::CreateSpec& spec,
                                            driver::LaunchSteps& steps) const;
  driver::Machine machine_in(const Slot& slot, const Tenant& tenant) const;
  Task<driver::Instance> instance_in(Slot slot, const driver::CreateSpec& spec);
  Task<model::Node> read_backing(Slot slot);
  Task<> return_backing_nodes();
  Task<> apply_disposition(std::string id);
  async::Duration time_to_next_check() const;

  std::shared_ptr<const MetastaticConfig> config_;
  driver::ProviderContext context_;
  telemetry::Logger log_;
  std::string owner_;
  BackingNodes nodes_;
  BackingRequests requests_;
  async::TaskScope scope_;
};

}  // namespace nodepool::drivers::metastatic
