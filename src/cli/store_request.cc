#include "cli/store_request.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "async/event.h"
#include "async/finally.h"
#include "async/task_scope.h"
#include "report/explanation/pool_decisions.h"
#include "report/shortage.h"

namespace nodepool::cli {

namespace {

using installation::Installation;
using model::NodeRequest;

// The minimum interval between two reports of the position: people do not read faster.
constexpr auto kUpdateInterval = std::chrono::milliseconds(200);

// Reports the progress of a request, as it changes in the tables.
class ProgressReporter {
 public:
  // `requests`: for the position in the queue; nullptr: it is not reported.
  ProgressReporter(const async::Runtime& runtime, const model::ComponentTable& components,
                   model::RequestTable* requests, Installation::Observer observer)
      : runtime_(runtime),
        components_(components),
        requests_(requests),
        observer_(std::move(observer)) {}

  void report(const NodeRequest& request) {
    progress_ = progress_of(request);
    progress_.pools = std::max(progress_.declined.size(), components_.pools().size());
    progress_.shortage = shortage_for(request);
    report_with_position();
  }

  // Reports the position in the queue until it is cancelled.
  Task<> follow_queue() {
    async::Event changed("another request has come or gone");
    const coordination::Subscription subscription =
        requests_->observe([&changed](const auto& /*change*/) { changed.set(); });
    while (true) {
      co_await changed.wait();
      if (!progress_.id.empty()) report_with_position();
      co_await runtime_.clock.sleep_for(kUpdateInterval);
    }
  }

 private:
  std::string shortage_for(const NodeRequest& request) const {
    const std::vector<const model::Component*> pools = components_.pools();
    if (pools.empty()) {
      if (const auto reason = report::launcher_without_pools(components_)) return reason->text;
    }
    return report::shortage(pools, request.node_types);
  }

  void report_with_position() {
    progress_.position.reset();
    if (requests_ != nullptr) {
      // In the order of service.
      const auto& waiting = requests_->waiting();
      const auto found = std::ranges::find(
          waiting, progress_.id, [](const auto& entry) { return std::string_view(entry.second); });
      progress_.queue = waiting.size();
      if (found != waiting.end()) progress_.position = std::distance(waiting.begin(), found) + 1;
    }
    observer_(progress_);
  }

  async::Runtime runtime_;
  const model::ComponentTable& components_;
  model::RequestTable* requests_;
  Installation::Observer observer_;
  Installation::Progress progress_;
};

}  // namespace

Installation::Progress progress_of(const NodeRequest& request) {
  Installation::Progress progress{.id = request.id, .state = request.state};
  for (const std::string& pool : request.declined_by) {
    const auto reason = request.decline_reasons.find(pool);
    progress.declined.emplace_back(
        pool, reason == request.decline_reasons.end() ? std::string() : reason->second);
  }
  return progress;
}

Task<requestor::Result> request_from_store(Session& session, Installation::Request request,
                                           Installation::Observer observer) {
  const auto deadline = session.runtime().clock.now() + request.timeout;
  const model::ComponentTable* components = co_await session.components();
  model::RequestTable* requests = nullptr;
  if (session.context().err_is_terminal) requests = co_await session.requests();
  ProgressReporter reporter(session.runtime(), *components, requests, std::move(observer));
  requestor::NodeRequestSpec request_spec{request.labels, request.holder};
  requestor::Progress progress = [&reporter](const NodeRequest& now) { reporter.report(now); };
  async::TaskScope scope(session.runtime(), [](const std::string&, const std::string&) {});
  if (requests != nullptr) scope.spawn("position in the queue", reporter.follow_queue());
  Task<requestor::Result> requesting = requestor::request_nodes(
      session.runtime(), session.store(), std::move(request_spec), deadline, std::move(progress));
  const auto stop = [&scope] { return scope.stop(); };
  Task<requestor::Result> stopping = async::finally(std::move(requesting), stop);
  co_return co_await std::move(stopping);
}

}  // namespace nodepool::cli
