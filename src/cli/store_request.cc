#include "cli/store_request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "async/event.h"
#include "async/finally.h"
#include "async/task_scope.h"
#include "config/wording.h"

namespace nodepool::cli {

namespace {

using installation::Installation;
using model::NodeRequest;

// The minimum interval between two reports of the position: people do not read faster.
constexpr auto kUpdateInterval = std::chrono::milliseconds(200);

// A "did you mean" with an offered label that resembles a missing one, for the end of a sentence.
std::string suggestion(const std::vector<const model::Component*>& pools,
                       const std::vector<std::string>& missing) {
  std::vector<std::string_view> offered;
  for (const model::Component* pool : pools) {
    offered.insert(offered.end(), pool->supported_labels.begin(), pool->supported_labels.end());
  }
  for (const std::string& label : missing) {
    const std::string meant = config::did_you_mean(label, offered);
    if (!meant.empty()) return "; " + meant;
  }
  return {};
}

// Why the labels cannot be provided at present; empty if a pool offers all of them.
std::string shortage(const std::vector<const model::Component*>& pools,
                     const std::vector<std::string>& labels) {
  std::vector<std::string> missing;
  for (const std::string& label : labels) {
    const bool offered = std::ranges::any_of(
        pools, [&label](const model::Component* pool) { return pool->supports(label); });
    const bool is_listed = std::ranges::find(missing, label) != missing.end();
    if (!offered && !is_listed) missing.push_back(label);
  }
  if (pools.empty()) return "no launcher serves a pool at present; waiting for one";
  if (!missing.empty()) {
    return fmt::format("no pool offers {} at present{}", fmt::join(missing, ", "),
                       suggestion(pools, missing));
  }
  const bool together = std::ranges::any_of(
      pools, [&labels](const model::Component* pool) { return pool->supports(labels); });
  return together ? "" : "no single pool offers all of these labels at present";
}

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
    progress_.shortage = shortage(components_.pools(), request.node_types);
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
