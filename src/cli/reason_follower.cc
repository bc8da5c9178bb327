#include "cli/reason_follower.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "async/task.h"

namespace nodepool::cli {

namespace {

// Explaining reads the records of all nodes, so the interval grows.
constexpr async::Duration kFirstInterval = std::chrono::seconds(3);
constexpr async::Duration kLongestInterval = std::chrono::minutes(1);

// The reason that the explanation of a request contains; empty if there is none.
std::string reason_in(const report::Explanation& explanation) {
  if (explanation.statements.empty()) return {};
  const report::Statements& facts = explanation.statements.front().details;
  const auto reason = std::ranges::find(facts, "reason", &report::Statement::key);
  return reason == facts.end() ? std::string() : reason->text;
}

}  // namespace

ReasonFollower::ReasonFollower(const async::Runtime& runtime, Explaining explain, Print print)
    : runtime_(runtime), explain_(std::move(explain)), print_(std::move(print)) {}

Task<> ReasonFollower::follow(std::string request_id) {
  async::Duration interval = kFirstInterval;
  while (true) {
    co_await runtime_.clock.sleep_for(interval);
    interval = std::min(2 * interval, kLongestInterval);
    std::string reason;
    try {
      Task<report::Explanation> explaining = explain_(request_id);
      reason = reason_in(co_await std::move(explaining));
    } catch (const async::Cancelled&) {
      throw;
    } catch (const std::exception&) {
      continue;
    }
    if (reason.empty() || reason == reason_) continue;
    reason_ = std::move(reason);
    print_(fmt::format("nodepool: waiting: {}", reason_));
  }
}

std::string advice_after_timeout(const std::string& reason, const std::string& label) {
  const std::string last = reason.empty() ? "" : fmt::format("\n  last reason: {}", reason);
  return fmt::format(
      "{}\n  `nodepool explain {}` shows the pools of the label and what they wait "
      "for",
      last, label);
}

}  // namespace nodepool::cli
