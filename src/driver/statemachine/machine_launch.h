#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "driver/driver.h"
#include "driver/launch_metrics.h"
#include "driver/launch_stages.h"
#include "driver/ownership.h"
#include "driver/statemachine/adapter.h"
#include "driver/statemachine/launch_journal.h"
#include "driver/statemachine/launch_recorder.h"
#include "driver/statemachine/silence.h"
#include "driver/statemachine/state_machine_config.h"
#include "driver/statemachine/timed_saves.h"
#include "nodescan/scanner.h"
#include "telemetry/log.h"

namespace nodepool::driver {

// The dependencies of a launch. All of them outlive it.
struct MachineLaunchContext {
  async::Runtime runtime;
  Adapter& adapter;
  const StateMachineConfig& config;
  const Ownership& ownership;
  BootTimes& boot_times;  // of machines with the node's label
  nodescan::Scanner& scanner;
  telemetry::Logger log;
  telemetry::Metrics metrics;
  const bool& is_serving;  // false: the provider is replaced, perhaps with other credentials
};

// The launch of one node: tries to make a machine until one has come up and shown its host keys.
// Rolls back each failed attempt before the next one.
class MachineLaunch {
 public:
  // `image`: the upload, if the label has a diskimage. `launch` outlives this.
  MachineLaunch(MachineLaunchContext context, NodeLaunch& launch,
                std::optional<UploadedImage> image);
  ~MachineLaunch();
  MachineLaunch(const MachineLaunch&) = delete;
  MachineLaunch& operator=(const MachineLaunch&) = delete;

  // Returns when the node can be handed out. Throws LaunchError, StoreError and async::Cancelled;
  // after the latter the launch can be resumed.
  Task<> run();

 private:
  struct Failure;

  void describe_image();
  Task<> run_attempt();
  Task<> handle_timeout();
  Task<> attempt();
  Task<> undo();
  void forget_machine();
  CreateSpec spec() const;
  void describe(const Instance& instance);
  void describe_connection(const ConnectionSettings& connection);
  Task<> scan();
  Task<> report_scan_failure(std::string reason);
  void emit_trace(const std::optional<Failure>& failure);
  std::optional<Failure> failure_of(const std::exception_ptr& error) const;
  Task<> pause();
  void begin_another_attempt();
  void step_became_unknown(std::string error);
  void searched(const std::string& failure);
  void polled(std::string_view failure);
  bool is_for_others() const;
  void end_if_replaced(std::string_view failure) const;
  bool is_last(const Failure& failure) const;
  const MachineLabel& label() const;

  MachineLaunchContext context_;
  TimedSaves launch_;
  std::optional<UploadedImage> image_;
  LaunchJournal journal_;
  LaunchMetrics metrics_;
  LaunchStages stages_;
  std::shared_ptr<LaunchRecorder> recorder_;
  std::string unknown_outcome_;  // of a step of this attempt: its error; empty: none
  std::string poll_failure_;  // of this attempt: the last one; empty: the last poll has succeeded
  Silence silence_;
  bool resumed_ = false;  // whether another launcher has begun the current attempt
};

}  // namespace nodepool::driver
