#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/ownership.h"
#include "driver/statemachine/adapter.h"
#include "drivers/libvirt/config/libvirt_config.h"
#include "drivers/libvirt/domain_launch.h"
#include "drivers/libvirt/volume_images.h"

namespace nodepool::drivers::libvirt {

// Finds out how to connect to a host by its URI and storage pool.
using HostFactory =
    std::function<HostMaker(const std::string& uri, const std::string& storage_pool)>;

// The adapter for libvirt: machines on several hosts.
class LibvirtAdapter final : public driver::Adapter {
 public:
  LibvirtAdapter(driver::ProviderContext context, std::shared_ptr<const LibvirtConfig> config,
                 HostFactory connect);

  async::Task<> start(std::function<void()> changed) override;
  async::Task<> stop() override;

  async::Task<driver::Instance> create(driver::CreateSpec spec,
                                       driver::LaunchSteps& steps) override;
  async::Task<> remove(model::Json external_id, driver::LaunchSteps& steps) override;
  async::Task<driver::MachineList> list() override;
  async::Task<std::vector<driver::Resource>> other_resources() override;
  async::Task<> remove_resource(driver::Resource resource) override;
  async::Task<driver::CloudDescription> describe(
      driver::CloudDescription::Purpose purpose) override;
  async::Task<std::optional<std::string>> diagnose(model::Json external_id,
                                                   bool wants_console) override;
  // A host lists a domain as soon as it is defined. A call of an earlier launcher may still arrive.
  driver::CloudTraits traits() override {
    return {.images = &images_, .consistency_delay = std::chrono::seconds(5)};
  }

 private:
  async::Task<> remove_machine(MachineId id);
  async::Task<> remove_volume(MachineId id);
  // The owner tags in the names of a node's resources: with and without the installation.
  std::vector<driver::Metadata> owners() const;
  driver::Limits limits() const;
  void add_used(const HostState& state, driver::Limits& limits) const;
  std::string problem(const std::string& pool, const std::string& label) const;

  driver::ProviderContext context_;
  std::shared_ptr<const LibvirtConfig> config_;
  HostFactory connect_;
  driver::Ownership ownership_;
  HostLines lines_;
  LaunchContext launch_context_;
  VolumeImages images_;
};

}  // namespace nodepool::drivers::libvirt
