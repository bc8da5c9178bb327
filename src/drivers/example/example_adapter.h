#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/simple/simple_adapter.h"
#include "drivers/example/example_cloud.h"
#include "drivers/example/example_config.h"

namespace nodepool::drivers::example {

// Translates between the driver interface and the cloud's client. Runs on threads: uses only
// immutable data and a thread-safe client.
class ExampleAdapter final : public driver::SimpleAdapter {
 public:
  ExampleAdapter(std::shared_ptr<const ExampleConfig> config,
                 std::shared_ptr<sample_cloud::Project> project)
      : config_(std::move(config)), project_(std::move(project)) {}

  std::string create_instance(const driver::CreateSpec& spec) override;
  void delete_instance(const std::string& id) override;
  std::vector<driver::Machine> list_instances() override;
  driver::Limits quota_limits() override;
  driver::Resources quota_for_label(const std::string& pool, const std::string& label) override;
  std::optional<std::string> label_problem(const std::string& pool,
                                           const std::string& label) override;

 private:
  driver::Machine describe(const sample_cloud::Machine& machine) const;

  std::shared_ptr<const ExampleConfig> config_;
  std::shared_ptr<sample_cloud::Project> project_;
};

}  // namespace nodepool::drivers::example
