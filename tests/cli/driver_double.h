#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "driver/driver.h"

namespace nodepool::cli {

// Records the calls of a DriverDouble's providers, and sets their results.
struct DriverLog {
  std::vector<std::string> lines;
  bool replaces = false;                          // reclaim() returns a record to register
  bool fails = false;                             // reclaim() throws
  std::function<async::Task<>()> meanwhile = {};  // what happens during reclaim()
  bool query_fails = false;                       // missing_in_cloud() throws
};

// `driver: double`: providers that only record their calls.
class DriverDouble final : public driver::Driver {
 public:
  explicit DriverDouble(std::shared_ptr<DriverLog> log) : log_(std::move(log)) {}

  std::string_view name() const override { return "double"; }
  const config::Schema& schema() const override;
  std::shared_ptr<const driver::ProviderConfig> configure(
      const config::ProviderSection& section, const config::Config& config) const override;
  std::unique_ptr<driver::Provider> provider(std::shared_ptr<const driver::ProviderConfig> config,
                                             driver::ProviderContext context) const override;

 private:
  std::shared_ptr<DriverLog> log_;
};

}  // namespace nodepool::cli
