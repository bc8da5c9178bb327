#include "cli/waiting.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <ostream>

#include "async/event.h"
#include "async/finally.h"
#include "async/task_scope.h"
#include "cli/lease_length.h"
#include "cli/reason_follower.h"
#include "cli/sanitized_output.h"
#include "config/wording.h"

namespace nodepool::cli {

namespace {

using model::NodeRequest;

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
    return fmt::format("no pool offers {} at present; waiting for one{}", fmt::join(missing, ", "),
                       suggestion(pools, missing));
  }
  const bool together = std::ranges::any_of(
      pools, [&labels](const model::Component* pool) { return pool->supports(labels); });
  return together ? "" : "no single pool offers all of these labels at present; waiting for one";
}

// Shows the status of a request on the terminal.
class Reporter {
 public:
  // `requests`: for the position in the queue; nullptr if there is no terminal.
  Reporter(Session& session, const model::ComponentTable& components, model::RequestTable* requests,
           std::vector<std::string> labels)
      : session_(session),
        components_(components),
        requests_(requests),
        labels_(std::move(labels)) {}
  ~Reporter() { clear_line(); }
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  void report(const NodeRequest& request) {
    hint();
    if (!session_.context().err_is_terminal) return;
    id_ = request.id;
    status_ = to_string(request.state);
    if (!request.declined_by.empty()) {
      status_ += fmt::format(", declined by {} of {} pools", request.declined_by.size(),
                             std::max(request.declined_by.size(), components_.pools().size()));
    }
    show();
  }

  // Prints a line above the status.
  void print(const std::string& line) {
    const bool was_shown = line_shown_;
    clear_line();
    session_.context().err << line << '\n' << std::flush;
    if (was_shown) show();
  }

  // Updates the position in the queue until it is cancelled.
  Task<> follow_queue() {
    const coordination::Subscription subscription =
        requests_->observe([this](const auto& /*change*/) { queue_changed_.set(); });
    while (true) {
      co_await queue_changed_.wait();
      show();
      co_await session_.runtime().clock.sleep_for(kUpdateInterval);
    }
  }

 private:
  // The minimum interval between two updates: people do not read faster.
  static constexpr auto kUpdateInterval = std::chrono::milliseconds(200);

  // "position 3 of 12 in the queue", in the order of service; empty if the request does not wait.
  std::string position_text() const {
    std::size_t position = 0;
    for (const auto& [order, id] : requests_->waiting()) {
      ++position;
      if (id == id_) {
        return fmt::format("position {} of {} in the queue", position, requests_->waiting().size());
      }
    }
    return {};
  }

  void show() {
    if (id_.empty()) return;
    std::string line = fmt::format("Request {} for {}: {}", id_, fmt::join(labels_, ", "), status_);
    if (const std::string position = position_text(); !position.empty()) line += ", " + position;
    if (line_shown_ && line == line_) return;
    clear_line();
    session_.context().err << line << std::flush;
    line_ = std::move(line);
    line_shown_ = true;
  }

  // Prints the hint once, so that a mistyped label is noticed before the timeout.
  void hint() {
    if (hinted_) return;
    const std::string text = shortage(components_.pools(), labels_);
    if (text.empty()) return;
    hinted_ = true;
    print("nodepool: " + text);
  }

  void clear_line() {
    if (line_shown_) session_.context().err << erase_line;
    line_shown_ = false;
  }

  Session& session_;
  const model::ComponentTable& components_;
  model::RequestTable* requests_;
  std::vector<std::string> labels_;
  std::string id_;
  std::string status_;  // its state, and how many pools declined it
  std::string line_;    // as last shown
  bool hinted_ = false;
  bool line_shown_ = false;
  async::Event queue_changed_{"another request has come or gone"};
};

}  // namespace

Task<Answer> request_and_wait(Session& session, std::vector<std::string> labels,
                              async::Duration timeout) {
  const auto deadline = session.runtime().clock.now() + timeout;
  const model::ComponentTable* components = co_await session.components();
  model::RequestTable* requests = nullptr;
  if (session.context().err_is_terminal) requests = co_await session.requests();
  Reporter reporter(session, *components, requests, labels);
  requestor::NodeRequestSpec request_spec{labels, holder_of(session.context())};
  const std::string id = co_await requestor::create_request(session.runtime(), session.store(),
                                                            std::move(request_spec));
  requestor::Progress progress = [&reporter](const NodeRequest& request) {
    reporter.report(request);
  };
  async::TaskScope scope(session.runtime(), [](const std::string&, const std::string&) {});
  ReasonFollower follower(session.runtime(), explaining_by_store(session, /*online=*/false),
                          [&reporter](const std::string& line) { reporter.print(line); });
  scope.spawn("reason", follower.follow(id));
  if (requests != nullptr) scope.spawn("position in the queue", reporter.follow_queue());
  Task<requestor::Result> awaiting = requestor::await_result(session.runtime(), session.store(), id,
                                                             deadline, std::move(progress));
  const auto stop = [&scope] { return scope.stop(); };
  Task<requestor::Result> stopping = async::finally(std::move(awaiting), stop);
  requestor::Result result = co_await std::move(stopping);
  co_return Answer{std::move(result), follower.reason()};
}

std::string explain(const Answer& answer) {
  const NodeRequest& request = answer.result.request;
  if (answer.result.kind == requestor::Result::Kind::timed_out) {
    return fmt::format("request {} timed out and has been withdrawn{}", request.id,
                       advice_after_timeout(answer.reason, request.node_types.front()));
  }
  std::string text = fmt::format("request {} failed: ", request.id);
  if (request.declined_by.empty()) return text + "no pool gave a reason";
  text += "every pool declined it";
  for (const std::string& pool : request.declined_by) {
    const auto reason = request.decline_reasons.find(pool);
    text += "\n  " + model::pool_title(pool);
    if (reason != request.decline_reasons.end()) text += ": " + reason->second;
  }
  return text;
}

}  // namespace nodepool::cli
