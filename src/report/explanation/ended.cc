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

bool has_event(const Entries& entries, std::string_view event) {
  return std::ranges::find(entries, event, &JournalEntry::event) != entries.end();
}

// Of a decline. Only the launcher of the pool records the name of the reason.
bool is_reason(const JournalEntry& entry, Code code, std::string_view text) {
  const std::string& name = std::get<history::Declined>(entry.facts).reason;
  return name.empty() ? entry.details.contains(text) : name == planning::name_of(code);
}

bool is_not_offered(const JournalEntry& entry) {
  return is_reason(entry, Code::labels_not_offered, ": node type(s) [");
}

bool is_failed_launch(const JournalEntry& entry) {
  return is_reason(entry, Code::launch_failed, ": launch failed: ");
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

std::string advice_about_any(const Entries& declines) {
  for (const JournalEntry& entry : declines) {
    std::string advice = advice_about(std::get<history::Declined>(entry.facts).reason);
    if (!advice.empty()) return advice;
  }
  return {};
}

// Nothing for a request that was served.
void explain_ended_request(Statements& to, const history::SubjectHistory& history) {
  const Entries& entries = history.entries;
  if (has_event(entries, to_string(model::RequestState::fulfilled))) return;
  const Entries declines = declines_of(entries);
  const bool has_failed = has_event(entries, to_string(model::RequestState::failed));
  if (declines.empty() && has_failed) {
    say_of(to, "declined", "reason", "no registered pool offered all of its labels");
    say_of(to, "advice", advice_without_pool());
  }
  for (std::size_t i = 0; i < std::min(declines.size(), kMostDeclines); ++i) {
    say_of(to, "declined", "reason", decline_text(declines[i].details));
  }
  if (declines.size() > kMostDeclines) {
    say(to, "declines", fmt::format("… and {} more pools", declines.size() - kMostDeclines));
  }
  say_of(to, "advice", advice_about_any(declines));
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
  const bool has_failed = has_event(history.entries, "failed");
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
