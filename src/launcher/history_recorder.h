#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "async/event.h"
#include "async/runtime.h"
#include "async/task_scope.h"
#include "async/thread_pool.h"
#include "driver/launch_trace.h"
#include "history/journal.h"
#include "model/lease.h"
#include "model/node_table.h"
#include "model/observers.h"
#include "model/request_table.h"
#include "planning/decision.h"
#include "telemetry/log.h"

namespace nodepool::launcher {

// Writes down what happens to requests and nodes, for `nodepool history`: it watches the tables, so
// what others do is in it, too. A journal that cannot be written disturbs nothing: there is one
// warning, and what could not be written is counted and missing in the history.
class HistoryRecorder {
 public:
  // Without a journal nothing is recorded. Everything outlives the recorder.
  HistoryRecorder(const async::Runtime& runtime, model::NodeTable& nodes,
                  model::RequestTable& requests, async::ThreadPool& threads, telemetry::Logger log,
                  std::optional<history::Journal> journal);

  // Begins to record. Call it before the tables read their records.
  async::Task<> start();

  // Stops, with everything written.
  async::Task<> stop();

  // Records what a pool has made of a request; nothing if that is the same as the last time.
  void decided(const std::string& request_id, std::string_view pool_id,
               const planning::Decision& decision);

  // What the pools of this launcher have decided last about a request that waits, by their ids;
  // null if none has, or no history is written.
  using Decisions = std::map<std::string, planning::Decision, std::less<>>;
  const Decisions* decisions_about(std::string_view request_id) const;

  // Calls `observer` with the id of each request about which another decision has been made.
  coordination::Subscription observe_decisions(std::function<void(const std::string&)> observer) {
    return decided_.subscribe(std::move(observer));
  }

  // Why the last entry was lost; empty: it was written.
  const std::string& problem() const { return trouble_; }
  // Calls `observer` whenever problem() is another.
  coordination::Subscription observe_problem(std::function<void()> observer) {
    return trouble_changed_.subscribe(std::move(observer));
  }
  // Entries that have been lost since the start.
  std::uint64_t lost() const { return lost_; }

  // Records that a pool goes on with a request that has been left.
  void resumed(const std::string& request_id, std::string_view pool_id);

  // Records that a node's machine has ended by itself, and why.
  void machine_ended(const std::string& node_id, const std::string& reason);

  // Records how an attempt at launching a node has ended.
  void attempt_ended(const std::string& node_id, const std::string& request_id,
                     const driver::LaunchTrace& account);

 private:
  void record_decision(const std::string& request_id, std::string_view pool_id,
                       std::string_view said, std::string data = {});
  void on_request(const model::RequestTable::Change& change);
  void on_new_request(const model::NodeRequest& request);
  void on_changed_request(const model::NodeRequest& before, const model::NodeRequest& after);
  void on_node(const model::NodeTable::Change& change);
  void on_new_node(const model::Node& node);
  void on_changed_node(const model::Node& before, const model::Node& after);
  void on_lease(const std::optional<model::Lease>& before, const std::optional<model::Lease>& after,
                const model::Node& node);
  void on_backing(const std::string& id, const std::optional<std::string>& before,
                  const std::optional<std::string>& after, const model::Node& node);
  void on_lock(const std::string& node_id);

  // When a record that was not known happened; nothing if an earlier run has recorded it.
  std::optional<double> first_seen(bool table_ready, double state_time) const;
  void record(const history::Entry& entry);
  async::Task<> run();
  async::Task<> write();
  void lose(std::uint64_t entries, const std::string& why);
  void clear_problem();

  using StaticSlot = std::tuple<std::string, std::string, std::string, std::string, std::int64_t>;
  // Notes where the node is, if it is on a static host, and returns the id of the one that was
  // there before it, if any.
  std::string take_slot(const model::Node& node);

  async::Runtime runtime_;
  model::NodeTable& nodes_;
  model::RequestTable& requests_;
  async::ThreadPool& threads_;
  telemetry::Logger log_;
  std::optional<history::Journal> journal_;

  double recorded_until_ = 0;  // by earlier runs, seconds since the epoch
  std::set<std::string, std::less<>> locked_nodes_;
  std::map<StaticSlot, std::string> latest_in_;              // the newest node there
  std::map<std::string, Decisions, std::less<>> decisions_;  // by request id
  std::map<std::string, double, std::less<>> lease_ends_;    // by lease, as they were told
  model::Observers<const std::string&> decided_;

  std::string lines_;  // not yet written
  std::uint64_t lost_ = 0;
  std::uint64_t told_lost_ = 0;  // of these, in the log
  std::string trouble_;
  model::Observers<> trouble_changed_;
  async::Event wake_{"there is something to write"};
  std::vector<coordination::Subscription> subscriptions_;
  async::TaskScope scope_;
};

}  // namespace nodepool::launcher
