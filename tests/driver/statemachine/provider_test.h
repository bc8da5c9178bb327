#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "driver/ownership.h"
#include "driver/statemachine/state_machine_provider.h"
#include "nodescan/imaginary_hosts.h"
#include "tests/driver/harness/launcher_process.h"
#include "tests/driver/statemachine/scripted_cloud.h"

namespace nodepool::driver {

// A provider on state machines over a ScriptedCloud, and launchers that have it.
class ProviderTest : public testing::Test {
 protected:
  ProviderTest() { cloud_->described.interface_ip = "outside"; }

  // A launcher is started; one that ran before is dead by then.
  harness::LauncherProcess& start() {
    process_.reset();
    process_ = std::make_unique<harness::LauncherProcess>(
        installation_, [this](ProviderContext context) -> std::unique_ptr<Provider> {
          context.metrics = metrics_;
          auto scanner = scan_(context);
          auto adapter = std::make_unique<ScriptedAdapter>(context.runtime, cloud_);
          return std::make_unique<StateMachineProvider>(config_, std::move(context),
                                                        std::move(adapter), std::move(scanner));
        });
    return *process_;
  }

  std::string add_node(std::string_view label = "small") {
    return installation_.add_node("cloud", "main", label);
  }

  // Adds an upload of the image "trixie", which the cloud calls "image-of-<build>".
  std::string add_upload(const std::string& build, double time,
                         model::UploadState state = model::UploadState::ready,
                         const std::string& provider = "cloud") {
    model::ImageUpload upload;
    upload.image = "trixie";
    upload.build_id = build;
    upload.provider = provider;
    upload.external_id = model::json_string("image-of-" + build);
    upload.state = state;
    upload.state_time = time;
    installation_.add_upload(upload);
    return upload.id;
  }

  // What is made for a node carries this.
  Metadata owner_tags(const model::Node& node) const {
    return Ownership(std::make_shared<const model::Installation>(installation_.identity), "cloud")
        .of_node(node);
  }

  model::Node node(const std::string& id) { return installation_.node(id); }

  // Launches a new node and returns its record.
  model::Node launch_new(std::string_view label = "small") {
    const std::string id = add_node(label);
    const auto job = start().launch(id);
    process_->run_until_ended(*job);
    job->result();
    return node(id);
  }

  // What the launch of a new node fails with.
  LaunchError launch_error(std::string_view label = "small") {
    try {
      launch_new(label);
    } catch (const LaunchError& error) {
      return error;
    }
    return {LaunchError::Kind::failed, "it went well"};
  }

  bool has_logged(const std::string& text) const {
    return std::ranges::any_of(installation_.log,
                               [&](const std::string& line) { return line.contains(text); });
  }

  using MakeScanner = std::function<std::unique_ptr<nodescan::Scanner>(const ProviderContext&)>;

  static std::unique_ptr<nodescan::Scanner> imagine_hosts(const ProviderContext& /*context*/) {
    return std::make_unique<nodescan::ImaginaryHosts>(std::vector<std::string>{"ssh-rsa KEY"});
  }
  static std::unique_ptr<nodescan::Scanner> scan_network(const ProviderContext& context) {
    return std::make_unique<nodescan::NetworkScanner>(context.runtime, context.threads);
  }

  MakeScanner scan_ = imagine_hosts;
  std::shared_ptr<ScriptedCloud> cloud_ = std::make_shared<ScriptedCloud>();
  std::shared_ptr<ScriptedConfig> config_ = std::make_shared<ScriptedConfig>();
  harness::Installation installation_;
  std::vector<std::string> figures_;  // for statsd
  telemetry::Metrics metrics_{[this](std::string_view lines) { figures_.emplace_back(lines); }};
  std::unique_ptr<harness::LauncherProcess> process_;
};

}  // namespace nodepool::driver
