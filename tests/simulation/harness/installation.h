#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "driver/driver.h"
#include "tests/simulation/harness/auditor.h"
#include "tests/simulation/harness/builder_process.h"
#include "tests/simulation/harness/cloud.h"
#include "tests/simulation/harness/custody.h"
#include "tests/simulation/harness/disasters.h"
#include "tests/simulation/harness/foreign_auditor.h"
#include "tests/simulation/harness/foreign_process.h"
#include "tests/simulation/harness/holds.h"
#include "tests/simulation/harness/known_limits.h"
#include "tests/simulation/harness/launcher_process.h"
#include "tests/simulation/harness/leak_operator.h"
#include "tests/simulation/harness/operator_process.h"
#include "tests/simulation/harness/requestor_process.h"
#include "tests/simulation/harness/rest_check.h"
#include "tests/simulation/harness/settings_auditor.h"
#include "tests/simulation/harness/shares_auditor.h"
#include "tests/simulation/harness/store_swap.h"
#include "tests/simulation/harness/topology.h"

namespace nodepool::simulation {

// The simulated processes, in steps: one step lets one process run, or time pass to the next timer.
class Installation {
 public:
  Installation(World& world, const coordination::FaultPlan& launcher_faults,
               const Disasters& disasters);

  // One step; returns false if nothing is left to do before `until`, which it then is. Throws
  // Stuck.
  bool step(async::Clock::TimePoint until);
  void run_until(async::Clock::TimePoint until);

  // Something happens that nobody asked for.
  void mishap();

  // No more faults: everything that is down comes up again, and all who use nodes come to an end.
  void calm_down();

  // Reports what is not as it should be at rest.
  void check_answered();
  void check_rest();

  bool min_ready_is_met() const { return rest_check_.min_ready_is_met(); }

  const Auditor& auditor() const { return auditor_; }
  // How many requests wait for an answer.
  std::size_t unanswered() const { return rest_check_.unanswered().size(); }
  // How often the launchers that run now have had something to do.
  std::uint64_t turns_of_launchers() const;

 private:
  struct LauncherSlot {
    std::unique_ptr<LauncherProcess> process;  // null while it is down
    async::Clock::TimePoint back_at{};
  };
  struct RequestorSlot {
    std::unique_ptr<RequestorProcess> process;
    async::Clock::TimePoint back_at{};
  };
  // A session that nobody has noticed to be dead, or that is cut off.
  struct Pending {
    async::Clock::TimePoint at;
    std::function<void()> action;
  };

  std::vector<Process*> processes();
  void start_shares(std::uint64_t seed);
  void start_builder(std::uint64_t seed);
  void start_leak_operator();
  void start_foreigner(std::uint64_t seed);
  void start_launcher(std::size_t index);
  void start_requestor(std::size_t index);
  void bring_back();
  async::Clock::TimePoint next_due();
  void do_due();
  void later(async::Duration pause, std::function<void()> action);

  void kill_launcher(std::size_t index);
  void kill_requestor(std::size_t index);
  void stop_launcher(std::size_t index);
  void replace_launcher(std::size_t index);
  void cut_off(Process& process);
  void reload();
  void jump_wall_clock();
  void change_cloud_limits();

  void reconfigure(std::size_t index);
  void report_tenant_limits(const LauncherProcess& launcher, const config::Config& config);
  void settle_topology();

  void befall(const Disaster& disaster);
  void store_goes_away(const Disaster& disaster);
  void replace_store(const Backup& backup);
  void lose_backing_node(const Disaster& disaster);
  void fill_disk(const Disaster& disaster);
  void restart_one_by_one(const Disaster& disaster);
  void kill_all();
  void reload_another_section(const Disaster& disaster);
  void reload_top_level(const Disaster& disaster);

  void note(const std::string& text) { world_.journal.note("-", text); }

  World& world_;
  std::int64_t set_back_ = 0;  // of the wall clock, from the latest time that it has shown; seconds
  Holds holds_;
  Clouds clouds_;
  KnownLimits known_;
  Auditor auditor_;
  Custody custody_;
  KnownSettings known_settings_;
  SettingsAuditor settings_auditor_;
  ForeignAuditor foreign_auditor_;
  SharesAuditor shares_auditor_;
  Topology topology_;
  RestCheck rest_check_;
  std::shared_ptr<Hardware> hardware_;
  driver::DriverRegistry drivers_;
  coordination::FaultPlan launcher_faults_;
  std::vector<LauncherSlot> launchers_;
  std::vector<std::unique_ptr<LauncherProcess>> leaving_;  // being stopped, and replaced already
  std::vector<RequestorSlot> requestors_;
  std::unique_ptr<OperatorProcess> operator_;
  std::unique_ptr<BuilderProcess> builder_;             // null: there is none
  std::unique_ptr<ForeignProcess> foreigner_;           // null: there is none
  std::unique_ptr<LeakOperatorProcess> leak_operator_;  // null: nobody needs one
  std::vector<Pending> pending_;
  std::set<std::uint64_t> quiet_;  // numbers of those that had nothing to do when last asked
  bool calm_ = false;
  bool store_is_away_ = false;
  std::uint64_t steps_ = 0;
  std::uint64_t steps_at_once_ = 0;  // without time passing
};

}  // namespace nodepool::simulation
