#include "launcher/history_recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ranges>
#include <utility>

#include "config/duration.h"
#include "driver/backing.h"
#include "launcher/request_wait.h"
#include "model/failure_text.h"
#include "planning/decision_text.h"
#include "telemetry/log_errors.h"

namespace nodepool::launcher {

namespace {

using history::JournalEntry;
using model::Node;
using model::NodeRequest;

// Entries within this time are written together.
constexpr auto kWriteDelay = std::chrono::milliseconds(100);

// Bytes that may wait to be written.
constexpr std::size_t kMostWaiting = 4 << 20;

// Declines that the entry of a failed request names.
constexpr std::size_t kMostDeclines = 3;

JournalEntry about_node(const std::string& id, double time, std::string_view event) {
  return {time, JournalEntry::Subject::node, id, std::string(event), {}, {}};
}

JournalEntry about_request(const std::string& id, double time, std::string_view event) {
  return {time, JournalEntry::Subject::request, id, std::string(event), {}, {}};
}

// "host1 of rack-main, label(s) a, b".
std::string description(const Node& node) {
  return fmt::format("{} of {}-{}, label(s) {}", node.hostname.value_or("node"),
                     node.provider.value_or("?"), node.pool.value_or("?"),
                     fmt::join(node.type, ", "));
}

std::string description(const NodeRequest& request) {
  std::string text = fmt::format("label(s) {}", fmt::join(request.node_types, ", "));
  if (request.requestor) text += " for " + *request.requestor;
  if (request.relative_priority != 0) {
    text += fmt::format(", relative priority {}", request.relative_priority);
  }
  return text;
}

history::Waited waited_for(const NodeRequest& request, double seconds) {
  history::Waited waited{.labels = request.node_types, .seconds = seconds};
  std::ranges::sort(waited.labels);
  return waited;
}

// The lease that holds the node now.
std::optional<model::Lease> lease_on(const Node& node) {
  return node.state == model::NodeState::in_use ? lease_of(node) : std::nullopt;
}

// "rack-main on l1: the pool is full: …". Only the name of the pool if no reason is recorded.
std::string decline_text(const NodeRequest& request, const std::string& pool_id) {
  const auto reason = request.decline_reasons.find(pool_id);
  const bool is_known = reason != request.decline_reasons.end();
  return planning::decline_entry(model::pool_title(pool_id),
                                 is_known ? std::string_view(reason->second) : std::string_view());
}

// The name of a reason that is certain by its sentence, whichever launcher has written it. Empty if
// it is not.
std::string_view recognized_reason(const NodeRequest& request, const std::string& pool_id) {
  using Code = planning::Reason::Code;
  const auto reason = request.decline_reasons.find(pool_id);
  if (reason == request.decline_reasons.end()) return {};
  const Code code = planning::code_of(reason->second);
  const bool is_certain =
      code == Code::labels_not_offered || code == Code::pool_full || code == Code::provider_full;
  return is_certain ? planning::name_of(code) : std::string_view();
}

// "for 2h".
std::string length_of(const model::Lease& lease, double now) {
  const std::chrono::seconds left(std::llround(lease.expires - now));
  return "for " + config::duration_words(left);
}

}  // namespace

HistoryRecorder::HistoryRecorder(const async::Runtime& runtime, model::NodeTable& nodes,
                                 model::RequestTable& requests, async::ThreadPool& threads,
                                 telemetry::Logger log, std::optional<history::Journal> journal)
    : runtime_(runtime),
      nodes_(nodes),
      requests_(requests),
      threads_(threads),
      log_(std::move(log)),
      journal_(std::move(journal)),
      scope_(runtime, telemetry::log_errors(log_)) {}

async::Task<> HistoryRecorder::start() {
  if (!journal_) co_return;
  auto read = [journal = *journal_] { return history::last_time(journal); };
  async::Task<std::optional<double>> reading = threads_.run("read the history", std::move(read));
  try {
    recorded_until_ = (co_await std::move(reading)).value_or(0);
  } catch (const std::system_error& error) {
    log_.warning("Cannot read the history: {}", error.what());
  }
  subscriptions_.push_back(
      requests_.observe([this](const model::RequestTable::Change& change) { on_request(change); }));
  subscriptions_.push_back(
      nodes_.observe([this](const model::NodeTable::Change& change) { on_node(change); }));
  subscriptions_.push_back(nodes_.observe_locks([this](const std::string& id) { on_lock(id); }));
  scope_.spawn("history", run());
}

async::Task<> HistoryRecorder::stop() {
  subscriptions_.clear();
  co_await scope_.stop();
  co_await write();
}

std::optional<double> HistoryRecorder::first_seen(bool table_ready, double state_time) const {
  if (table_ready) return runtime_.clock.wall_seconds();
  return state_time > recorded_until_ ? std::optional(state_time) : std::nullopt;
}

// --- requests

void HistoryRecorder::on_request(const model::RequestTable::Change& change) {
  if (change.before == nullptr) {
    on_new_request(*change.after);
  } else if (change.after != nullptr) {
    on_changed_request(*change.before, *change.after);
  } else {
    // The requestor has taken the nodes, or has withdrawn the request.
    const bool is_answered = change.before->state == model::RequestState::fulfilled;
    JournalEntry entry =
        about_request(change.id, runtime_.clock.wall_seconds(), is_answered ? "answered" : "gone");
    if (!is_answered && change.before->state != model::RequestState::failed) {
      // A later state may have been missed.
      entry.details = fmt::format("withdrawn, last seen as {}", to_string(change.before->state));
    }
    record(entry);
    decisions_.erase(change.id);
  }
}

void HistoryRecorder::on_new_request(const NodeRequest& request) {
  const auto time = first_seen(requests_.ready(), request.state_time);
  if (!time) return;
  JournalEntry entry = about_request(request.id, *time, to_string(request.state));
  entry.related = request.nodes;
  entry.details =
      model::failure_text(description(request));  // its length is the requestor's choice
  if (request.state == model::RequestState::failed) explain_failure(entry, request);
  record(entry);
  // For the node that waits for a backing node.
  if (const auto purpose = driver::backing_purpose_of(request)) {
    JournalEntry waits = about_node(purpose->node, *time, "asks");
    waits.details = fmt::format("request {} for a backing node with label(s) {}", request.id,
                                fmt::join(request.node_types, ", "));
    waits.facts = history::AskedFor{request.id};
    record(waits);
  }
}

void HistoryRecorder::on_changed_request(const NodeRequest& before, const NodeRequest& after) {
  const double now = runtime_.clock.wall_seconds();
  for (const std::string& pool : after.declined_by) {
    if (before.declined(pool)) continue;
    JournalEntry entry = about_request(after.id, now, "declined");
    entry.details = decline_text(after, pool);
    entry.facts = decline_by(pool, after);
    record(entry);
  }
  if (before.relative_priority != after.relative_priority) {
    JournalEntry entry = about_request(after.id, now, "priority");
    entry.details = fmt::format("relative priority {}", after.relative_priority);
    record(entry);
  }
  if (before.state != after.state) {
    JournalEntry entry = about_request(after.id, now, to_string(after.state));
    entry.related = after.nodes;
    const std::optional<double> wait = wait_of(after, now);
    if (after.state == model::RequestState::fulfilled && wait) {
      entry.facts = waited_for(after, *wait);
    }
    if (after.state == model::RequestState::failed) explain_failure(entry, after);
    record(entry);
  }
}

void HistoryRecorder::decided(const std::string& request_id, std::string_view pool_id,
                              const planning::Decision& decision) {
  if (!journal_) return;
  // Most pools of a large site do not offer the labels, and each would write an entry.
  const bool is_of_bystander = decision.reason.code == planning::Reason::Code::left_to_whole_offer;
  const Decisions* known = decisions_about(request_id);
  if (is_of_bystander && (known == nullptr || !known->contains(pool_id))) return;
  const auto [last, is_first] = decisions_[request_id].try_emplace(std::string(pool_id), decision);
  if (!is_first && last->second == decision) return;
  // The decline's own reason is what explains the request.
  if (decision.reason.code == planning::Reason::Code::declined_by_this_pool &&
      last->second.kind == planning::Decision::Kind::decline) {
    return;
  }
  last->second = decision;
  record_decision(request_id, pool_id, sentence(decision), to_json(decision, pool_id));
  decided_.notify(request_id);
}

const HistoryRecorder::Decisions* HistoryRecorder::decisions_about(
    std::string_view request_id) const {
  const auto decisions = decisions_.find(request_id);
  return decisions == decisions_.end() ? nullptr : &decisions->second;
}

void HistoryRecorder::declines(const std::string& request_id, std::string_view pool_id,
                               planning::Reason reason) {
  if (!journal_ || requests_.find(request_id) == nullptr) return;
  decisions_[request_id].insert_or_assign(
      std::string(pool_id),
      planning::Decision{.kind = planning::Decision::Kind::decline, .reason = std::move(reason)});
}

history::Declined HistoryRecorder::decline_by(const std::string& pool_id,
                                              const NodeRequest& request) const {
  const Decisions* decisions = decisions_about(request.id);
  const bool is_own = decisions != nullptr && decisions->contains(pool_id);
  return {pool_id, std::string(is_own ? name_of(decisions->find(pool_id)->second.reason.code)
                                      : recognized_reason(request, pool_id))};
}

// The declines that decided, as facts and as text.
void HistoryRecorder::explain_failure(JournalEntry& entry, const NodeRequest& request) const {
  history::DeclinedByAll failed;
  for (const std::string& pool : request.declined_by) {
    failed.declines.push_back(decline_by(pool, request));
  }
  const auto is_bystander = [](const history::Declined& decline) {
    return decline.reason == history::Declined::kNotOffered;
  };
  if (!std::ranges::all_of(failed.declines, is_bystander)) {
    std::erase_if(failed.declines, is_bystander);
  }
  if (failed.declines.empty()) return;
  std::vector<std::string> texts;
  if (!entry.details.empty()) texts.push_back(entry.details);
  for (const history::Declined& decline : failed.declines | std::views::take(kMostDeclines)) {
    texts.push_back(decline_text(request, decline.pool));
  }
  const std::size_t others =
      failed.declines.size() - std::min(failed.declines.size(), kMostDeclines);
  if (others > 0) texts.push_back(fmt::format("and {} other pools", others));
  entry.details = model::failure_text(fmt::format("{}", fmt::join(texts, "; ")));
  entry.facts = std::move(failed);
}

void HistoryRecorder::resumed(const std::string& request_id, std::string_view pool_id) {
  if (!journal_) return;
  record_decision(request_id, pool_id, "resumes",
                  fmt::format(R"({{"pool": {}, "decision": "resumes"}})",
                              model::json_string(std::string(pool_id)).text));
}

void HistoryRecorder::attempt_ended(const std::string& node_id, const std::string& request_id,
                                    const driver::LaunchTrace& trace) {
  if (!journal_) return;
  JournalEntry entry = about_node(node_id, runtime_.clock.wall_seconds(), "launch");
  entry.related = {request_id};
  entry.details = summary(trace);
  entry.facts = history::Attempted{.failure = trace.failure, .json = to_json(trace)};
  record(entry);
}

void HistoryRecorder::machine_ended(const std::string& node_id, const std::string& reason) {
  if (!journal_) return;
  JournalEntry entry = about_node(node_id, runtime_.clock.wall_seconds(), "ended");
  entry.details = model::failure_text(reason);  // its length is the cloud's choice
  record(entry);
}

void HistoryRecorder::reclaim_failed(const std::string& node_id, const std::string& reason) {
  if (!journal_) return;
  JournalEntry entry = about_node(node_id, runtime_.clock.wall_seconds(), "reclaim-failed");
  entry.details = model::failure_text(reason);  // its length is the cloud's choice
  record(entry);
}

void HistoryRecorder::record_decision(const std::string& request_id, std::string_view pool_id,
                                      std::string_view text, std::string json) {
  JournalEntry entry = about_request(request_id, runtime_.clock.wall_seconds(), "decision");
  entry.details = fmt::format("{} {}", model::pool_title(pool_id), text);
  entry.facts = history::Decided{std::string(pool_id), std::move(json)};
  record(entry);
}

// --- nodes

void HistoryRecorder::on_node(const model::NodeTable::Change& change) {
  if (change.before == nullptr) {
    on_new_node(*change.after);
  } else if (change.after != nullptr) {
    on_changed_node(*change.before, *change.after);
  } else {
    // The change that released it may not have been seen. An unreadable record may have a lease.
    if (!nodes_.is_unreadable(change.id)) on_lease(*change.before, nullptr);
    record(about_node(change.id, runtime_.clock.wall_seconds(), "gone"));
    on_backing(change.id, driver::backing_node_of(*change.before), std::nullopt, *change.before);
    locked_nodes_.erase(change.id);
  }
}

// Only slots of static hosts have successive nodes.
std::string HistoryRecorder::take_slot(const Node& node) {
  if (!node.slot || !node.hostname) return {};
  const StaticSlot slot(node.provider.value_or(""), node.pool.value_or(""),
                        node.hostname.value_or(""), node.connection_port.text, *node.slot);
  std::string& latest = latest_in_[slot];
  if (latest >= node.id) return {};
  return std::exchange(latest, node.id);
}

void HistoryRecorder::on_new_node(const Node& node) {
  const std::string predecessor = take_slot(node);
  if (const auto lease = lease_on(node)) lease_ends_.try_emplace(lease->id, lease->expires);
  const auto time = first_seen(nodes_.ready(), node.state_time);
  if (!time) return;
  JournalEntry entry = about_node(node.id, *time, to_string(node.state));
  if (node.allocated_to) entry.related = {*node.allocated_to};
  entry.details = description(node);
  if (!predecessor.empty()) {
    entry.details += ", replaces node " + predecessor;
    JournalEntry replaced = about_node(predecessor, *time, "replaced");
    replaced.details = "by node " + node.id;
    record(replaced);
  }
  record(entry);
}

void HistoryRecorder::on_changed_node(const Node& before, const Node& after) {
  const double now = runtime_.clock.wall_seconds();
  if (before.allocated_to != after.allocated_to) {
    JournalEntry entry =
        about_node(after.id, now, after.allocated_to ? "allocated" : "deallocated");
    entry.related = {after.allocated_to ? *after.allocated_to : *before.allocated_to};
    record(entry);
  }
  if (before.driver_data != after.driver_data) {
    on_backing(after.id, driver::backing_node_of(before), driver::backing_node_of(after), after);
  }
  if (before.state != after.state) {
    JournalEntry entry = about_node(after.id, now, to_string(after.state));
    if (after.state == model::NodeState::hold) entry.details = after.comment.value_or("");
    record(entry);
  }
  on_lease(before, &after);
}

// A lease is recorded as an event of its request, which has the same id. Its nodes change one by
// one. `node_after` is nullptr if the node is gone.
void HistoryRecorder::on_lease(const Node& node_before, const Node* node_after) {
  const double now = runtime_.clock.wall_seconds();
  const auto before = lease_on(node_before);
  const auto after = node_after == nullptr ? std::nullopt : lease_on(*node_after);
  if (after) {
    const auto [known, is_new] = lease_ends_.try_emplace(after->id, after->expires);
    if (is_new || known->second != after->expires) {
      known->second = after->expires;
      JournalEntry entry = about_request(after->id, now, is_new ? "leased" : "renewed");
      const model::IdSet& held = nodes_.allocated_to(after->id);
      entry.related.assign(held.begin(), held.end());
      entry.details = length_of(*after, now);
      if (is_new) entry.details += " by " + after->holder;
      entry.details = model::failure_text(entry.details);  // the holder has any length
      record(entry);
    }
  }
  if (!before || (after && after->id == before->id)) return;
  JournalEntry entry = about_request(before->id, now, "released");
  entry.related = {node_before.id};
  entry.details =
      fmt::format("{}the node is {}", before->expires <= now ? "the lease has expired; " : "",
                  node_after == nullptr ? "gone" : to_string(node_after->state));
  record(entry);
  const auto is_leased = [this, &before](const std::string& id) {
    const Node* other = nodes_.find(id);
    const auto lease = other == nullptr ? std::nullopt : lease_on(*other);
    return lease && lease->id == before->id;
  };
  if (std::ranges::none_of(nodes_.allocated_to(before->id), is_leased))
    lease_ends_.erase(before->id);
}

// A node was placed on a backing node, or has left it: recorded for both.
void HistoryRecorder::on_backing(const std::string& id, const std::optional<std::string>& before,
                                 const std::optional<std::string>& after, const Node& node) {
  if (before == after) return;
  const double now = runtime_.clock.wall_seconds();
  if (before) {
    JournalEntry left = about_node(*before, now, "left");
    left.details = fmt::format("by node {}", id);
    record(left);
  }
  if (!after) return;
  JournalEntry on = about_node(id, now, "on");
  on.details = fmt::format("node {}, slot {}", *after, node.slot.value_or(0));
  on.facts = history::PlacedOn{*after};
  record(on);
  JournalEntry carries = about_node(*after, now, "carries");
  carries.details =
      fmt::format("node {}, slot {}: {}", id, node.slot.value_or(0), description(node));
  record(carries);
}

void HistoryRecorder::on_lock(const std::string& node_id) {
  const bool locked = nodes_.is_locked(node_id);
  if (locked == locked_nodes_.contains(node_id)) return;
  if (locked) {
    locked_nodes_.insert(node_id);
  } else {
    locked_nodes_.erase(node_id);
  }
  // Locks from before the start are not recorded.
  if (!nodes_.ready()) return;
  record(about_node(node_id, runtime_.clock.wall_seconds(), locked ? "locked" : "unlocked"));
}

// --- writing

void HistoryRecorder::record(const JournalEntry& entry) {
  if (lines_.size() > kMostWaiting) {
    drop(1, "events occur faster than they can be written");
    return;
  }
  lines_ += to_line(entry);
  wake_.set();
}

async::Task<> HistoryRecorder::run() {
  while (true) {
    co_await wake_.wait();
    co_await runtime_.clock.sleep_for(kWriteDelay);
    co_await write();
  }
}

async::Task<> HistoryRecorder::write() {
  if (lines_.empty()) co_return;
  const auto entries = static_cast<std::uint64_t>(std::ranges::count(lines_, '\n'));
  auto call = [journal = *journal_, lines = std::exchange(lines_, {})] {
    history::append(journal, lines);
  };
  std::string failure;
  try {
    co_await threads_.run("write the history", std::move(call));
  } catch (const std::system_error& error) {
    failure = error.what();
  }
  if (failure.empty()) {
    clear_problem();
  } else {
    drop(entries, failure);
  }
}

void HistoryRecorder::drop(std::uint64_t entries, const std::string& why) {
  dropped_ += entries;
  if (problem_.empty()) {
    log_.warning("Cannot write the history, dropping entries: {}", why);
  }
  if (problem_ == why) return;
  problem_ = why;
  problem_changed_.notify();
}

void HistoryRecorder::clear_problem() {
  if (problem_.empty()) return;
  log_.info("Writing the history again, {} entries were dropped",
            dropped_ - std::exchange(logged_dropped_, dropped_));
  problem_.clear();
  problem_changed_.notify();
}

}  // namespace nodepool::launcher
