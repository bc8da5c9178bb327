#include "api/lease_index.h"

#include <algorithm>
#include <utility>

namespace nodepool::api {

using model::Lease;
using model::LeaseRequest;
using model::Node;

namespace {

// The lease of which the node is part.
std::optional<Lease> active_lease_of(const Node* node) {
  if (node == nullptr || node->state != model::NodeState::in_use) return std::nullopt;
  return lease_of(*node);
}

}  // namespace

LeaseIndex::LeaseIndex(model::RequestTable& requests, model::NodeTable& nodes)
    : node_table_(nodes) {
  for (const auto& [id, request] : requests.all()) on_request({id, nullptr, &request});
  for (const auto& [id, node] : nodes.all()) on_node({id, nullptr, &node});
  requests_ = requests.observe([this](const auto& change) { on_request(change); });
  nodes_ = nodes.observe([this](const auto& change) { on_node(change); });
}

const LeaseIndex::Entry* LeaseIndex::find(std::string_view id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : &found->second;
}

const model::IdSet& LeaseIndex::of_owner(std::string_view owner) const {
  static const model::IdSet kNone;
  const auto found = by_owner_.find(owner);
  return found == by_owner_.end() ? kNone : found->second;
}

std::size_t LeaseIndex::nodes_of(std::string_view owner) const {
  std::size_t count = allocated_of_.of(std::string(owner));
  for (const std::string& id : of_owner(owner)) {
    const Entry& entry = *find(id);
    count += std::max(entry.requested, entry.nodes.size());
  }
  const auto held = held_.find(owner);
  return held == held_.end() ? count : count + held->second.size();
}

std::optional<std::string> LeaseIndex::id_of_key(std::string_view key) const {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return std::nullopt;
  return found->second;
}

// A subscription to an id. The last one of an id removes its entry: clients may ask for any id.
class LeaseIndex::Watch {
 public:
  Watch(LeaseIndex& lease_index, std::string id, std::function<void()> observer)
      : lease_index_(lease_index),
        id_(std::move(id)),
        subscription_(lease_index.watched_[id_].subscribe(std::move(observer))) {}
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() {
    subscription_.reset();
    lease_index_.unwatch(id_);
  }

 private:
  LeaseIndex& lease_index_;
  std::string id_;
  coordination::Subscription subscription_;
};

coordination::Subscription LeaseIndex::observe(const std::string& id,
                                               std::function<void()> observer) {
  return std::make_shared<Watch>(*this, id, std::move(observer));
}

void LeaseIndex::unwatch(const std::string& id) {
  const auto watched = watched_.find(id);
  if (watched != watched_.end() && watched->second.empty()) watched_.erase(watched);
}

void LeaseIndex::set_owner(const std::string& id, Entry& entry, const std::string& owner) {
  if (entry.owner != owner) remove_of_owner(id, entry.owner);
  entry.owner = owner;
  by_owner_[owner].insert(id);
}

void LeaseIndex::remove_of_owner(const std::string& id, const std::string& owner) {
  const auto found = by_owner_.find(owner);
  if (found == by_owner_.end()) return;
  found->second.erase(id);
  if (found->second.empty()) by_owner_.erase(found);
}

void LeaseIndex::on_request(const model::RequestTable::Change& change) {
  const std::optional<LeaseRequest> lease_request =
      change.after == nullptr ? std::nullopt : lease_request_of(*change.after);
  const std::optional<LeaseRequest> before =
      change.before == nullptr ? std::nullopt : lease_request_of(*change.before);
  if (!lease_request && !before) return;
  const std::string id = change.id;
  if (change.after == nullptr) keep_allocated(id, before->owner);
  Entry& entry = entries_[id];
  entry.lease_request = lease_request;
  entry.requested = 0;
  if (lease_request) {
    entry.is_failed = change.after->state == model::RequestState::failed;
    if (!entry.is_failed) entry.requested = change.after->node_types.size();
    entry.tenant = change.after->tenant_name.value_or("");
    entry.key = lease_request->key;
    if (!lease_request->key.empty()) by_key_[lease_request->key] = id;
    set_owner(id, entry, lease_request->owner);
  }
  changed(id);
}

void LeaseIndex::on_hold(const model::NodeTable::Change& change) {
  const auto hold = [](const Node* node) {
    return node == nullptr ? std::nullopt : model::hold_of(*node);
  };
  if (const auto before = hold(change.before)) {
    const auto found = held_.find(before->owner);
    found->second.erase(change.id);
    if (found->second.empty()) held_.erase(found);
  }
  if (const auto after = hold(change.after)) held_[after->owner].insert(change.id);
}

void LeaseIndex::keep_allocated(const std::string& request_id, const std::string& owner) {
  for (const std::string& id : node_table_.allocated_to(request_id)) {
    const Node* node = node_table_.find(id);
    if (node == nullptr || node->state != model::NodeState::ready) continue;
    if (allocated_.emplace(id, owner).second) allocated_of_.add(owner, 1);
  }
}

void LeaseIndex::on_allocated(const model::NodeTable::Change& change) {
  const auto found = allocated_.find(change.id);
  if (found == allocated_.end()) return;
  const bool is_unchanged = change.before != nullptr && change.after != nullptr &&
                            change.after->state == model::NodeState::ready &&
                            change.after->allocated_to == change.before->allocated_to;
  if (is_unchanged) return;
  allocated_of_.remove(found->second, 1);
  allocated_.erase(found);
}

void LeaseIndex::on_node(const model::NodeTable::Change& change) {
  on_allocated(change);
  on_hold(change);
  const std::optional<Lease> before = active_lease_of(change.before);
  const std::optional<Lease> after = active_lease_of(change.after);
  if (before && (!after || after->id != before->id)) {
    Entry& entry = entries_[before->id];
    entry.nodes.erase(change.id);
    if (entry.nodes.empty()) entry.lease.reset();
    changed(before->id);
  }
  if (!after) return;
  Entry& entry = entries_[after->id];
  entry.lease = after;
  entry.nodes.insert(change.id);
  if (entry.tenant.empty()) entry.tenant = change.after->tenant_name.value_or("");
  entry.key = after->key;
  if (!after->key.empty()) by_key_[after->key] = after->id;
  set_owner(after->id, entry, after->owner);
  changed(after->id);
}

void LeaseIndex::changed(const std::string& id) {
  const auto found = entries_.find(id);
  if (found != entries_.end() && !found->second.lease_request && !found->second.lease) {
    remove_of_owner(id, found->second.owner);
    by_key_.erase(found->second.key);
    entries_.erase(found);
  }
  const auto watched = watched_.find(id);
  if (watched != watched_.end()) watched->second.notify();
  changes_.notify(id);
}

}  // namespace nodepool::api
