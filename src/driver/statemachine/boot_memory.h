#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "driver/driver.h"
#include "driver/statemachine/boot_times.h"
#include "telemetry/log.h"

namespace nodepool::driver {

// How long machines of one provider take to come up, by label. Kept in the store, where all
// launchers of the provider write what they have seen, the last over the others: it differs little.
class BootMemory {
 public:
  // `context` as ProviderContext says.
  BootMemory(ProviderContext context, const ProviderConfig& config, telemetry::Logger log);

  // Of machines with this label; as long as this is there.
  BootTimes& of(const std::string& label);

  // This goes on where the one of the same provider as it was configured before has ended.
  void take_over(const BootMemory& predecessor);

  // Reads what was written down, unless this has been done. A store that fails is asked again by
  // remember(). Throws Cancelled.
  Task<> restore();

  // Writes down what is new, if the last time was some minutes ago. To be called now and then. What
  // fails is logged.
  Task<> remember();

 private:
  void learned(const std::string& label, async::Duration taken);
  Task<> write();

  ProviderContext context_;
  std::string provider_;
  std::set<std::string> labels_;  // of the configuration: what others are called is forgotten
  telemetry::Logger log_;
  std::map<std::string, BootTimes, std::less<>> times_;
  bool is_recalled_ = false;
  bool has_news_ = false;
  std::optional<async::Clock::TimePoint> written_at_;
};

}  // namespace nodepool::driver
