#include "cli/waiting.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <ostream>

#include "async/event.h"
#include "async/finally.h"
#include "async/task_scope.h"
#include "cli/lease_length.h"
#include "cli/sanitized_output.h"
#include "config/wording.h"

namespace nodepool::cli {

namespace {

using model::NodeRequest;

// Which labels that are offered the missing ones may be slips of, as the end of a sentence.
std::string likely_meant(const std::vector<const model::Component*>& pools,
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

// What of the labels can be had at present; empty if some pool offers all of them.
std::string shortage(const std::vector<const model::Component*>& pools,
                     const std::vector<std::string>& labels) {
  std::vector<std::string> missing;
  for (const std::string& label : labels) {
    const bool offered = std::ranges::any_of(
        pools, [&label](const model::Component* pool) { return pool->supports(label); });
    const bool named = std::ranges::find(missing, label) != missing.end();
    if (!offered && !named) missing.push_back(label);
  }
  if (!missing.empty()) {
    return fmt::format("no pool offers {} at present, waiting for one that does{}",
                       fmt::join(missing, ", "), likely_meant(pools, missing));
  }
  const bool together = std::ranges::any_of(
      pools, [&labels](const model::Component* pool) { return pool->supports(labels); });
  return together
             ? ""
             : "no single pool offers all of these labels at present, waiting for one that does";
}

// "1st", "2nd", "3rd", "4th", … "11th", … "21st".
std::string ordinal(std::size_t number) {
  constexpr std::array<std::string_view, 4> kEndings = {"th", "st", "nd", "rd"};
  const bool is_teen = number / 10 % 10 == 1;
  const std::size_t last = is_teen ? 0 : number % 10;
  return std::to_string(number).append(kEndings.at(last < kEndings.size() ? last : 0));
}

// Tells how a request fares.
class Reporter {
 public:
  // `requests`: for its place in line; nullptr: nobody watches.
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
    fate_ = to_string(request.state);
    if (!request.declined_by.empty()) {
      fate_ += fmt::format(", declined by {} of {} pools", request.declined_by.size(),
                           std::max(request.declined_by.size(), components_.pools().size()));
    }
    show();
  }

  // Keeps the place in line up to date until it is cancelled.
  Task<> follow_line() {
    const coordination::Subscription subscription =
        requests_->observe([this](const auto& /*change*/) { line_changed_.set(); });
    while (true) {
      co_await line_changed_.wait();
      show();
      co_await session_.runtime().clock.sleep_for(kRest);
    }
  }

 private:
  // Between two looks at a line that moves all the time: people do not read faster.
  static constexpr auto kRest = std::chrono::milliseconds(200);

  // "3rd of 12 in line", by order of service; empty if it does not wait.
  std::string place() const {
    std::size_t position = 0;
    for (const auto& [order, id] : requests_->waiting()) {
      ++position;
      if (id == id_)
        return fmt::format("{} of {} in line", ordinal(position), requests_->waiting().size());
    }
    return {};
  }

  void show() {
    if (id_.empty()) return;
    std::string line = fmt::format("Request {} for {}: {}", id_, fmt::join(labels_, ", "), fate_);
    if (const std::string place_now = place(); !place_now.empty()) line += ", " + place_now;
    if (line_shown_ && line == line_) return;
    clear_line();
    session_.context().err << line << std::flush;
    line_ = std::move(line);
    line_shown_ = true;
  }

  // Once, so that a mistyped label is noticed before the time is over.
  void hint() {
    if (hinted_) return;
    const std::string text = shortage(components_.pools(), labels_);
    if (text.empty()) return;
    hinted_ = true;
    clear_line();
    session_.context().err << "nodepool: " << text << '\n' << std::flush;
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
  std::string fate_;  // its state, and who has declined it
  std::string line_;  // as it was last shown
  bool hinted_ = false;
  bool line_shown_ = false;
  async::Event line_changed_{"another request has come or gone"};
};

}  // namespace

Task<requestor::Answer> request_and_wait(Session& session, std::vector<std::string> labels,
                                         async::Duration timeout) {
  const auto deadline = session.runtime().clock.now() + timeout;
  const model::ComponentTable* components = co_await session.components();
  model::RequestTable* requests = nullptr;
  if (session.context().err_is_terminal) requests = co_await session.requests();
  Reporter reporter(session, *components, requests, labels);
  requestor::NodeRequestSpec request_spec{labels, holder_of(session.context())};
  const std::string id =
      co_await requestor::ask(session.runtime(), session.store(), std::move(request_spec));
  requestor::Progress progress = [&reporter](const NodeRequest& request) {
    reporter.report(request);
  };
  async::TaskScope scope(session.runtime(), [](const std::string&, const std::string&) {});
  if (requests != nullptr) scope.spawn("place in line", reporter.follow_line());
  Task<requestor::Answer> awaiting = requestor::await_answer(session.runtime(), session.store(), id,
                                                             deadline, std::move(progress));
  const auto stop = [&scope] { return scope.stop(); };
  co_return co_await async::finally(std::move(awaiting), stop);
}

std::string explain(const requestor::Answer& answer) {
  const NodeRequest& request = answer.request;
  if (answer.kind == requestor::Answer::Kind::timed_out) {
    return fmt::format("request {} was not fulfilled in time; it has been withdrawn", request.id);
  }
  std::string text = fmt::format("request {} failed: ", request.id);
  if (request.declined_by.empty()) return text + "nobody says why";
  text += "every pool has declined it";
  for (const std::string& pool : request.declined_by) {
    const auto reason = request.decline_reasons.find(pool);
    text += "\n  " + pool;
    if (reason != request.decline_reasons.end()) text += ": " + reason->second;
  }
  return text;
}

}  // namespace nodepool::cli
