#include "tests/simulation/harness/known_settings.h"

#include <utility>

namespace nodepool::simulation {

namespace {

// Between a decision and what it leads to in the store, on a slow link.
constexpr auto kMoment = std::chrono::seconds(10);

}  // namespace

Settings settings_of(const config::Config& config) {
  Settings settings;
  for (const auto& [name, image] : config.diskimages) {
    settings.access[name] = {image.username, image.python_path};
  }
  settings.max_hold_age = config.max_hold_age;
  return settings;
}

void KnownSettings::given(Launcher launcher, Settings settings) {
  given_[launcher].push_back({std::move(settings)});
}

void KnownSettings::went_over(Launcher launcher) {
  std::vector<Given>& given = given_[launcher];
  const async::Clock::TimePoint now = clock_.now();
  std::erase_if(given, [now](const Given& one) { return one.until < now; });
  for (std::size_t i = 0; i + 1 < given.size(); ++i) {
    given[i].until = std::min(given[i].until, now + kMoment);
  }
}

std::vector<Settings> KnownSettings::in_force(Launcher launcher) const {
  std::vector<Settings> settings;
  const auto found = given_.find(launcher);
  if (found == given_.end()) return settings;
  for (const Given& given : found->second) {
    if (clock_.now() <= given.until) settings.push_back(given.settings);
  }
  return settings;
}

}  // namespace nodepool::simulation
