#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "drivers/metastatic/backing_record.h"
#include "drivers/metastatic/metastatic_config.h"
#include "tests/driver/harness/launcher_process.h"
#include "tests/drivers/metastatic/other_launchers.h"

namespace nodepool::drivers::metastatic {

inline constexpr const char* kProvider = "shares";

// More continuations than anything of this takes.
inline constexpr std::size_t kMany = 100'000;

// Launchers with a provider "shares", whose label "small" is on the label "big", in virtual time.
class MetastaticTest : public testing::Test {
 protected:
  using Process = driver::harness::LauncherProcess;
  using JobPointer = std::shared_ptr<driver::harness::Job>;

  // What the label's section says beside its names. Counts for launchers that are started later,
  // and at reload().
  std::string rules = "max-parallel-jobs: 2";
  std::string more_labels;  // sections
  std::string pool = "node-attributes: {team: a}";
  bool is_serving = true;  // false: a command

  std::shared_ptr<const driver::ProviderConfig> load() const;
  // What is wrong with this configuration; empty: nothing.
  std::string load_error() const;

  std::unique_ptr<Process> new_process();
  // A launcher is started; the one that ran before, if any, dies.
  Process& start();

  std::string add_node(std::string_view label = "small");
  JobPointer begin(const std::string& id) { return process_->launch(id); }
  void finish(const JobPointer& job);
  // Launches a new node; expects that it becomes ready.
  model::Node launch(std::string_view label = "small");
  std::string failure_of_launch();
  void reclaim(const std::string& id);

  // Time passes, with the search for leaks each minute.
  void pass_minutes(int minutes);
  void search();

  // The only backing node, and what its record says.
  model::Node backing();
  BackingRecord record_of(const model::Node& node) const;
  BackingRecord record() { return record_of(backing()); }

  driver::harness::Installation installation_;
  OtherLaunchers launchers_{installation_};
  std::unique_ptr<Process> process_;
};

}  // namespace nodepool::drivers::metastatic
