#include "planning/waiting_line.h"

#include <algorithm>
#include <utility>

namespace nodepool::planning {

namespace {

using Until = Decision::Until;

// A request that waits for room longer than this, in seconds, is no longer passed by later ones
// that need less of it: large requests would never be served otherwise.
constexpr double kPassingTime = 60;

constexpr double kMillisecondsPerSecond = 1000;

std::string id_of(const WaitingLine::Order& order) {
  return std::get<0>(order) + "-" + std::get<2>(order);
}

bool is_for_room(Until until) {
  return until == Until::there_is_room || until == Until::earlier_one_is_served;
}

// The key of by_cause_ for what a decision says.
std::string whose(const model::NodeRequest& request, const Decision& decision) {
  switch (decision.until) {
    case Until::tenant_takes_less:
      return request.tenant_name.value_or("");
    case Until::earlier_one_is_served:
      return decision.reason.subject;
    default:
      return {};
  }
}

// Entries of a multi-valued index; no set is empty.
template <typename Index, typename Key, typename Value>
void erase_from(Index& index, const Key& key, const Value& value) {
  const auto found = index.find(key);
  if (found == index.end()) return;
  found->second.erase(value);
  if (found->second.empty()) index.erase(found);
}

template <typename Index, typename Key>
auto* find_in(Index& index, const Key& key) {
  const auto found = index.find(key);
  return found == index.end() ? nullptr : &found->second;
}

// The labels of a shape are sorted: calls `visit` with each of them once.
template <typename Visit>
void for_each_label(const WaitingLine::Shape& shape, Visit visit) {
  const std::string* last = nullptr;
  for (const std::string& label : shape.labels) {
    if (last == nullptr || *last != label) visit(label);
    last = &label;
  }
}

}  // namespace

WaitingLine::Shape::Shape(const model::NodeRequest& request)
    : labels(request.node_types),
      declined_by(request.declined_by),
      tenant(request.tenant_name.value_or("")),
      provider(request.provider.value_or("")),
      reuse(request.reuse),
      for_min_ready(request.requestor == kMinReadyRequestor) {
  std::ranges::sort(labels);
  std::ranges::sort(declined_by);
}

void WaitingLine::look_at(const Order& order) {
  remove(order);
  to_look_at_.insert(order);
}

void WaitingLine::remove(const Order& order) {
  to_look_at_.erase(order);
  leave_line(order);
  let_pass(order);
}

void WaitingLine::let_pass(const Order& order) {
  wake_all(find_in(by_cause_, Cause{Until::earlier_one_is_served, id_of(order)}));
}

// Those behind a request may pass when it ceases to wait for room, and not each time that it is
// looked at and waits for something else: what the others of a line wait for may be long past, and
// two lines would wake each other for ever.
void WaitingLine::settle_place(const Order& order, bool is_kept) {
  const bool had_place = std::exchange(holds_place_, std::nullopt) == order;
  if (had_place && !is_kept) let_pass(order);
}

std::optional<WaitingLine::Order> WaitingLine::next() {
  const Order* best = to_look_at_.empty() ? nullptr : &*to_look_at_.begin();
  if (!awake_.empty() && (best == nullptr || awake_.begin()->first < *best)) {
    best = &awake_.begin()->first;
  }
  if (best == nullptr) return std::nullopt;
  Order order = *best;
  to_look_at_.erase(order);
  const auto waiting = waiting_.find(order);
  holds_place_.reset();
  if (waiting != waiting_.end() && is_for_room(waiting->second.cause.until)) holds_place_ = order;
  leave_line(order);
  return order;
}

void WaitingLine::wait(const Order& order, const model::NodeRequest& request,
                       const Decision& decision) {
  settle_place(order, is_for_room(decision.until));
  if (decision.until == Until::nothing) return;
  leave_line(order);
  const auto line = lines_.try_emplace(Shape(request)).first;
  unindex(*line);
  Waiting waiting{line,
                  {decision.until, whose(request, decision)},
                  static_cast<double>(request.stat.ctime) / kMillisecondsPerSecond};
  line->second.orders.insert(order);
  ++line->second.causes[waiting.cause];
  if (is_for_room(decision.until)) join_room_line(order, waiting);
  waiting_.emplace(order, std::move(waiting));
  sleep(*line);
}

void WaitingLine::leave_line(const Order& order) {
  auto entry = waiting_.extract(order);
  if (entry.empty()) return;
  const Waiting& waiting = entry.mapped();
  if (is_for_room(waiting.cause.until)) leave_room_line(order, waiting);
  Line& line = waiting.line->second;
  const bool is_asleep = !line.awake;
  const bool was_first = *line.orders.begin() == order;
  if (is_asleep) unindex(*waiting.line);
  line.orders.erase(order);
  const auto cause = line.causes.find(waiting.cause);
  if (--cause->second == 0) line.causes.erase(cause);
  if (is_asleep && was_first && !line.orders.empty()) {
    wake(*waiting.line);  // what the next one waited for, when it was looked at, may be long past
  } else if (is_asleep) {
    index(*waiting.line);
  }
  keep_place(*waiting.line);
  if (line.orders.empty()) lines_.erase(waiting.line);
}

// --- who sleeps

void WaitingLine::index(Entry& entry) {
  if (entry.second.orders.empty()) return;
  for (const auto& [cause, count] : entry.second.causes) by_cause_[cause].insert(&entry);
  for_each_label(entry.first, [&](const std::string& label) { by_label_[label].insert(&entry); });
}

void WaitingLine::unindex(Entry& entry) {
  for (const auto& [cause, count] : entry.second.causes) erase_from(by_cause_, cause, &entry);
  for_each_label(entry.first,
                 [&](const std::string& label) { erase_from(by_label_, label, &entry); });
}

void WaitingLine::wake(Entry& entry) {
  unindex(entry);
  entry.second.awake = *entry.second.orders.begin();
  awake_.emplace(*entry.second.awake, &entry);
}

void WaitingLine::wake_all(std::set<Entry*>* entries) {
  if (entries == nullptr) return;
  const std::set<Entry*> woken = *entries;  // each leaves the index
  for (Entry* entry : woken) wake(*entry);
}

void WaitingLine::sleep(Entry& entry) {
  if (entry.second.awake) awake_.erase(*entry.second.awake);
  entry.second.awake.reset();
  index(entry);
}

// A line that is awake is found by its first request, which may have become another one.
void WaitingLine::keep_place(Entry& entry) {
  Line& line = entry.second;
  if (!line.awake) return;
  awake_.erase(*line.awake);
  line.awake.reset();
  if (line.orders.empty()) return;
  line.awake = *line.orders.begin();
  awake_.emplace(*line.awake, &entry);
}

// --- what wakes them

void WaitingLine::registry_has_changed() {
  wake_all(find_in(by_cause_, Cause{Until::registry_changes, {}}));
}

void WaitingLine::launch_has_ended() {
  wake_all(find_in(by_cause_, Cause{Until::launch_ends, {}}));
}

void WaitingLine::label_is_free(std::string_view label) {
  wake_all(find_in(by_label_, label));
}

void WaitingLine::provider_has_answered() {
  wake_all(find_in(by_cause_, Cause{Until::quota_is_known, {}}));
}

void WaitingLine::there_is_more_room() {
  wake_all(find_in(by_cause_, Cause{Until::there_is_room, {}}));
}

void WaitingLine::tenant_takes_less(std::string_view tenant) {
  wake_all(find_in(by_cause_, Cause{Until::tenant_takes_less, std::string(tenant)}));
}

void WaitingLine::limits_may_allow_more() {
  there_is_more_room();
  while (true) {
    const auto next = by_cause_.lower_bound(Cause{Until::tenant_takes_less, {}});
    if (next == by_cause_.end() || next->first.until != Until::tenant_takes_less) return;
    wake_all(&next->second);
  }
}

// --- who waits for room

void WaitingLine::join_room_line(const Order& order, const Waiting& waiting) {
  young_.emplace(waiting.since, order);
}

void WaitingLine::leave_room_line(const Order& order, const Waiting& waiting) {
  if (young_.erase({waiting.since, order}) > 0) return;
  patient_.erase(order);
  for_each_label(waiting.line->first,
                 [&](const std::string& label) { erase_from(patient_by_label_, label, order); });
}

void WaitingLine::let_time_pass(double now) {
  while (!young_.empty() && now - young_.begin()->first >= kPassingTime) {
    const Order& order = young_.begin()->second;
    for_each_label(waiting_.at(order).line->first,
                   [&](const std::string& label) { patient_by_label_[label].insert(order); });
    patient_.insert(order);
    young_.erase(young_.begin());
  }
}

std::optional<WaitingLine::Order> WaitingLine::first_patient(
    const Order& order, double now, const std::set<std::string, std::less<>>* labels) {
  let_time_pass(now);
  const Order* first = nullptr;
  const auto consider = [&](const std::set<Order>& patient) {
    const Order& candidate = *patient.begin();
    if (candidate < order && (first == nullptr || candidate < *first)) first = &candidate;
  };
  if (labels == nullptr) {
    if (!patient_.empty()) consider(patient_);
  } else {
    for (const std::string& label : *labels) {
      if (const auto* patient = find_in(patient_by_label_, label)) consider(*patient);
    }
  }
  return first == nullptr ? std::nullopt : std::optional(*first);
}

}  // namespace nodepool::planning
