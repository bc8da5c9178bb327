#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/runtime.h"
#include "config/config.h"
#include "coordination/group_commit.h"
#include "coordination/store.h"
#include "coordination/zookeeper/zookeeper_store.h"
#include "program/measured_store.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace nodepool::program {

// A daemon's store: is waited for, follows its configuration, and says in the log when it goes away
// and comes back.
class DaemonStore {
 public:
  DaemonStore(const async::Runtime& runtime, telemetry::Logger log)
      : runtime_(runtime), log_(std::move(log)) {}

  // Where the stores that are opened from now on tell how long they take.
  void tell(telemetry::Metrics metrics) { metrics_ = std::move(metrics); }

  // Opens the store that `config` chooses; the embedded one is created if there is none. Waits for
  // servers that are out of reach, for as long as it takes, and says so: in the log, and to `tell`
  // once. `config` may be replaced meanwhile; `changed` is set then. Throws StoreError as
  // open_store() for what waiting does not mend, also for servers whose watches cannot be relied
  // on, and Cancelled.
  async::Task<> open(const config::Config& config, async::Event& changed,
                     const std::function<void(const std::string&)>& tell);

  // Takes up other servers and certificates of ZooKeeper, with the same session. Returns the keys
  // whose changes wait for another start; then it takes up nothing. Throws StoreError for
  // certificates that cannot be used: those of before stay.
  std::vector<std::string> reconfigure(const config::Config& config);

  // Whether there is one.
  bool is_open() const { return opened_.store != nullptr; }
  coordination::Store& store() { return *opened_.measured; }

  // Why it cannot be used now, in a sentence; empty: it can.
  std::string problem() const;

  // What it works in spite of, in a sentence; empty: all is well.
  std::string warning() const;

  // How many operations have been asked for and not been answered.
  std::size_t operations_under_way() const {
    return opened_.measured ? opened_.measured->under_way() : 0;
  }

  // Ends the session. If nobody can be told, it ends at its timeout.
  async::Task<> close();

 private:
  struct Opened {
    std::unique_ptr<coordination::Store> store;
    // What uses ZooKeeper, where each transaction is a round trip to the disks of several servers.
    // (The embedded store shares commits between all processes itself.)
    std::unique_ptr<coordination::GroupCommit> grouping;
    std::unique_ptr<MeasuredStore> measured;  // what is used
  };

  void on_session(coordination::SessionState state);
  void warn_of_plaintext(const config::Config& config) const;
  void warn_of_name();

  async::Runtime runtime_;
  telemetry::Logger log_;
  telemetry::Metrics metrics_;
  std::string waiting_;  // why it cannot be opened; empty: it is open, or nobody has tried
  Opened opened_;
  Opened closed_;  // who has used it is there until the next one is
  coordination::zookeeper::ZooKeeperStore* zookeeper_ = nullptr;  // the store, if it is one
  config::StoreChoice choice_;
  config::ZooKeeper settings_;  // what it was opened with
  coordination::Subscription session_;
  std::optional<async::Clock::TimePoint> away_since_;
  bool has_new_session_ = false;
  std::set<std::string> misnamed_;  // servers that the log has been told of
};

}  // namespace nodepool::program
