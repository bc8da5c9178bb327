#pragma once

#include <memory>

#include "driver/statemachine/state_machine_driver.h"
#include "drivers/libvirt/libvirt_adapter.h"

namespace nodepool::drivers::libvirt {

// `driver: libvirt`: virtual machines on one's own hosts. See docs/drivers/libvirt.md.
class LibvirtDriver final : public driver::StateMachineDriver {
 public:
  LibvirtDriver();
  // With other hosts, for tests.
  explicit LibvirtDriver(HostFactory connect) : connect_(std::move(connect)) {}

  std::string_view name() const override { return "libvirt"; }
  const config::Schema& schema() const override;
  std::shared_ptr<const driver::ProviderConfig> configure(
      const config::ProviderSection& section, const config::Config& config) const override;

 protected:
  std::unique_ptr<driver::Adapter> adapter(std::shared_ptr<const driver::ProviderConfig> config,
                                           driver::ProviderContext context) const override;

 private:
  HostFactory connect_;
};

}  // namespace nodepool::drivers::libvirt
