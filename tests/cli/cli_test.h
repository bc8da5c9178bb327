#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "async/event_loop.h"
#include "cli/context.h"
#include "coordination/memory/memory_server.h"
#include "coordination/memory/memory_store.h"
#include "drivers/fake/fake_cloud.h"
#include "tests/cli/driver_double.h"
#include "tests/requestor/launcher_double.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::cli {

// An installation in memory with a launcher and a configuration file, and commands that run in this
// process. Time stands still. There are the drivers `double`, `static` and `fake`; for this one
// clouds.yaml has a cloud `sky`.
class CliTest : public testing::Test {
 protected:
  CliTest();
  ~CliTest() override;

  // Performs a command with the configuration; returns its exit status.
  int nodepool(std::vector<std::string> arguments);
  // The same without `-c`.
  int nodepool_bare(std::vector<std::string> arguments);

  // What the last command has printed.
  std::string out() const { return out_.str(); }
  std::string err() const { return err_.str(); }

  template <typename T>
  T run(async::Task<T> task) {
    return loop_.run(std::move(task));
  }
  void run(async::Task<> task) { loop_.run(std::move(task)); }

  // A ready node, as the launcher would hand out.
  static model::Node make_node(const std::string& label);

  // Lets `duration` pass once a request is in the store.
  void pass_time_when_requested(async::Duration duration);

  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  coordination::MemoryServer server_;
  coordination::MemoryServer other_server_;  // what commands take for ZooKeeper
  coordination::MemoryStore store_;
  coordination::MemoryStore* command_store_ = nullptr;  // of the command that runs
  requestor::LauncherDouble launcher_;
  std::shared_ptr<DriverLog> driver_log_ = std::make_shared<DriverLog>();
  std::shared_ptr<drivers::fake::FakeClouds> clouds_ =
      std::make_shared<drivers::fake::FakeClouds>();
  test_support::TemporaryDirectory directory_;
  driver::DriverRegistry drivers_;
  std::string config_ = "store: sqlite:///unused\nlabels: [{name: small}]\nproviders: []\n";
  std::string forbidden_;           // a path that commands may not read; empty: none
  std::string vanishing_;           // a path that is removed just before a command does; or empty
  std::vector<std::string> reads_;  // the paths that commands have read in the store
  std::string store_failure_;       // why the store cannot be opened; empty: it can
  std::string input_;
  bool terminal_ = false;
  bool out_is_terminal_ = false;
  bool out_is_full_ = false;  // standard output is a file on a full disk
  std::size_t terminal_width_ = 0;
  std::string identity_ = "ada@build1";
  std::string hostname_ = "build1";
  config::Environment environment_{{"PATH", "/usr/bin:/bin"}};
  async::TaskScope scope_;

 private:
  std::ostringstream out_;
  std::ostringstream err_;
};

}  // namespace nodepool::cli
