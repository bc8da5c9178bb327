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

// A daemon's store: waits until it is reachable, follows the configuration, and logs when it is
// lost and restored, and when writes are refused and accepted again.
class DaemonStore {
 public:
  DaemonStore(const async::Runtime& runtime, telemetry::Logger log)
      : runtime_(runtime), log_(std::move(log)) {}

  // Measures the operations of stores that are opened from now on.
  void measure_with(telemetry::Metrics metrics) { metrics_ = std::move(metrics); }

  // Opens the store of `config`; a missing embedded store is created. Retries without limit while
  // servers are unreachable or the embedded store's disk is full; logs that, and calls `on_waiting`
  // once. `config` may be replaced meanwhile; then `changed` is set. Throws StoreError like
  // open_store() for permanent errors, also for servers without reliable watches, and Cancelled.
  async::Task<> open(const config::Config& config, async::Event& changed,
                     const std::function<void(const std::string&)>& on_waiting);

  // Applies changed servers and certificates of ZooKeeper, within the same session. The connection
  // moves to the new servers when one of them responds, see warnings(). Returns the
  // changed keys that wait for a restart, among them the servers if they belong to such a change.
  // With unusable certificate files, the previous servers and certificates stay in use, until the
  // next call; this is logged, and in warnings(). Throws StoreError(invalid) for incomplete
  // `zookeeper-tls`.
  std::vector<std::string> reconfigure(const config::Config& config);

  // Whether there is one.
  bool is_open() const { return opened_.store != nullptr; }
  coordination::Store& store() { return *opened_.measured; }

  // Why the store is not usable now, as a sentence; empty if it is.
  std::string problem() const;
  // The same without its duration, so that it changes only with the cause.
  std::string cause() const;

  // The problems of a usable store, as sentences. Logs that no configured server responds.
  std::vector<std::string> warnings();

  // The number of operations in progress.
  std::size_t operations_under_way() const {
    return opened_.measured ? opened_.measured->under_way() : 0;
  }

  // Closes the session. If the server is unreachable, the session times out.
  async::Task<> close();

 private:
  struct Opened {
    std::unique_ptr<coordination::Store> store;
    // For ZooKeeper, where each transaction is a round trip to the disks of several servers. (The
    // embedded store groups the commits of all processes itself.)
    std::unique_ptr<coordination::GroupCommit> grouping;
    std::unique_ptr<MeasuredStore> measured;  // the outermost one
  };

  void on_embedded_session(coordination::SessionState state);
  void on_zookeeper_session(coordination::SessionState state);
  std::string away_text() const;
  void on_write(const std::string& refusal);
  void warn_of_plaintext(const config::Config& config) const;
  void warn_of_name();
  void warn_of_kept_server();

  async::Runtime runtime_;
  telemetry::Logger log_;
  telemetry::Metrics metrics_;
  std::string waiting_;  // why it cannot be opened; empty: it is open, or was not tried
  Opened opened_;
  Opened closed_;  // the previous one, kept for its last users
  coordination::zookeeper::ZooKeeperStore* zookeeper_ = nullptr;  // the store, if it is one
  config::StoreChoice choice_;
  config::ZooKeeper settings_;  // in use
  coordination::Subscription session_;
  std::optional<async::Clock::TimePoint> away_since_;
  bool has_new_session_ = false;
  std::string unusable_files_;  // why the configured certificates are not in use; empty: they are
  std::optional<async::Clock::TimePoint> refused_at_;  // the latest write, if it was refused
  std::string refusal_;                                // why
  bool is_refusal_logged_ = false;
  async::Clock::TimePoint next_refusal_log_;
  std::set<std::string> misnamed_;  // servers that have been logged
  bool is_kept_server_logged_ = false;
};

}  // namespace nodepool::program
