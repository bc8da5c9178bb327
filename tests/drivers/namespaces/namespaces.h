#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "driver/statemachine/adapter.h"
#include "driver/statemachine/listing.h"
#include "driver/statemachine/state_machine_config.h"

// A driver whose nodes are no machines: namespaces of a cluster. They have no address, and whoever
// has the token of one may use it; so nothing of this is known outside this folder.
namespace nodepool::drivers::namespaces {

using async::Task;

class ClusterAdapter;

// The cluster, as a test sees it. It outlives its adapters, and tells one of them of changes.
struct Cluster {
  struct Namespace {
    driver::Metadata labels;
    std::string token;  // once there is an account
    bool is_active = true;
    bool going = false;
  };

  // New namespaces are of no use until activate(), of which the watcher is told.
  void activate();

  bool is_slow = false;
  ClusterAdapter* watcher = nullptr;  // the adapter that was started last
  std::map<std::string, Namespace> namespaces;
  std::map<std::string, int> removals;  // asked for, by name
  std::vector<std::string> told;        // what the adapter was told
  bool is_usable = true;
  int made = 0;  // of all times
};

class ClusterConfig final : public driver::StateMachineConfig {
 public:
  // A provider "cluster" with a pool "main" that has a label "space".
  ClusterConfig();
};

class ClusterAdapter final : public driver::Adapter {
 public:
  ClusterAdapter(const async::Runtime& runtime, std::shared_ptr<Cluster> cluster)
      : runtime_(runtime),
        cluster_(std::move(cluster)),
        active_(runtime, "active namespaces",
                {.unknown = std::chrono::hours(1), .least = std::chrono::milliseconds(10)},
                [this] { return list_active(); }) {}
  ~ClusterAdapter() override;

  Task<> start() override;
  Task<> stop() override;
  Task<driver::Instance> create(driver::CreateSpec spec, driver::StateMachine& machine) override;
  Task<> remove(model::Json external_id, driver::StateMachine& machine) override;
  Task<std::vector<driver::Instance>> instances() override;
  Task<std::vector<driver::Resource>> resources() override;
  bool may_be_of(const driver::Resource& resource, const model::Node& node) const override;
  Task<> remove_resource(driver::Resource resource) override;
  Task<bool> is_usable(model::Node node) override;
  void node_reused(const model::Node& node) override { tell("reused", node); }
  void node_deleted(const model::Node& node) override { tell("deleted", node); }
  void take_over(driver::Adapter& predecessor) override;

  // The cluster tells that there is something new.
  void changed() { active_.look_now(); }
  async::Duration settling_time() const override { return std::chrono::seconds(2); }

 private:
  // What every call of the cluster takes.
  Task<> call() { co_await runtime_.clock.sleep_for(std::chrono::seconds(1)); }
  void tell(const std::string& what, const model::Node& node);
  Task<std::string> make_namespace(driver::CreateSpec spec, driver::StateMachine& machine);
  Task<std::optional<std::string>> find_namespace(driver::CreateSpec spec,
                                                  driver::StateMachine& machine);
  Task<std::set<std::string>> list_active();
  Task<> wait_until_active(std::string name);
  Task<std::string> make_account(std::string name);
  Task<std::string> begin_removal(std::string name);
  Task<std::optional<std::string>> find_removal(std::string name);
  driver::Instance describe(const std::string& name, const Cluster::Namespace& entry) const;

  async::Runtime runtime_;
  std::shared_ptr<Cluster> cluster_;
  driver::Listing<std::set<std::string>> active_;
};

}  // namespace nodepool::drivers::namespaces
