#include "cli/reason_follower.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string_view>
#include <utility>

namespace nodepool::cli {

namespace {

constexpr async::Duration kFirstInterval = std::chrono::seconds(3);
constexpr async::Duration kInterval = std::chrono::seconds(10);
constexpr async::Duration kLongestInterval = std::chrono::minutes(1);

// Explaining reads the records of all nodes: it takes at most one part in so many of the time.
constexpr int kRest = 20;

// What the explanation of a request says about `key`; empty if it says nothing.
std::string text_of(std::string_view key, const report::Explanation& explanation) {
  if (explanation.statements.empty()) return {};
  const report::Statements& facts = explanation.statements.front().details;
  const auto fact = std::ranges::find(facts, key, &report::Statement::key);
  return fact == facts.end() ? std::string() : fact->text;
}

// The number at the start of a position, "2 of 5 waiting requests; …". 0: there is none.
std::size_t place_of(std::string_view position) {
  std::size_t place = 0;
  std::from_chars(position.data(), position.data() + position.size(), place);
  return place;
}

}  // namespace

ReasonFollower::ReasonFollower(const async::Runtime& runtime, Installation& installation,
                               Print print, bool prints_advance)
    : runtime_(runtime),
      installation_(installation),
      print_(std::move(print)),
      prints_advance_(prints_advance) {}

Task<> ReasonFollower::follow(const std::string& request_id, async::Duration timeout) {
  async::Duration interval = std::min(kFirstInterval, timeout / 2);
  while (true) {
    co_await runtime_.clock.sleep_for(interval);
    const auto start = runtime_.clock.now();
    report::Explanation explanation;
    try {
      explanation = co_await installation_.explain(request_id, /*online=*/false);
    } catch (const async::Cancelled&) {
      throw;
    } catch (const std::exception&) {
      // Many commands with one token may be above its rate limit.
      interval = std::clamp(2 * interval, kInterval, kLongestInterval);
      continue;
    }
    interval = std::clamp(kRest * (runtime_.clock.now() - start), kInterval, kLongestInterval);
    show(explanation);
  }
}

void ReasonFollower::show(const report::Explanation& explanation) {
  std::string reason = text_of("reason", explanation);
  if (reason.empty()) return;
  const std::string position = text_of("position", explanation);
  const std::size_t place = place_of(position);
  const bool has_advanced = place != 0 && place < place_;
  if (place != 0) place_ = place;
  if (reason == reason_.text) {
    if (has_advanced && prints_advance_) print_(fmt::format("nodepool: position {}", position));
    return;
  }
  const bool is_first = reason_.text.empty();
  reason_ = {std::move(reason), text_of("advice", explanation)};
  const std::string leases = text_of("held-by", explanation);
  print_(fmt::format("nodepool: waiting: {}{}{}", reason_.text, leases.empty() ? "" : "; held by ",
                     leases));
  const std::string estimate = text_of("estimate", explanation);
  if (is_first && !estimate.empty()) return print_(fmt::format("nodepool: {}", estimate));
  if (!position.empty()) print_(fmt::format("nodepool: position {}", position));
  const std::string usual = text_of("usually", explanation);
  if (is_first && !usual.empty()) print_(fmt::format("nodepool: {}", usual));
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
