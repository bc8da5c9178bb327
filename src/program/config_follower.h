#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/file_stamp.h"
#include "async/file_watch.h"
#include "async/runtime.h"
#include "async/task_scope.h"
#include "async/thread_pool.h"
#include "config/config.h"
#include "telemetry/log.h"

namespace nodepool::program {

// Watches the files of the configuration and reloads it: after a change, on reload(), and
// repeatedly after a failure.
class ConfigFollower {
 public:
  // The files, and the functions of the daemon.
  struct Source {
    std::vector<std::string> files;  // read by load()
    // Reads the configuration. Throws config::ConfigError.
    std::function<config::Config()> load;
    // The other files that apply() reads, or would read if they existed.
    std::function<std::set<std::string>(const config::Config&)> further_files;
    // Applies the configuration. Throws: the previous one stays in effect; StoreError: it may be
    // partly applied.
    std::function<async::Task<>(config::Config)> apply;
    // Applies at once what need not wait until apply() of an earlier configuration has returned;
    // its own apply() follows. Throws like it. May be empty.
    std::function<void(const config::Config&)> apply_ahead = {};
    // Called after a reload if its result differs from the previous one: with the error, or with ""
    // if the configuration is in force. May be empty.
    std::function<void(const std::string& error)> on_result = {};
  };

  struct Intervals {
    // Editors and deployment tools write a file in several steps: changes within this time belong
    // together.
    async::Duration settling = std::chrono::milliseconds(100);
    // Polls for changes without an event, as on a network file system.
    async::Duration poll = std::chrono::seconds(10);
    // Retries after a failure, also without a change: its cause may not be a file.
    async::Duration retry = std::chrono::seconds(5);
  };

  ConfigFollower(const async::Runtime& runtime, telemetry::Logger log, Source source,
                 Intervals intervals);
  ConfigFollower(const async::Runtime& runtime, telemetry::Logger log, Source source)
      : ConfigFollower(runtime, std::move(log), std::move(source), Intervals{}) {}

  // Loads the configuration for the first time; the caller applies it. Throws what Source::load
  // throws.
  config::Config load();

  // Watches the files and reloads. Throws Cancelled.
  async::Task<> run();

  // Triggers a reload, whether or not a file has changed. The result is logged.
  void reload() {
    is_requested_ = true;
    check_.set();
  }

 private:
  using Stamps = std::map<std::string, async::FileStamp>;

  async::Task<> watch();
  async::Task<> follow(async::TaskScope& scope);
  async::Task<> until_applied();
  async::Task<bool> has_changed();
  async::Task<Stamps> stamps_now();
  void expect(const std::set<std::string>& files);
  async::Task<> try_reload(bool is_requested);
  void load_ahead();
  void reload_ended(std::string failure, bool is_waiting, bool is_requested);
  void report(const std::string& error, bool is_waiting, bool is_requested);

  async::Runtime runtime_;
  telemetry::Logger log_;
  Source source_;
  Intervals intervals_;
  std::optional<async::FileWatch> watch_;  // nothing: the kernel refused one
  Stamps read_;        // of all files, taken before reading them, so that no change is missed
  std::string error_;  // of the last reload; empty if it succeeded
  bool is_requested_ = false;
  bool is_applying_ = false;
  bool is_outdated_ = false;  // a file has changed since the configuration being applied was loaded
  async::Event check_{"a change of the configuration, or a request to reload it"};
  async::ThreadPool threads_;  // reading from a network file system may block
};

}  // namespace nodepool::program
