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

// Keeps `min-ready` nodes of each label in stock: asks for what is missing like any requestor, with
// requests for one new node each that come after everybody else's, some at a time. It counts what
// all launchers have asked for, so that several of them with the same label do not ask twice. It
// does not ask for what is known not to be had: a label whose image no provider has yet.
class MinReadyWorker {
 public:
  MinReadyWorker(const WorkerContext& context, const Providers& providers);

  // Begins to work.
  void start();

  // Goes over to other labels.
  void reconfigure(const std::map<std::string, config::Label>& labels);

  // Ends the work. The own requests vanish with the session.
  Task<> stop();

 private:
  // Before asking again for what could not be had (all pools are full, or launches fail): a failure
  // gives no sign of when it would go better.
  static constexpr async::Duration kFirstPause = std::chrono::seconds(5);
  static constexpr async::Duration kLongestPause = std::chrono::seconds(60);

  struct Stock {
    std::int64_t wanted = 0;
    std::int64_t ready = 0;
    std::set<std::string> requests;
    async::Backoff backoff{kFirstPause, kLongestPause};  // after an attempt that has failed
    bool pausing = false;

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
  Task<> ask(std::string label, std::int64_t count);
  Task<> serve(std::string request_id);
  Task<> take_over(model::NodeRequest request);
  Task<bool> free_node(model::NodeRequest request);
  Task<bool> try_to_free(model::NodeRequest request, coordination::Lock& lock);
  Task<bool> free_locked_node(const model::NodeRequest& request, coordination::Lock& lock);
  Task<> give_up(std::string request_id, std::string label);
  Task<> try_again_later(std::string label, async::Duration pause);
  Task<> remove(std::string request_id);
  bool has_problem(const model::Component& pool, const std::string& label) const;

  const WorkerContext& context_;
  const Providers& providers_;
  telemetry::Logger log_;
  std::map<std::string, Stock> stocks_;   // by label
  std::set<std::string> to_look_at_;      // labels
  std::set<std::string> unavailable_;     // … that nobody could serve when last looked at
  async::Clock::TimePoint offers_due_{};  // when to look at these again
  async::Event wake_{"what is to be kept ready changed"};
  std::vector<coordination::Subscription> subscriptions_;
  async::TaskScope scope_;
};

}  // namespace nodepool::launcher
