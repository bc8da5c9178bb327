#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "async/backoff.h"
#include "async/event.h"
#include "async/pace.h"
#include "async/shared_result.h"
#include "async/slots.h"
#include "async/task_scope.h"
#include "driver/driver.h"
#include "drivers/static_nodes/host_check.h"
#include "drivers/static_nodes/host_nodes.h"
#include "drivers/static_nodes/host_reports.h"
#include "drivers/static_nodes/slot_plan.h"
#include "drivers/static_nodes/static_config.h"
#include "model/change_node.h"

namespace nodepool::drivers::static_nodes {

using async::Task;

// Keeps one ready node registered for each slot of each configured host that is healthy.
//
// Inspects a host when one of its records or the configuration changes, and, while it is unhealthy,
// repeatedly with exponential backoff. Hosts are independent of each other.
class StaticProvider final : public driver::Provider {
 public:
  StaticProvider(std::shared_ptr<const StaticProviderConfig> config,
                 driver::ProviderContext context, std::unique_ptr<nodescan::Scanner> scanner);

  const driver::ProviderConfig& config() const override { return *config_; }
  Task<> start() override;
  void quiesce() override;
  void take_over(driver::Provider& predecessor) override;
  Task<> stop() override;
  std::shared_ptr<const driver::Offer> offer() const override { return offer_; }
  Task<bool> is_usable(std::string node_id) override;
  Task<std::optional<model::Node>> reclaim(driver::NodeRecord& record) override;

 private:
  // Backoff between checks of a host that is not known to be healthy. The longest pause is the
  // Python Nodepool's cleanup interval.
  static constexpr async::Duration kFirstPause = std::chrono::seconds(2);
  static constexpr async::Duration kLongestPause = std::chrono::seconds(60);

  // Limits how often a host's records are corrected. Otherwise two launchers with different
  // configurations would undo each other's changes in a tight loop.
  static constexpr async::Duration kRestoreInterval = std::chrono::seconds(6);
  static constexpr int kRestoresAtOnce = 10;

  // So many hosts that have just refused a connection, in so long, are an outage of many.
  static constexpr int kRefusalsOfOutage = 3;
  static constexpr async::Duration kRefusalPeriod = std::chrono::minutes(1);

  // The state of one configured host.
  struct HostState {
    HostNodes nodes;
    // Makes one check at a time, for all slots.
    std::unique_ptr<async::SharedResult<HostFacts>> check;

    bool unchecked = true;  // whether it must be checked
    bool busy = false;      // whether a task works on it
    bool changed = false;   // whether something has changed since that task began
    async::Backoff backoff{kFirstPause, kLongestPause};  // while it is unhealthy
    double failing_since = 0;  // seconds since the epoch, while it is unhealthy
    async::Backoff doubts{kFirstPause, kLongestPause};  // while that is unknown
    async::Pace restores{kRestoreInterval, kRestoresAtOnce};
  };

  HostState new_state(const Host& host);
  HostState* state_of(const model::Node* node);
  void on_node(const model::NodeTable::Change& change);
  void keep_slot(const HostKey& key, const std::string& id);
  Task<> reevaluate_once_known(HostKey key, std::string id);
  void reevaluate_after(const model::Node& changed, const HostState& state);
  void reevaluate(const HostKey& key);
  Task<> process(HostKey key);
  // Corrects the host's records. Returns whether that took a check, which found it healthy.
  Task<bool> restore_host(const Host& host, HostState& state);
  // Whether all these records are still in the store.
  Task<bool> all_exist(std::vector<std::string> ids);
  Task<> reevaluate_later(HostKey key, async::Duration pause);
  void check_succeeded(const HostKey& key, HostState& state);
  void check_failed(const Host& host, HostState& state, const std::string& reason);
  void check_undecided(const Host& host, HostState& state, const std::string& reason);
  // The host did not accept a connection for one of its nodes.
  void connection_failed(const Host& host, const std::string& node_id, const std::string& reason);
  void check_unless_scheduled(const HostKey& key, HostState& state);
  // Another host has refused a connection. If several have, checks all.
  void note_refusal();
  // Updates the free nodes of a host whose key was replaced since they were registered.
  void update_if_key_replaced(const Host& host, HostState& state, const HostFacts& facts);
  void report(const Host& host, HostState& state, const std::string& reason);
  void report_unhealthy_hosts() const;

  const model::Json& attributes(const Host& host) const;
  Task<> register_slot(const Host& host, std::int64_t slot, const HostFacts& facts);
  Task<> withdraw(model::Node node);
  Task<> put_into_service(model::Node node);
  Task<> put_into_service_once_unlocked(std::string id);
  Task<> update(std::string id, const Host& host, const HostFacts& facts,
                std::optional<std::int64_t> slot);
  Task<model::NodeChange> deregister(std::string id);
  Task<> retire(std::string id, async::Duration pause = {});
  Task<> deregister_if_free(std::string id);
  bool is_wanted(const model::Node& node) const;
  bool has_outdated(const Host& host, const HostState& state, const SlotPlan& plan) const;
  void retire_unconfigured(const model::Node& node, async::Duration pause);
  const Host* find_host(const model::Node& node) const;

  std::shared_ptr<const StaticProviderConfig> config_;
  std::shared_ptr<const driver::Offer> offer_;
  driver::ProviderContext context_;
  telemetry::Logger log_;
  HostChecker checker_;
  HostReports reports_;
  std::set<HostKey> unhealthy_;
  std::set<std::string> retiring_;  // nodes of retire(), after its pause
  int refusals_ = 0;                // hosts, since `first_refusal_`
  async::Clock::TimePoint first_refusal_{};
  async::Slots registrations_;
  std::map<HostKey, HostState> states_;
  bool is_quiesced_ = false;
  bool has_successor_ = false;  // which counts the unhealthy hosts from now on
  coordination::Subscription subscription_;
  async::TaskScope scope_;
};

}  // namespace nodepool::drivers::static_nodes
