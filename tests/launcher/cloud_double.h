#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "driver/driver.h"

namespace nodepool::launcher {

// The state of the clouds behind `driver: cloud`, which tests set and check.
struct Cloud {
  driver::Limits limits;          // result of available()
  std::string limits_failure;     // thrown by available() unless empty
  async::Duration limits_time{};  // of available()
  std::string start_failure;      // thrown by start() unless empty
  int starts = 0;                 // calls so far
  async::Duration start_time{};   // of start()
  std::map<std::string, driver::Resources, std::less<>> needs;     // by label; else one instance
  std::map<std::string, std::string, std::less<>> label_problems;  // by label
  async::Duration launch_time{};
  std::optional<driver::LaunchError> launch_error;  // of every launch, after launch_time
  std::set<std::string, std::less<>> refused;       // labels, for quota, after launch_time
  async::Duration delete_time{};
  std::string delete_failure;         // thrown by reclaim() after delete_time unless empty
  bool refuses_deletions = false;     // delete_failure is a refusal for good
  int deletions = 0;                  // calls of reclaim() so far
  async::Duration check_time{};       // of is_usable()
  async::Duration leak_time{};        // of remove_leaks()
  std::string leak_failure;           // thrown by remove_leaks() after that, unless empty
  std::set<std::string> uncheckable;  // external ids; is_usable() throws after check_time
  std::set<std::string> machines;     // external ids
  // Machines that ended by themselves: external id -> reason. They are not usable.
  std::map<std::string, std::string> ended;
  int launches = 0;                 // calls so far
  bool may_be_left = false;         // NodeLaunch::may_be_left_to_others() of the last one
  int questions = 0;                // queries of the limits
  int offers = 0;                   // calls of offer()
  std::vector<std::string> events;  // calls of the provider
};

// A driver that launches: pools with `labels` (a list of names), `max-servers` and
// `ignore-provider-quota`.
class CloudDriver final : public driver::Driver {
 public:
  explicit CloudDriver(std::shared_ptr<Cloud> cloud) : cloud_(std::move(cloud)) {}

  std::string_view name() const override { return "cloud"; }
  const config::Schema& schema() const override;
  std::shared_ptr<const driver::ProviderConfig> configure(
      const config::ProviderSection& section, const config::Config& config) const override;
  std::unique_ptr<driver::Provider> provider(std::shared_ptr<const driver::ProviderConfig> config,
                                             driver::ProviderContext context) const override;

 private:
  std::shared_ptr<Cloud> cloud_;
};

}  // namespace nodepool::launcher
