#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "async/clock.h"
#include "config/config.h"

namespace nodepool::simulation {

// What the configuration says of new nodes and of their end, and no provider's section does.
struct Settings {
  struct Access {
    std::string username;
    std::string python_path;

    friend auto operator<=>(const Access&, const Access&) = default;
  };
  std::map<std::string, Access> access;  // by label
  std::optional<std::int64_t> max_hold_age;

  friend bool operator==(const Settings&, const Settings&) = default;
};

Settings settings_of(const config::Config& config);

// By which settings each launcher may act: those that it has gone over to last, what it has been
// given since, and, for what it had begun to decide, those of a moment ago.
class KnownSettings {
 public:
  // By the number of its process.
  using Launcher = std::uint64_t;

  explicit KnownSettings(const async::VirtualClock& clock) : clock_(clock) {}

  void given(Launcher launcher, Settings settings);

  // It has gone over to what it was given last.
  void went_over(Launcher launcher);

  std::vector<Settings> in_force(Launcher launcher) const;

 private:
  struct Given {
    Settings settings;
    async::Clock::TimePoint until = async::Clock::TimePoint::max();
  };

  const async::VirtualClock& clock_;
  std::map<Launcher, std::vector<Given>> given_;
};

}  // namespace nodepool::simulation
