#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "driver/driver.h"
#include "driver/simple/task_manager.h"
#include "driver/statemachine/shared_poller.h"
#include "drivers/libvirt/api/host.h"
#include "drivers/libvirt/config/libvirt_config.h"
#include "drivers/libvirt/placement.h"

namespace nodepool::drivers::libvirt {

// A host as a provider uses it: its calls, one at a time on a thread, and its state, which all
// launches and deletions share. A host that does not respond delays no other.
class HostLine {
 public:
  using States = driver::SharedPoller<HostState>;

  // `context` and `query` are copied; what they refer to outlives it.
  HostLine(const driver::ProviderContext& context, const LibvirtConfig& config, HostConfig host,
           HostQuery query, std::shared_ptr<Host> connection);

  void start() { tasks_.start(); }
  async::Task<> stop();

  const HostConfig& config() const { return config_; }
  States& states() { return states_; }

  // The state at most `max_age` ago. Throws CloudError: at once for a while after a failure that
  // took long.
  async::Task<States::Pointer> state(async::Duration max_age) { return states_.get(max_age); }
  // The last state that could be read; nullptr: none yet.
  const States::Pointer& last_state() const { return last_; }

  // Makes a call with the host: see driver::TaskManager::submit().
  template <typename Call>
  async::Task<std::invoke_result_t<Call&, Host&>> call(std::string name, Call call) {
    auto bound = [host = connection_, call = std::move(call)]() mutable { return call(*host); };
    return tasks_.submit(std::move(name), std::move(bound));
  }

  // The machines that are being launched here. Launches may outlive this.
  const std::shared_ptr<Reservations>& reservations() { return reservations_; }

 private:
  async::Task<HostState> ask();

  async::Runtime runtime_;
  telemetry::Logger log_;
  HostConfig config_;
  HostQuery query_;
  std::shared_ptr<Host> connection_;
  driver::TaskManager tasks_;
  States states_;
  States::Pointer last_;
  std::string failure_;  // of the last call; empty: it responds
  async::Clock::TimePoint away_until_{};
  std::shared_ptr<Reservations> reservations_ = std::make_shared<Reservations>();
};

}  // namespace nodepool::drivers::libvirt
