#include "cli/waiting.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <ostream>

#include "cli/harmless_output.h"

namespace nodepool::cli {

namespace {

using model::NodeRequest;

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
    return fmt::format("no pool offers {} at present", fmt::join(missing, ", "));
  }
  const bool together = std::ranges::any_of(
      pools, [&labels](const model::Component* pool) { return pool->supports(labels); });
  return together ? "" : "no single pool offers all of these labels at present";
}

// Tells how a request fares.
class Reporter {
 public:
  Reporter(Session& session, const model::ComponentTable& components,
           std::vector<std::string> labels)
      : session_(session), components_(components), labels_(std::move(labels)) {}
  ~Reporter() { clear_line(); }
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  void report(const NodeRequest& request) {
    hint();
    if (!session_.context().err_is_terminal) return;
    std::string line = fmt::format("Request {} for {}: {}", request.id, fmt::join(labels_, ", "),
                                   to_string(request.state));
    if (!request.declined_by.empty()) {
      line += fmt::format(", declined by {} of {} pools", request.declined_by.size(),
                          std::max(request.declined_by.size(), components_.pools().size()));
    }
    clear_line();
    session_.context().err << line << std::flush;
    line_shown_ = true;
  }

 private:
  // Once, so that a mistyped label is noticed before the time is over.
  void hint() {
    if (hinted_) return;
    const std::string text = shortage(components_.pools(), labels_);
    if (text.empty()) return;
    hinted_ = true;
    clear_line();
    session_.context().err << "nodepool: " << text << ", waiting for one that does\n" << std::flush;
  }

  void clear_line() {
    if (line_shown_) session_.context().err << erase_line;
    line_shown_ = false;
  }

  Session& session_;
  const model::ComponentTable& components_;
  std::vector<std::string> labels_;
  bool hinted_ = false;
  bool line_shown_ = false;
};

}  // namespace

Task<requestor::Answer> request_and_wait(Session& session, std::vector<std::string> labels,
                                         async::Duration timeout) {
  const auto deadline = session.runtime().clock.now() + timeout;
  const model::ComponentTable* components = co_await session.components();
  Reporter reporter(session, *components, labels);
  requestor::Wish wish{labels, "nodepool:" + session.context().identity};
  const std::string id =
      co_await requestor::ask(session.runtime(), session.store(), std::move(wish));
  requestor::Progress progress = [&reporter](const NodeRequest& request) {
    reporter.report(request);
  };
  co_return co_await requestor::await_answer(session.runtime(), session.store(), id, deadline,
                                             std::move(progress));
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
