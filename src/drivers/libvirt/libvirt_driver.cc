#include "drivers/libvirt/libvirt_driver.h"

#include "drivers/libvirt/api/libvirt_host.h"
#include "drivers/libvirt/config/libvirt_schema.h"

namespace nodepool::drivers::libvirt {

LibvirtDriver::LibvirtDriver() : connect_(libvirt_host) {}

const config::Schema& LibvirtDriver::schema() const {
  return libvirt_schema();
}

std::shared_ptr<const driver::ProviderConfig> LibvirtDriver::configure(
    const config::ProviderSection& section, const config::Config& config) const {
  return std::make_shared<LibvirtConfig>(section, config);
}

std::unique_ptr<driver::Adapter> LibvirtDriver::adapter(
    std::shared_ptr<const driver::ProviderConfig> config, driver::ProviderContext context) const {
  context.log = context.log.child("driver." + config->name());
  return std::make_unique<LibvirtAdapter>(
      std::move(context), std::dynamic_pointer_cast<const LibvirtConfig>(std::move(config)),
      connect_);
}

}  // namespace nodepool::drivers::libvirt
