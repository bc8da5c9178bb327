#include "drivers/fake/fake_driver.h"

#include "drivers/fake/fake_adapter.h"
#include "drivers/fake/fake_config.h"
#include "drivers/openstack/clouds/cloud_files.h"
#include "nodescan/imaginary_hosts.h"

namespace nodepool::drivers::fake {

namespace {

// The host key of all machines. Source: the Python Nodepool's fake driver.
constexpr const char* kHostKeyOfAll = "ssh-rsa FAKEKEY";

}  // namespace

const config::Schema& FakeDriver::schema() const {
  return fake_schema();
}

std::shared_ptr<const driver::ProviderConfig> FakeDriver::configure(
    const config::ProviderSection& section, const config::Config& config) const {
  return std::make_shared<FakeConfig>(section, config, environment_);
}

std::set<std::string> FakeDriver::files(const config::ProviderSection& /*section*/) const {
  return openstack::all_cloud_files(environment_);
}

std::unique_ptr<driver::Adapter> FakeDriver::adapter(
    std::shared_ptr<const driver::ProviderConfig> config, driver::ProviderContext context) const {
  auto fake = std::dynamic_pointer_cast<const FakeConfig>(config);
  auto cloud = clouds_->cloud(fake->cloud_name());
  return std::make_unique<FakeAdapter>(context.runtime, context.log, std::move(fake),
                                       std::move(cloud));
}

std::unique_ptr<nodescan::Scanner> FakeDriver::scanner(
    const driver::ProviderContext& /*context*/) const {
  return std::make_unique<nodescan::ImaginaryHosts>(std::vector<std::string>{kHostKeyOfAll});
}

}  // namespace nodepool::drivers::fake
