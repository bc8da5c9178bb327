#include "tests/drivers/contract/contract.h"

#include <algorithm>

#include "config/load.h"
#include "driver/ownership.h"
#include "driver/statemachine/instance.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::drivers::contract {

using driver::LaunchError;
using harness::Job;
using harness::LauncherProcess;

std::shared_ptr<const driver::ProviderConfig> read_provider(const driver::Driver& driver,
                                                            const std::string& yaml) {
  const test_support::TemporaryDirectory directory;
  config::LoadOptions options;
  options.path = directory.write("nodepool.yaml", yaml);
  options.drivers.schemas.emplace(driver.name(), &driver.schema());
  const config::Config config = config::load(options).config;
  return driver.configure(config.providers.at(0), config);
}

LauncherProcess& DriverContract::start() {
  process_.reset();
  process_ = std::make_unique<LauncherProcess>(
      installation_,
      [this](driver::ProviderContext context) { return cloud_->make_provider(std::move(context)); },
      [this] { return cloud_->wait_for_wire(); });
  return *process_;
}

bool DriverContract::is_recorded(const std::string& id) {
  return std::ranges::count(installation_.nodes(), id) > 0;
}

std::shared_ptr<Job> DriverContract::finish(std::shared_ptr<Job> job) {
  process_->run_until_ended(*job);
  return job;
}

model::Node DriverContract::launch_new(std::string_view label) {
  if (!process_) start();
  const std::string id = add_node(label);
  const auto job = finish(process_->launch(id));
  EXPECT_EQ(job->failure(), "");
  EXPECT_EQ(node(id).state, model::NodeState::ready);
  return node(id);
}

std::vector<std::string> DriverContract::launch_together(std::size_t nodes) {
  std::vector<std::string> ids;
  std::vector<std::shared_ptr<Job>> jobs;
  start();
  for (std::size_t i = 0; i < nodes; ++i) {
    ids.push_back(add_node());
    jobs.push_back(process_->launch(ids.back()));
  }
  for (const auto& job : jobs) EXPECT_EQ(finish(job)->failure(), "");
  return ids;
}

DriverContract::Failed DriverContract::fail_to_launch(std::string_view label) {
  if (!process_) start();
  const std::string id = add_node(label);
  const auto job = finish(process_->launch(id));
  try {
    job->result();
  } catch (const LaunchError& error) {
    return {error, id};
  }
  ADD_FAILURE() << "the launch has not failed";
  return {LaunchError(LaunchError::Kind::failed, ""), id};
}

void DriverContract::reclaim(const std::string& id) {
  if (!process_) start();
  const auto job = finish(process_->reclaim(id));
  EXPECT_EQ(job->failure(), "");
}

void DriverContract::reclaim_together(const std::vector<std::string>& ids) {
  std::vector<std::shared_ptr<Job>> jobs;
  for (const std::string& id : ids) jobs.push_back(process_->reclaim(id));
  for (const auto& job : jobs) EXPECT_EQ(finish(job)->failure(), "");
}

void DriverContract::reclaim_in_the_end(const std::string& id, int attempts) {
  for (int attempt = 0; attempt < attempts && is_recorded(id); ++attempt) {
    const auto job = finish(process_->reclaim(id));
    EXPECT_EQ(is_recorded(id), !job->failure().empty()) << job->failure();
    EXPECT_EQ(machines_of(id).empty(), job->failure().empty());
  }
  EXPECT_FALSE(is_recorded(id));
}

std::set<std::string> DriverContract::machine_ids() {
  std::set<std::string> ids;
  for (const Machine& machine : cloud_->machines()) ids.insert(machine.id);
  return ids;
}

std::set<std::string> DriverContract::machines_of(const std::string& node_id) {
  std::set<std::string> ids;
  for (const Machine& machine : cloud_->machines()) {
    const auto found = machine.metadata.find(driver::kNodeIdKey);
    if (found != machine.metadata.end() && found->second == node_id) ids.insert(machine.id);
  }
  return ids;
}

void DriverContract::expect_one_machine(const std::string& id) {
  const model::Node found = node(id);
  EXPECT_EQ(found.state, model::NodeState::ready);
  EXPECT_TRUE(found.launch_journal.is_null()) << found.launch_journal.text;
  EXPECT_THAT(machines_of(id), testing::ElementsAre(cloud_->machine_of(found)));
}

driver::Metadata DriverContract::owner_tags(const std::string& provider,
                                            const std::string& node_id) {
  return {{std::string(driver::kProviderNameKey), provider},
          {std::string(driver::kPoolNameKey), kPool},
          {std::string(driver::kNodeIdKey), node_id},
          {std::string(driver::kInstallationIdKey), harness::kInstallationId}};
}

driver::Metadata DriverContract::owner_tags(const model::Node& node) {
  return driver::Ownership(std::make_shared<const model::Installation>(harness::kInstallationId),
                           kProvider)
      .of_node(node);
}

}  // namespace nodepool::drivers::contract
