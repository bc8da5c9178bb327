#include "cli/reason_follower.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

namespace nodepool::cli {

namespace {

// Explaining reads the records of all nodes, so the interval grows.
constexpr async::Duration kFirstInterval = std::chrono::seconds(3);
constexpr async::Duration kLongestInterval = std::chrono::minutes(1);

// What the explanation of a request says about `key`; empty if it says nothing.
std::string text_of(std::string_view key, const report::Explanation& explanation) {
  if (explanation.statements.empty()) return {};
  const report::Statements& facts = explanation.statements.front().details;
  const auto fact = std::ranges::find(facts, key, &report::Statement::key);
  return fact == facts.end() ? std::string() : fact->text;
}

}  // namespace

ReasonFollower::ReasonFollower(const async::Runtime& runtime, Installation& installation,
                               Print print)
    : runtime_(runtime), installation_(installation), print_(std::move(print)) {}

Task<> ReasonFollower::follow(const std::string& request_id, async::Duration timeout) {
  async::Duration interval = std::min(kFirstInterval, timeout / 2);
  while (true) {
    co_await runtime_.clock.sleep_for(interval);
    interval = std::min(2 * interval, kLongestInterval);
    report::Explanation explanation;
    try {
      explanation = co_await installation_.explain(request_id, /*online=*/false);
    } catch (const async::Cancelled&) {
      throw;
    } catch (const std::exception&) {
      continue;
    }
    std::string reason = text_of("reason", explanation);
    if (reason.empty() || reason == reason_.text) continue;
    const bool is_first = reason_.text.empty();
    reason_ = {std::move(reason), text_of("advice", explanation)};
    print_(fmt::format("nodepool: waiting: {}", reason_.text));
    const std::string position = text_of("position", explanation);
    if (!position.empty()) print_(fmt::format("nodepool: position {}", position));
    const std::string usual = text_of("usually", explanation);
    if (is_first && !usual.empty()) print_(fmt::format("nodepool: {}", usual));
  }
}

std::string text_after_timeout(const ReasonFollower::Reason& last, const std::string& label) {
  std::string text;
  if (!last.text.empty()) text += "\n  last reason: " + last.text;
  if (!last.advice.empty()) text += "\n  what helps: " + last.advice;
  return fmt::format(
      "{}\n  `nodepool explain {}` shows the pools of the label and what they wait for", text,
      label);
}

}  // namespace nodepool::cli
