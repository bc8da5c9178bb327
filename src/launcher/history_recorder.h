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

// Records the events of requests and nodes for `nodepool history`. Observes the tables, so events
// caused by other processes are included. If the journal cannot be written, it logs one warning,
// and drops and counts entries.
class HistoryRecorder {
 public:
  // Without a journal, nothing is recorded. Everything outlives the recorder.
  HistoryRecorder(const async::Runtime& runtime, model::NodeTable& nodes,
                  model::RequestTable& requests, async::ThreadPool& threads, telemetry::Logger log,
                  std::optional<history::Journal> journal);

  // Starts recording. Call it before the tables read their records.
  async::Task<> start();

  // Writes the remaining entries and stops.
  async::Task<> stop();

  // Records a pool's decision about a request, unless it is the same as the last one, or the first
  // one and only says that others offer the labels.
  void decided(const std::string& request_id, std::string_view pool_id,
               const planning::Decision& decision);

  // Notes why a pool is about to decline a request that it had accepted: for the entry of the
  // decline.
  void declines(const std::string& request_id, std::string_view pool_id, planning::Reason reason);

  // The last decisions of this launcher's pools about a waiting request, by pool id. Returns
  // nullptr if there are none, or no history is written.
  using Decisions = std::map<std::string, planning::Decision, std::less<>>;
  const Decisions* decisions_about(std::string_view request_id) const;

  // Calls `observer` with the id of the request after each new decision.
  coordination::Subscription observe_decisions(std::function<void(const std::string&)> observer) {
    return decided_.subscribe(std::move(observer));
  }

  // Why the last entry was dropped; empty: it was written.
  const std::string& problem() const { return problem_; }
  // Calls `observer` when problem() changes.
  coordination::Subscription observe_problem(std::function<void()> observer) {
    return problem_changed_.subscribe(std::move(observer));
  }
  // Entries dropped since the start.
  std::uint64_t dropped() const { return dropped_; }

  // Records that a pool resumes an interrupted request.
  void resumed(const std::string& request_id, std::string_view pool_id);

  // Records that a node's machine ended by itself, and why.
  void machine_ended(const std::string& node_id, const std::string& reason);

  // Records that a node's provider could not reclaim it, and why. The caller limits the rate.
  void reclaim_failed(const std::string& node_id, const std::string& reason);

  // Records the outcome of a launch attempt.
  void attempt_ended(const std::string& node_id, const std::string& request_id,
                     const driver::LaunchTrace& trace);

 private:
  void record_decision(const std::string& request_id, std::string_view pool_id,
                       std::string_view text, std::string json);
  history::Declined decline_by(const std::string& pool_id, const model::NodeRequest& request) const;
  void explain_failure(history::JournalEntry& entry, const model::NodeRequest& request) const;
  void on_request(const model::RequestTable::Change& change);
  void on_new_request(const model::NodeRequest& request);
  void on_changed_request(const model::NodeRequest& before, const model::NodeRequest& after);
  void on_node(const model::NodeTable::Change& change);
  void on_new_node(const model::Node& node);
  void on_changed_node(const model::Node& before, const model::Node& after);
  void on_lease(const model::Node& node_before, const model::Node* node_after);
  void on_backing(const std::string& id, const std::optional<std::string>& before,
                  const std::optional<std::string>& after, const model::Node& node);
  void on_lock(const std::string& node_id);

  // The time of the event of a new record. Returns nothing if an earlier run has recorded it.
  std::optional<double> first_seen(bool table_ready, double state_time) const;
  void record(const history::JournalEntry& entry);
  async::Task<> run();
  async::Task<> write();
  void drop(std::uint64_t entries, const std::string& why);
  void clear_problem();

  using StaticSlot = std::tuple<std::string, std::string, std::string, std::string, std::int64_t>;
  // Notes the slot of a static node. Returns the id of its predecessor in the slot; empty if there
  // is none.
  std::string take_slot(const model::Node& node);

  async::Runtime runtime_;
  model::NodeTable& nodes_;
  model::RequestTable& requests_;
  async::ThreadPool& threads_;
  telemetry::Logger log_;
  std::optional<history::Journal> journal_;

  double recorded_until_ = 0;  // by earlier runs, seconds since the epoch
  std::set<std::string, std::less<>> locked_nodes_;
  std::map<StaticSlot, std::string> latest_in_;              // the newest node in the slot
  std::map<std::string, Decisions, std::less<>> decisions_;  // by request id
  std::map<std::string, double, std::less<>> lease_ends_;    // by lease, as recorded
  model::Observers<const std::string&> decided_;

  std::string lines_;  // not yet written
  std::uint64_t dropped_ = 0;
  std::uint64_t logged_dropped_ = 0;  // of these, in the log
  std::string problem_;
  model::Observers<> problem_changed_;
  async::Event wake_{"entries to write"};
  std::vector<coordination::Subscription> subscriptions_;
  async::TaskScope scope_;
};

}  // namespace nodepool::launcher
