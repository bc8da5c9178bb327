#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/support/child.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::integration {

using test_support::Child;
using test_support::Completed;

// One host with the programs as users run them: a configuration file, an embedded store or the one
// of keep_records_in(), at most one launcher.
class Installation {
 public:
  // A node of a listing, as `nodepool list --detail --json` prints it.
  using Row = nlohmann::json;

  Installation();
  ~Installation();

  // Has the records kept elsewhere than in the embedded store: top-level keys of nodepool.yaml, for
  // the next configure().
  void keep_records_in(std::string store) { store_ = std::move(store); }

  // Has the launcher show its pages at this port of the loopback, from the next configure() on.
  void show_pages_at(int port);

  // Writes nodepool.yaml. `providers` is its part below `providers:`; the labels a, b, c and d
  // exist.
  void configure(const std::string& providers);

  // Clouds are in the directory's clouds.yaml, if there is one.
  void start_launcher();
  void signal_launcher(int signal) { launcher_->signal(signal); }
  // Orderly; returns the exit status.
  int stop_launcher(int signal);
  // Waits until it has ended by itself; returns the exit status.
  int wait_for_launcher();
  // As `kill -9`.
  void kill_launcher();

  // Runs `nodepool` with these arguments.
  Completed nodepool(std::vector<std::string> arguments) const;
  // Starts it.
  std::unique_ptr<Child> start_nodepool(std::vector<std::string> arguments) const;
  // Runs it with --json added. Throws if it does not exit with 0.
  nlohmann::json json(std::vector<std::string> arguments) const;

  std::vector<Row> nodes() const;
  std::vector<Row> nodes(const std::string& state) const;

  // Waits for a condition. Throws if it does not come true in time.
  void wait_until(const std::string& what, const std::function<bool()>& condition) const;
  // Waits for exactly this many nodes in state ready, unlocked and free, and no others.
  void wait_until_all_ready(std::size_t count) const;

  // What the launchers have logged so far.
  std::string log() const;

  const test_support::TemporaryDirectory& directory() const { return directory_; }

 private:
  std::vector<std::string> command(std::vector<std::string> arguments) const;

  test_support::TemporaryDirectory directory_;
  std::string store_;
  std::string webapp_;  // its section; empty: none are shown
  std::string earlier_logs_;
  std::unique_ptr<Child> launcher_;
};

}  // namespace nodepool::integration
