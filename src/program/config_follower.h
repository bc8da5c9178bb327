#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/file_watch.h"
#include "async/runtime.h"
#include "async/task_scope.h"
#include "async/thread_pool.h"
#include "config/config.h"
#include "config/file_stamp.h"
#include "telemetry/log.h"

namespace nodepool::program {

// Follows the files that the configuration comes from: has it reloaded when one of them has
// changed, when somebody asks for it, and again after a failure.
class ConfigFollower {
 public:
  // What the daemon brings along.
  struct Source {
    std::vector<std::string> files;  // those that load() reads
    // Reads the configuration. Throws config::ConfigError.
    std::function<config::Config()> load;
    // What else it rests on: files that apply() reads, or would if they existed.
    std::function<std::set<std::string>(const config::Config&)> further_files;
    // Goes over to it. Throws: the one before stays in force; StoreError: it may be half done.
    std::function<async::Task<>(config::Config)> apply;
    // Told of what has come of a reload, if that is another than last time: why it was in vain;
    // empty: what was loaded is in force. May be empty.
    std::function<void(const std::string& failure)> told = {};
  };

  struct Pauses {
    // Editors and deployment tools write a file in several steps: what follows within this time
    // belongs to the same change.
    async::Duration settling = std::chrono::milliseconds(100);
    // Changes that give no event (a network file system) are looked for this often.
    async::Duration between_looks = std::chrono::seconds(10);
    // After a failure, also when nothing has changed: what failed may not be a file.
    async::Duration before_retry = std::chrono::seconds(5);
  };

  ConfigFollower(const async::Runtime& runtime, telemetry::Logger log, Source source,
                 Pauses pauses);
  ConfigFollower(const async::Runtime& runtime, telemetry::Logger log, Source source)
      : ConfigFollower(runtime, std::move(log), std::move(source), Pauses{}) {}

  // Loads for the first time; the caller applies it. Throws what load() throws.
  config::Config load();

  // Follows what has been loaded. Throws Cancelled.
  async::Task<> run();

  // Has it reloaded, whether or not anything has changed. What comes of it is in the log.
  void reload() {
    is_asked_ = true;
    look_.set();
  }

 private:
  using Stamps = std::map<std::string, config::FileStamp>;

  async::Task<> watch();
  async::Task<> follow();
  async::Task<bool> has_changed();
  async::Task<Stamps> stamps_now();
  void expect(const std::set<std::string>& files);
  async::Task<> try_reload(bool is_asked);
  void report(const std::string& failure, bool is_waiting, bool is_asked);

  async::Runtime runtime_;
  telemetry::Logger log_;
  Source source_;
  Pauses pauses_;
  std::optional<async::FileWatch> watch_;  // nothing: the kernel has no more of them
  Stamps read_;          // of all files, from before they were read: a later change is seen as one
  std::string failure_;  // why the last load was in vain; empty if it was not
  bool is_asked_ = false;
  async::Event look_{"a change of the configuration, or a wish to reload it"};
  async::ThreadPool threads_;  // a network file system may keep us waiting
};

}  // namespace nodepool::program
