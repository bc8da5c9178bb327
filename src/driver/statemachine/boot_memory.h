#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "driver/driver.h"
#include "driver/statemachine/boot_times.h"
#include "telemetry/log.h"

namespace nodepool::driver {

// The boot times of one provider's machines, by label, saved in the store. All launchers of the
// provider write the same record; the last write wins, as their values differ little.
class BootMemory {
 public:
  // `context` outlives this.
  BootMemory(ProviderContext context, const ProviderConfig& config, telemetry::Logger log);

  // Boot times of machines with this label. The reference is valid as long as this object.
  BootTimes& of(const std::string& label);

  // Transfers the state of the provider's previous configuration.
  void take_over(const BootMemory& predecessor);

  // Reads the saved boot times, once. If the store fails, logs that, and save_if_due() retries.
  // Throws Cancelled.
  Task<> restore();

  // Saves new boot times, at most every 5 minutes. Call it periodically. Logs failures.
  Task<> save_if_due();

 private:
  void learned(const std::string& label, async::Duration taken);
  Task<> write();

  ProviderContext context_;
  std::string provider_;
  std::set<std::string> labels_;  // of the configuration; others are dropped
  telemetry::Logger log_;
  std::map<std::string, BootTimes, std::less<>> times_;
  bool is_restored_ = false;
  bool is_dirty_ = false;
  std::optional<async::Clock::TimePoint> written_at_;
};

}  // namespace nodepool::driver
