#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/statemachine/adapter.h"
#include "driver/statemachine/shared_poller.h"
#include "drivers/fake/fake_client.h"
#include "drivers/fake/fake_config.h"
#include "drivers/fake/fake_images.h"
#include "telemetry/log.h"

namespace nodepool::drivers::fake {

// The adapter for a FakeCloud.
class FakeAdapter final : public driver::Adapter {
 public:
  FakeAdapter(const async::Runtime& runtime, telemetry::Logger log,
              std::shared_ptr<const FakeConfig> config, std::shared_ptr<FakeCloud> cloud);

  // Applies the provider's behaviour to the cloud.
  Task<> start(std::function<void()> changed) override;
  Task<> stop() override;
  Task<driver::Instance> create(driver::CreateSpec spec, driver::LaunchSteps& steps) override;
  Task<> remove(model::Json external_id, driver::LaunchSteps& steps) override;
  Task<driver::MachineList> list() override;
  Task<> remove_resource(driver::Resource resource) override;
  Task<driver::CloudDescription> describe(driver::CloudDescription::Purpose purpose) override;
  driver::CloudTraits traits() override {
    return {.images = &images_, .consistency_delay = std::chrono::seconds(1)};
  }

 private:
  ServerSpec server_spec(const driver::CreateSpec& spec) const;
  Task<std::string> make_server(const driver::CreateSpec& spec, driver::LaunchSteps& steps,
                                driver::PollWaiter& awaited);
  Task<std::optional<std::string>> find_server(const driver::CreateSpec& spec,
                                               driver::LaunchSteps& steps);
  Task<FakeServer> wait_until_active(std::string id, driver::PollWaiter& awaited);
  // The server in the next list; nothing if it is absent.
  Task<std::optional<FakeServer>> poll(const std::string& id, driver::PollWaiter& awaited);
  driver::Instance instance_of(const FakeServer& server) const;
  Task<driver::LabelDescription> describe_label(std::string pool, std::string label);

  async::Runtime runtime_;
  telemetry::Logger log_;
  std::shared_ptr<const FakeConfig> config_;
  std::shared_ptr<FakeCloud> cloud_;
  FakeClient client_;
  FakeImages images_;
  driver::SharedPoller<std::vector<FakeServer>> listing_;
};

}  // namespace nodepool::drivers::fake
