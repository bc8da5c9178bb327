#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "async/thread_pool.h"
#include "driver/driver.h"
#include "driver/simple/task_manager.h"
#include "driver/statemachine/shared_poller.h"
#include "drivers/libvirt/api/guarded_thread.h"
#include "drivers/libvirt/api/host.h"
#include "drivers/libvirt/config/libvirt_config.h"
#include "drivers/libvirt/placement.h"

namespace nodepool::drivers::libvirt {

// A host as a provider uses it: its calls, one at a time on a thread of its own, and its state,
// which all launches and deletions share. Queries of the state have another thread and connection:
// what is known about all hosts does not wait for the start of a machine on one. A host that does
// not respond delays no other.
class HostLine {
 public:
  using States = driver::SharedPoller<HostState>;

  // `context` and `query` are copied; what they refer to outlives it.
  HostLine(const driver::ProviderContext& context, const LibvirtConfig& config, HostConfig host,
           HostQuery query, HostMaker make);

  void start();
  async::Task<> stop();

  const HostConfig& config() const { return config_; }
  States& states() { return states_; }

  // The state at most `max_age` ago. Throws CloudError: at once for a while after a failure that
  // took long.
  async::Task<States::Pointer> state(async::Duration max_age) { return states_.get(max_age); }
  // Whether the host has not responded for two minutes, by all that has asked for its state: it may
  // not come back. Launches do not wait for it any longer if there are other hosts.
  bool is_lost() const;
  // Whether requests may wait for the host: it responds, or does not for less than a quarter of an
  // hour, such as for a reboot.
  bool may_be_back() const;
  // Why the host does not respond; empty: it has responded to the last query, if any.
  const std::string& failure() const { return failure_; }
  // The last state that could be read; nullptr: none yet.
  const States::Pointer& last_state() const { return last_; }

  // How a launch on this host has ended. A failure while the host does not respond does not count.
  void launch_failed();
  void launch_succeeded() { launch_failed_.reset(); }
  // Whether a launch has failed here in the last five minutes, and none has succeeded since.
  bool has_failed_lately() const;

  // What a call does decides on its deadline, and on what is known after it. The start of a machine
  // is a change that may take minutes: with host devices, it gets all its memory first.
  enum class Effect { reads, changes, starts };

  // Makes a call with the host, see driver::TaskManager::submit() and GuardedThread. Throws
  // CloudError(transient) if the host does not respond, and CloudError(unknown_outcome) if a change
  // may have happened.
  template <typename Call>
  async::Task<std::invoke_result_t<Call&, Hypervisor&>> call(std::string name, Effect effect,
                                                             Call call) {
    return tasks_.submit(std::move(name), guarded(thread_, effect, std::move(call)));
  }

  // The machines that are being launched here. Launches may outlive this.
  const std::shared_ptr<PendingMachines>& pending_machines() { return pending_machines_; }

 private:
  using Thread = GuardedThread<Hypervisor>;

  static std::chrono::seconds deadline_of(Effect effect);
  static driver::CloudError stuck(const std::string& host);
  static driver::CloudError timed_out(const std::string& host, Effect effect);

  // The call on that thread, up to its deadline.
  template <typename Call>
  auto guarded(std::shared_ptr<Thread> thread, Effect effect, Call call) const {
    using Result = std::invoke_result_t<Call&, Hypervisor&>;
    return std::function<Result()>([thread = std::move(thread), host = config_.name, effect,
                                    call = std::move(call)]() -> Result {
      try {
        return thread->template run<Result>(deadline_of(effect), call);
      } catch (const Thread::Stuck&) {
        throw stuck(host);
      } catch (const Thread::TimedOut&) {
        throw timed_out(host, effect);
      }
    });
  }

  async::Task<HostState> ask();

  async::Runtime runtime_;
  telemetry::Logger log_;
  HostConfig config_;
  HostQuery query_;
  std::shared_ptr<Thread> thread_;        // shared with calls
  std::shared_ptr<Thread> query_thread_;  // for queries of the state
  async::ThreadPool threads_;             // wait for calls, up to their deadlines
  driver::TaskManager tasks_;
  driver::TaskManager queries_;
  States states_;
  States::Pointer last_;
  std::string failure_;                   // of the last call; empty: it responds
  async::Clock::TimePoint away_since_{};  // with a failure
  async::Clock::TimePoint away_until_{};
  std::optional<async::Clock::TimePoint> launch_failed_;  // nothing: the last one has succeeded
  std::shared_ptr<PendingMachines> pending_machines_ = std::make_shared<PendingMachines>();
};

}  // namespace nodepool::drivers::libvirt
