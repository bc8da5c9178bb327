#include "planning/request_queue.h"

#include <algorithm>
#include <utility>

namespace nodepool::planning {

namespace {

using Until = Decision::Until;

std::string id_of(const RequestQueue::ServiceKey& key) {
  return std::get<0>(key) + "-" + std::get<2>(key);
}

bool is_for_capacity(Until until) {
  return until == Until::capacity_is_free || until == Until::earlier_one_is_served;
}

// The subject of the cause of a decision.
std::string subject_of(const model::NodeRequest& request, const Decision& decision) {
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
void for_each_label(const RequestQueue::Shape& shape, Visit visit) {
  const std::string* last = nullptr;
  for (const std::string& label : shape.labels) {
    if (last == nullptr || *last != label) visit(label);
    last = &label;
  }
}

}  // namespace

RequestQueue::Shape::Shape(const model::NodeRequest& request)
    : labels(request.node_types),
      declined_by(request.declined_by),
      tenant(request.tenant_name.value_or("")),
      provider(request.provider.value_or("")),
      reuse(request.reuse),
      for_min_ready(request.requestor == kMinReadyRequestor) {
  std::ranges::sort(labels);
  std::ranges::sort(declined_by);
}

void RequestQueue::enqueue(const ServiceKey& key) {
  take_out(key);
  to_evaluate_.insert(key);
}

void RequestQueue::remove(const ServiceKey& key) {
  take_out(key);
  waiting_since_.erase(key);
}

void RequestQueue::take_out(const ServiceKey& key) {
  to_evaluate_.erase(key);
  leave_group(key);
  allow_passing(key);
}

void RequestQueue::allow_passing(const ServiceKey& key) {
  wake_all(find_in(by_cause_, Cause{Until::earlier_one_is_served, id_of(key)}));
}

// Requests behind `key` may overtake it only when it no longer waits for capacity, not each time it
// is evaluated: otherwise two groups could wake each other endlessly.
void RequestQueue::release_capacity_turn(const ServiceKey& key, bool still_waits) {
  const bool had_turn = std::exchange(last_capacity_waiter_, std::nullopt) == key;
  if (had_turn && !still_waits) allow_passing(key);
}

std::optional<RequestQueue::ServiceKey> RequestQueue::next() {
  const ServiceKey* best = to_evaluate_.empty() ? nullptr : &*to_evaluate_.begin();
  if (!awake_.empty() && (best == nullptr || awake_.begin()->first < *best)) {
    best = &awake_.begin()->first;
  }
  if (best == nullptr) return std::nullopt;
  ServiceKey key = *best;
  to_evaluate_.erase(key);
  const auto waiting = waiting_.find(key);
  last_capacity_waiter_.reset();
  if (waiting != waiting_.end() && is_for_capacity(waiting->second.cause.until))
    last_capacity_waiter_ = key;
  leave_group(key);
  return key;
}

void RequestQueue::wait(const ServiceKey& key, const model::NodeRequest& request,
                        const Decision& decision, Moment now) {
  release_capacity_turn(key, is_for_capacity(decision.until));
  if (decision.until == Until::nothing) return;
  leave_group(key);
  const auto group = groups_.try_emplace(Shape(request)).first;
  unindex(*group);
  // The creation time is the store server's, whose clock may differ from this machine's.
  const double age = std::max(now.wall - request.stat.created(), 0.0);
  const double since = waiting_since_.try_emplace(key, now.steady - age).first->second;
  Waiting waiting{group, {decision.until, subject_of(request, decision)}, since};
  group->second.keys.insert(key);
  ++group->second.causes[waiting.cause];
  if (is_for_capacity(decision.until)) join_capacity_queue(key, waiting);
  if (decision.until == Until::refusal_ends) ++refused_;
  waiting_.emplace(key, std::move(waiting));
  sleep(*group);
}

double RequestQueue::waited(const ServiceKey& key, double now) const {
  const auto since = waiting_since_.find(key);
  return since == waiting_since_.end() ? 0 : now - since->second;
}

void RequestQueue::leave_group(const ServiceKey& key) {
  auto entry = waiting_.extract(key);
  if (entry.empty()) return;
  const Waiting& waiting = entry.mapped();
  if (is_for_capacity(waiting.cause.until)) leave_capacity_queue(key, waiting);
  if (waiting.cause.until == Until::refusal_ends) --refused_;
  Group& group = waiting.group->second;
  const bool is_asleep = !group.awake;
  const bool was_first = *group.keys.begin() == key;
  if (is_asleep) unindex(*waiting.group);
  group.keys.erase(key);
  const auto cause = group.causes.find(waiting.cause);
  if (--cause->second == 0) group.causes.erase(cause);
  if (is_asleep && was_first && !group.keys.empty()) {
    wake(*waiting.group);  // the cause of the next one may be outdated
  } else if (is_asleep) {
    index(*waiting.group);
  }
  update_awake_key(*waiting.group);
  if (group.keys.empty()) groups_.erase(waiting.group);
}

// --- groups

void RequestQueue::index(Entry& entry) {
  if (entry.second.keys.empty()) return;
  for (const auto& [cause, count] : entry.second.causes) by_cause_[cause].insert(&entry);
  for_each_label(entry.first, [&](const std::string& label) { by_label_[label].insert(&entry); });
}

void RequestQueue::unindex(Entry& entry) {
  for (const auto& [cause, count] : entry.second.causes) erase_from(by_cause_, cause, &entry);
  for_each_label(entry.first,
                 [&](const std::string& label) { erase_from(by_label_, label, &entry); });
}

void RequestQueue::wake(Entry& entry) {
  unindex(entry);
  entry.second.awake = *entry.second.keys.begin();
  awake_.emplace(*entry.second.awake, &entry);
}

void RequestQueue::wake_all(std::set<Entry*>* entries) {
  if (entries == nullptr) return;
  const std::set<Entry*> woken = *entries;  // each leaves the index
  for (Entry* entry : woken) wake(*entry);
}

void RequestQueue::sleep(Entry& entry) {
  if (entry.second.awake) awake_.erase(*entry.second.awake);
  entry.second.awake.reset();
  index(entry);
}

// The key of an awake group is its first request, which may have changed.
void RequestQueue::update_awake_key(Entry& entry) {
  Group& group = entry.second;
  if (!group.awake) return;
  awake_.erase(*group.awake);
  group.awake.reset();
  if (group.keys.empty()) return;
  group.awake = *group.keys.begin();
  awake_.emplace(*group.awake, &entry);
}

// --- events

// Another pool may be able to serve what exceeds the limit of its tenant here.
void RequestQueue::registry_has_changed() {
  wake_all(find_in(by_cause_, Cause{Until::registry_changes, {}}));
  wake_all(find_in(by_cause_, Cause{Until::tenant_limit_is_raised, {}}));
}

void RequestQueue::launch_has_ended() {
  wake_all(find_in(by_cause_, Cause{Until::launch_ends, {}}));
}

void RequestQueue::refusal_has_ended() {
  wake_all(find_in(by_cause_, Cause{Until::refusal_ends, {}}));
}

void RequestQueue::label_is_free(std::string_view label) {
  wake_all(find_in(by_label_, label));
}

// The nodes of a label may need less than before.
void RequestQueue::provider_has_answered() {
  wake_all(find_in(by_cause_, Cause{Until::quota_is_known, {}}));
  wake_all(find_in(by_cause_, Cause{Until::tenant_limit_is_raised, {}}));
}

void RequestQueue::capacity_has_grown() {
  wake_all(find_in(by_cause_, Cause{Until::capacity_is_free, {}}));
}

void RequestQueue::tenant_takes_less(std::string_view tenant) {
  wake_all(find_in(by_cause_, Cause{Until::tenant_takes_less, std::string(tenant)}));
}

void RequestQueue::limits_may_allow_more() {
  capacity_has_grown();
  while (true) {
    const auto next = by_cause_.lower_bound(Cause{Until::tenant_takes_less, {}});
    if (next == by_cause_.end() || next->first.until != Until::tenant_takes_less) return;
    wake_all(&next->second);
  }
}

// --- capacity

void RequestQueue::join_capacity_queue(const ServiceKey& key, const Waiting& waiting) {
  waiting_by_age_.emplace(waiting.since, key);
}

void RequestQueue::leave_capacity_queue(const ServiceKey& key, const Waiting& waiting) {
  if (waiting_by_age_.erase({waiting.since, key}) > 0) return;
  starved_.erase(key);
  for_each_label(waiting.group->first,
                 [&](const std::string& label) { erase_from(starved_by_label_, label, key); });
}

void RequestQueue::advance_to(double now) {
  while (!waiting_by_age_.empty() && now - waiting_by_age_.begin()->first >= kStarvationThreshold) {
    const ServiceKey& key = waiting_by_age_.begin()->second;
    for_each_label(waiting_.at(key).group->first,
                   [&](const std::string& label) { starved_by_label_[label].insert(key); });
    starved_.insert(key);
    waiting_by_age_.erase(waiting_by_age_.begin());
  }
}

std::optional<RequestQueue::ServiceKey> RequestQueue::first_starved(
    const ServiceKey& key, const std::set<std::string, std::less<>>* labels) const {
  const ServiceKey* first = nullptr;
  const auto consider = [&](const std::set<ServiceKey>& starved) {
    const ServiceKey& candidate = *starved.begin();
    if (candidate < key && (first == nullptr || candidate < *first)) first = &candidate;
  };
  if (labels == nullptr) {
    if (!starved_.empty()) consider(starved_);
  } else {
    for (const std::string& label : *labels) {
      if (const auto* starved = find_in(starved_by_label_, label)) consider(*starved);
    }
  }
  return first == nullptr ? std::nullopt : std::optional(*first);
}

}  // namespace nodepool::planning
