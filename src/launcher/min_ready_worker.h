#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "async/backoff.h"
#include "async/event.h"
#include "async/task_scope.h"
#include "coordination/lock.h"
#include "launcher/context.h"
#include "launcher/providers.h"
#include "planning/min_ready.h"

namespace nodepool::launcher {

// Keeps `min-ready` nodes of each label ready. Requests missing nodes like any requestor, with
// requests of the lowest priority for one new node each, a few at a time. Counts the requests of
// all launchers, so that several launchers with the same label do not request twice. Requests no
// label that is known to be unavailable, for example because its image is missing.
class MinReadyWorker {
 public:
  MinReadyWorker(const WorkerContext& context, const Providers& providers);

  // Starts the work.
  void start();

  // Applies the new labels.
  void reconfigure(const std::map<std::string, config::Label>& labels);

  // Ends the work. The own requests end with the session.
  Task<> stop();

 private:
  // Backoff after a request that has failed or was removed.
  static constexpr async::Duration kFirstPause = std::chrono::seconds(5);
  static constexpr async::Duration kLongestPause = std::chrono::seconds(60);

  struct Stock {
    std::int64_t wanted = 0;
    std::int64_t ready = 0;
    std::set<std::string> requests;
    async::Backoff backoff{kFirstPause, kLongestPause};
    bool is_backing_off = false;

    planning::MinReadyStock figures() const {
      return {wanted, ready, static_cast<std::int64_t>(requests.size())};
    }
  };

  void on_node(const model::NodeTable::Change& change);
  void on_request(const model::RequestTable::Change& change);
  void reevaluate(const std::string& label);
  void reevaluate_all();
  Task<> run();
  Task<> top_up(std::string label);
  Task<> request(std::string label, std::int64_t count);
  Task<> serve(std::string request_id);
  Task<> take_over(model::NodeRequest request);
  Task<bool> free_node(model::NodeRequest request);
  Task<> give_up(std::string request_id, std::string label);
  bool is_unanswered(const model::NodeRequest& request) const;
  void back_off(const std::string& label);
  Task<> try_again_later(std::string label, async::Duration pause);
  Task<> remove(std::string request_id);
  bool has_problem(const model::Component& pool, const std::string& label) const;

  const WorkerContext& context_;
  const Providers& providers_;
  telemetry::Logger log_;
  std::map<std::string, Stock> stocks_;   // by label
  std::set<std::string> due_;             // labels
  std::set<std::string> unavailable_;     // labels that no pool could serve
  async::Clock::TimePoint offers_due_{};  // when these are checked again
  async::Event wake_{"a stock of ready nodes changed"};
  std::vector<coordination::Subscription> subscriptions_;
  async::TaskScope scope_;
};

}  // namespace nodepool::launcher
