#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/task_scope.h"
#include "coordination/group_commit.h"
#include "driver/driver.h"
#include "launcher/launcher.h"
#include "tests/simulation/harness/process.h"
#include "tests/simulation/harness/simulated_driver.h"

namespace nodepool::simulation {

// A launcher as its daemon runs it: it starts with a configuration, goes over to others, and ends
// as a process when it cannot start.
class LauncherProcess final : public Process {
 public:
  LauncherProcess(World& world, std::string name, coordination::FaultPlan plan,
                  const driver::DriverRegistry& drivers, config::Config config);
  ~LauncherProcess() override;

  void reconfigure(config::Config config);

  // Ends it in order; then ended() is true.
  void stop();

  // Whether the process has ended, in order or because it could not start.
  bool ended() const { return ended_; }

  // What it says is not in order. That the disk is full it says until it has written again.
  std::vector<std::string> problems() const;

  // Whether it serves, with the last configuration it was given.
  bool up_to_date() const { return up_to_date_; }

 private:
  coordination::Store& used_store();
  Task<> run(config::Config config);
  Task<> serve(config::Config config);

  coordination::GroupCommit grouping_;
  bool message_is_refused_ = false;  // the last one, by the disk
  bool entry_is_refused_ = false;    // of the history
  std::shared_ptr<telemetry::Log> log_;
  std::unique_ptr<launcher::Launcher> launcher_;
  std::optional<config::Config> next_;
  async::Event changed_;
  bool stopping_ = false;
  bool ended_ = false;
  bool up_to_date_ = false;
  async::TaskScope scope_;
};

}  // namespace nodepool::simulation
