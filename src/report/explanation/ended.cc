#include "report/explanation/ended.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "model/node.h"
#include "planning/reason.h"
#include "report/explanation/advice.h"
#include "report/explanation/pool_decisions.h"

namespace nodepool::report {

namespace {

using history::JournalEntry;
using Code = planning::Reason::Code;
using Entries = std::vector<JournalEntry>;

constexpr std::size_t kMostEvents = 5;
constexpr std::size_t kMostDeclines = 10;
constexpr std::size_t kMostNodes = 5;

// Returns nullptr if there is no such event.
const JournalEntry* find_event(const Entries& entries, std::string_view event) {
  const auto entry = std::ranges::find(entries, event, &JournalEntry::event);
  return entry == entries.end() ? nullptr : &*entry;
}

// Of a decline. Only the launcher of the pool records the name of the reason.
bool is_reason(const JournalEntry& entry, Code code) {
  const std::string& name = std::get<history::Declined>(entry.facts).reason;
  return name.empty() ? planning::code_in_decline_entry(entry.details) == code
                      : name == planning::name_of(code);
}

bool is_not_offered(const JournalEntry& entry) {
  return is_reason(entry, Code::labels_not_offered);
}

bool is_failed_launch(const JournalEntry& entry) {
  return is_reason(entry, Code::launch_failed);
}

// The declines that matter, failed launches first. Pools that do not offer the labels are left out.
Entries declines_of(const Entries& entries) {
  Entries launches;
  Entries others;
  for (const JournalEntry& entry : entries) {
    const bool is_decline = std::holds_alternative<history::Declined>(entry.facts);
    if (!is_decline || is_not_offered(entry)) continue;
    (is_failed_launch(entry) ? launches : others).push_back(entry);
  }
  launches.insert(launches.end(), others.begin(), others.end());
  return launches;
}

std::string advice_about_any(const std::vector<history::Declined>& declines) {
  for (const history::Declined& decline : declines) {
    std::string advice = advice_about(decline.reason);
    if (!advice.empty()) return advice;
  }
  return {};
}

// A failure without entries of declines that matter. Other launchers can decline a request before
// this host has seen it: only the entry of the failure has these declines.
void explain_failure(Statements& to, const Entries& entries, const JournalEntry& failure) {
  const auto* all = std::get_if<history::DeclinedByAll>(&failure.facts);
  const auto matters = [](const history::Declined& decline) {
    return decline.reason != history::Declined::kNotOffered;
  };
  if (all != nullptr && std::ranges::any_of(all->declines, matters)) {
    say_of(to, "declined", "reason", decline_text(failure.details));
    say_of(to, "advice", advice_about_any(all->declines));
  } else if (all != nullptr || find_event(entries, "declined") != nullptr) {
    say_of(to, "declined", "reason", "no registered pool offered all of its labels");
    say_of(to, "advice", advice_without_pool());
  }
}

// Nothing for a request that was served. A fulfilled one can fail: no lease can have all its nodes.
void explain_ended_request(Statements& to, const history::SubjectHistory& history) {
  const Entries& entries = history.entries;
  const JournalEntry* failure = find_event(entries, to_string(model::RequestState::failed));
  const bool was_fulfilled =
      find_event(entries, to_string(model::RequestState::fulfilled)) != nullptr;
  if (was_fulfilled && failure == nullptr) return;
  const Entries declines = declines_of(entries);
  if (declines.empty() && failure != nullptr) explain_failure(to, entries, *failure);
  std::vector<history::Declined> facts;
  for (const JournalEntry& entry : declines) {
    facts.push_back(std::get<history::Declined>(entry.facts));
  }
  for (std::size_t i = 0; i < std::min(declines.size(), kMostDeclines); ++i) {
    say_of(to, "declined", "reason", decline_text(declines[i].details));
  }
  if (declines.size() > kMostDeclines) {
    say(to, "declines", fmt::format("… and {} more pools", declines.size() - kMostDeclines));
  }
  say_of(to, "advice", advice_about_any(facts));
  for (std::size_t i = 0; i < std::min(history.failed_nodes.size(), kMostNodes); ++i) {
    say_of(to, "node",
           fmt::format("{0} could not be launched: see `nodepool history {0}`",
                       history.failed_nodes[i]));
  }
}

void explain_ended_node(Statements& to, const Entries& entries) {
  const JournalEntry* last = nullptr;
  for (const JournalEntry& entry : entries) {
    const auto* attempt = std::get_if<history::Attempted>(&entry.facts);
    if (attempt != nullptr && !attempt->failure.empty()) last = &entry;
  }
  if (last == nullptr) return;
  say_of(to, "reason", last->details);
  for (const std::string& request : last->related) {
    say_of(to, "request", fmt::format("{0}: see `nodepool explain {0}`", request));
  }
}

// Repeats what the declines say, or concerns a pool without the labels.
bool is_noise(const JournalEntry& entry) {
  if (const auto* decided = std::get_if<history::Decided>(&entry.facts)) {
    return reason_name(*decided) == planning::name_of(Code::declined_by_this_pool);
  }
  return std::holds_alternative<history::Declined>(entry.facts) && is_not_offered(entry);
}

void explain_last_events(Statements& to, Entries entries, double now) {
  std::erase_if(entries, is_noise);
  const std::size_t first = entries.size() - std::min(entries.size(), kMostEvents);
  for (std::size_t i = first; i < entries.size(); ++i) {
    say_of(to, "event", entries[i].event,
           fmt::format("{} ago{}{}", duration_text(now - entries[i].time),
                       entries[i].details.empty() ? "" : ": ", decline_text(entries[i].details)));
  }
}

}  // namespace

std::optional<Explanation> explain_ended(const ExplanationFacts& knowledge,
                                         const std::string& subject) {
  const history::SubjectHistory history = knowledge.history(subject);
  if (history.entries.empty()) return std::nullopt;
  const bool is_node = history.entries.front().subject == JournalEntry::Subject::node;
  const bool has_failed = find_event(history.entries, "failed") != nullptr;
  Explanation explanation;
  Statements& facts = say(explanation.statements, "ended",
                          fmt::format("{} {} {}no longer exists", is_node ? "Node" : "Request",
                                      subject, has_failed ? "failed and " : ""))
                          .details;
  if (!is_node) {
    explain_ended_request(facts, history);
  } else if (has_failed) {
    explain_ended_node(facts, history.entries);
  }
  explain_last_events(facts, history.entries, knowledge.now);
  say_of(facts, "history", fmt::format("`nodepool history {}` shows all events", subject));
  return explanation;
}

}  // namespace nodepool::report
