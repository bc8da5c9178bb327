#include "cli/waiting.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <csignal>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "async/finally.h"
#include "async/task_scope.h"
#include "cli/child.h"
#include "cli/reason_follower.h"
#include "cli/sanitized_output.h"
#include "model/component.h"

namespace nodepool::cli {

namespace {

// Shows the progress of a request: a hint, and its status on the terminal.
class ProgressPrinter {
 public:
  ProgressPrinter(Context& context, std::vector<std::string> labels)
      : context_(context), labels_(std::move(labels)) {}
  ~ProgressPrinter() { clear_line(); }
  ProgressPrinter(const ProgressPrinter&) = delete;
  ProgressPrinter& operator=(const ProgressPrinter&) = delete;

  void show(const Installation::Progress& progress) {
    // Once, so that a mistyped label is noticed before the timeout.
    const bool is_over = progress.state == model::RequestState::failed;
    if (!progress.shortage.empty() && !is_over && !std::exchange(hinted_, true)) {
      print("nodepool: at present, " + progress.shortage);
    }
    if (!shows_status()) return;
    std::string line = text_of(progress);
    if (line_shown_ && line == line_) return;
    clear_line();
    line_ = std::move(line);
    show_line();
  }

  // Whether the status, with each change of the position, is on the terminal.
  bool shows_status() const { return context_.err_is_terminal && !is_dumb(context_.environment); }

  // Prints a line above the status.
  void print(const std::string& line) {
    const bool was_shown = line_shown_;
    clear_line();
    context_.err << line << '\n' << std::flush;
    if (was_shown) show_line();
  }

 private:
  std::string text_of(const Installation::Progress& progress) const {
    std::string text = fmt::format("Request {} for {}: {}", progress.id, fmt::join(labels_, ", "),
                                   to_string(progress.state));
    if (!progress.declined.empty()) {
      text += fmt::format(", declined by {}", progress.declined.size());
      text += progress.pools == 0 ? " pool(s)" : fmt::format(" of {} pools", progress.pools);
    }
    if (progress.position) {
      text += fmt::format(", position {}", *progress.position);
      if (progress.queue != 0) text += fmt::format(" of {}", progress.queue);
      text += " in the queue";
    }
    return text;
  }

  void show_line() {
    context_.err << line_ << std::flush;
    line_shown_ = true;
  }

  void clear_line() {
    if (line_shown_) context_.err << erase_line;
    line_shown_ = false;
  }

  Context& context_;
  std::vector<std::string> labels_;
  std::string line_;  // as last shown
  bool hinted_ = false;
  bool line_shown_ = false;
};

// The result of a request, and why it waited or failed.
struct Answer {
  std::optional<Installation::Outcome> outcome;
  std::string shortage;  // the last one
  ReasonFollower::Reason reason;
};

Task<> request_and_print(Context& context, Installation& installation,
                         Installation::Request request, Answer& answer) {
  ProgressPrinter printer(context, request.labels);
  ReasonFollower follower(
      context.runtime, installation, [&printer](const std::string& line) { printer.print(line); },
      /*prints_advance=*/!printer.shows_status());
  const async::Duration timeout = request.timeout;
  std::string request_id;  // another one if it had to be created again
  async::TaskScope scope(context.runtime, [](const std::string&, const std::string&) {});
  const Installation::Observer observer = [&](const Installation::Progress& progress) {
    const bool is_first = request_id.empty();
    request_id = progress.id;
    if (is_first) scope.spawn("reason", follower.follow(request_id, timeout));
    answer.shortage = progress.shortage;
    printer.show(progress);
  };
  Task<Installation::Outcome> requesting = installation.request(std::move(request), observer);
  const auto stop = [&scope] { return scope.stop(); };
  Task<Installation::Outcome> stopping = async::finally(std::move(requesting), stop);
  answer.outcome = co_await std::move(stopping);
  answer.reason = follower.reason();
  co_await installation.stop_following();  // `run` may use the nodes for hours
}

// Prints why there are no nodes: one line, and one for each pool that declined, or the last reason
// to wait. Returns the exit status.
int print_failure(Context& context, const Answer& answer, const std::string& label) {
  const Installation::Progress& progress = answer.outcome->progress;
  if (progress.state != model::RequestState::failed) {
    context.err << fmt::format("nodepool: request {} timed out and has been withdrawn{}\n",
                               progress.id, text_after_timeout(answer.reason, label));
    return kTimedOut;
  }
  context.err << fmt::format(
      "nodepool: request {} failed: {}{}{}\n", progress.id,
      progress.declined.empty() ? "no pool gave a reason" : "every pool declined it",
      answer.shortage.empty() ? "" : "; ", answer.shortage);
  for (const auto& [pool, reason] : progress.declined) {
    context.err << fmt::format("  {}{}{}\n", model::pool_title(pool), reason.empty() ? "" : ": ",
                               reason);
  }
  return kNoNodes;
}

}  // namespace

Task<std::optional<requestor::LeasedNodes>> obtain_nodes(Context& context,
                                                         Installation& installation,
                                                         Installation::Request request,
                                                         async::Signals& signals, int& status) {
  // Nodes outlive the reader of the output: the process has to report their lease or release them.
  std::signal(SIGPIPE, SIG_IGN);
  const std::string label = request.labels.front();
  const bool is_for_process = request.is_for_process;
  Answer answer;
  Task<> requesting = request_and_print(context, installation, std::move(request), answer);
  const std::optional<int> signal = co_await signals.until_next(std::move(requesting));
  // A lease that was granted nevertheless would be lost if it was not returned.
  const bool has_nodes = answer.outcome && answer.outcome->leased;
  if (has_nodes && !(signal && is_for_process)) co_return std::move(answer.outcome->leased);
  if (signal) {
    // The installation says when the request has been withdrawn.
    context.err << "nodepool: interrupted\n" << std::flush;
    constexpr int kSignal = 128;
    status = kSignal + *signal;
  } else {
    status = print_failure(context, answer, label);
  }
  co_return std::nullopt;
}

}  // namespace nodepool::cli
