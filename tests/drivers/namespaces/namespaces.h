#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "driver/statemachine/adapter.h"
#include "driver/statemachine/shared_poller.h"
#include "driver/statemachine/state_machine_config.h"
#include "tests/drivers/namespaces/cluster.h"

// A driver whose nodes are no machines: namespaces of a cluster. They have no address, and whoever
// has the token of one may use it; so nothing of this is known outside this folder.
namespace nodepool::drivers::namespaces {

using async::Task;

class ClusterConfig final : public driver::StateMachineConfig {
 public:
  // A provider "cluster" with a pool "main" that has a label "space".
  ClusterConfig();
};

class ClusterAdapter final : public driver::Adapter {
 public:
  ClusterAdapter(const async::Runtime& runtime, std::shared_ptr<Cluster> cluster);
  Task<> start(std::function<void()> changed) override;
  Task<> stop() override;
  Task<driver::Instance> create(driver::CreateSpec spec, driver::LaunchSteps& steps) override;
  Task<> remove(model::Json external_id, driver::LaunchSteps& steps) override;
  Task<driver::MachineList> list() override;
  Task<> remove_resource(driver::Resource resource) override;
  driver::CloudTraits traits() override { return {.consistency_delay = std::chrono::seconds(2)}; }

 private:
  using Namespaces = std::map<std::string, Cluster::Namespace>;

  async::Runtime runtime_;
  std::shared_ptr<Cluster> cluster_;
  driver::SharedPoller<Namespaces> listing_;
};

}  // namespace nodepool::drivers::namespaces
