#pragma once

#include <utility>

#include "driver/driver.h"
#include "drivers/static_nodes/host_check.h"

namespace nodepool::drivers::static_nodes {

// `driver: static`: existing hosts. See docs/drivers/static.md.
class StaticDriver final : public driver::Driver {
 public:
  explicit StaticDriver(MakeScanner make_scanner = scan_network)
      : make_scanner_(std::move(make_scanner)) {}

  std::string_view name() const override { return "static"; }
  const config::Schema& schema() const override;
  std::shared_ptr<const driver::ProviderConfig> configure(
      const config::ProviderSection& section, const config::Config& config) const override;
  std::unique_ptr<driver::Provider> provider(std::shared_ptr<const driver::ProviderConfig> config,
                                             driver::ProviderContext context) const override;

 private:
  MakeScanner make_scanner_;
};

}  // namespace nodepool::drivers::static_nodes
