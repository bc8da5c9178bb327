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

// What a test decides about the clouds behind `driver: cloud`, and sees of them.
struct Cloud {
  driver::Limits limits;                                        // what available() answers
  std::string limits_failure;                                   // … or throws, unless empty
  std::string start_failure;                                    // what start() throws, unless empty
  int starts = 0;                                               // asked for so far
  std::map<std::string, driver::Resources, std::less<>> needs;  // by label; else one instance
  std::map<std::string, std::string, std::less<>> label_problems;  // by label
  async::Duration launch_time{};
  std::optional<driver::LaunchError> launch_error;  // of every launch, after launch_time
  async::Duration together_time{};
  std::optional<driver::LaunchError> together_error;
  std::vector<std::size_t> together;  // how many nodes were asked for at once, each time
  async::Duration delete_time{};
  std::set<std::string> machines;  // external ids
  // Machines that have ended by themselves: why, by external id. They are not usable.
  std::map<std::string, std::string> ended;
  int launches = 0;               // asked for so far
  int questions = 0;              // for the limits
  std::vector<std::string> told;  // what providers were told
};

// A driver that launches: pools with `labels` (a list of names) and `max-servers`.
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
