#include "tests/simulation/harness/shares_auditor.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "coordination/path.h"
#include "driver/backing.h"
#include "model/paths.h"
#include "tests/simulation/harness/shares.h"

namespace nodepool::simulation {

namespace {

using coordination::WatchEvent;
using drivers::metastatic::Slot;
using model::Node;

// Seconds that the wall clock may have been set back since it was decided that a time was over.
constexpr double kMostSetBack = 300;

// Of what acts upon a decision of a moment ago.
constexpr double kSecondsToAct = 10;

}  // namespace

SharesAuditor::SharesAuditor(World& world)
    : world_(world),
      session_(world.server.open_session(
          [this](const std::vector<WatchEvent>& events) { committed(events); })) {}

SharesAuditor::~SharesAuditor() {
  world_.server.end_session(session_);
}

void SharesAuditor::configured(const Topology& topology) {
  std::set<std::string> present;
  const PoolSpec* pool = topology.shares_pool();
  for (const ShareSpec& share : pool == nullptr ? std::vector<ShareSpec>() : pool->shares) {
    present.insert(share.label);
    std::optional<std::int64_t> max_age;
    if (share.max_age > 0) max_age = share.max_age;
    const auto [entry, is_new] =
        rules_.try_emplace(share.label, Rules{.last = share,
                                              .last_max_servers = pool->max_servers,
                                              .grace_time = share.grace_time,
                                              .min_retention = share.min_retention,
                                              .least_max_age = max_age,
                                              .most_max_age = max_age,
                                              .slots = share.slots});
    if (is_new) continue;
    Rules& rules = entry->second;
    rules.has_changed |= rules.last != share || rules.last_max_servers != pool->max_servers;
    rules.grace_time = std::min(rules.grace_time, share.grace_time);
    rules.min_retention = std::min(rules.min_retention, share.min_retention);
    rules.slots = std::max(rules.slots, share.slots);
    if (max_age) rules.least_max_age = std::min(rules.least_max_age.value_or(*max_age), *max_age);
    if (!max_age) rules.most_max_age.reset();
    if (rules.most_max_age) rules.most_max_age = std::max(*rules.most_max_age, *max_age);
  }
  for (auto& [label, rules] : rules_) {
    rules.was_gone |= !present.contains(label);
    rules.has_changed |= rules.was_gone;
  }
}

bool SharesAuditor::launcher_acts() const {
  return world_.actor != nullptr && world_.actor->name().starts_with("launcher");
}

void SharesAuditor::committed(const std::vector<WatchEvent>& events) {
  if (rules_.empty()) return;
  for (const WatchEvent& event : events) {
    const std::string_view parent = coordination::parent_path(event.path);
    if (parent == model::kNodesRoot) look_at_node(event.path);
    if (parent == model::kRequestsRoot) look_at_request(event.path);
  }
  if (launcher_acts()) check_places();
}

void SharesAuditor::look_at_node(const std::string& path) {
  const std::string id(coordination::base_name(path));
  std::optional<Node> before;
  if (const auto known = backing_.find(id); known != backing_.end()) before = known->second;
  backing_.erase(id);
  shares_.erase(id);
  const coordination::memory::Tree& tree = world_.server.tree();
  std::optional<Node> after;
  try {
    if (tree.exists(path)) after = model::parse_node(id, tree.get(path));
  } catch (const model::RecordError&) {
    return;
  }
  for (auto& [label, nodes] : launched_) {
    // Its launcher goes on with it until it is told.
    if (nodes.erase(id) > 0 && !after && !launcher_acts()) ++removed_by_others_[label];
  }
  if (after && is_share(*after)) {
    if (after->state == model::NodeState::building) launched_[after->type.front()].insert(id);
    if (const auto place = drivers::metastatic::slot_of(*after)) shares_.emplace(id, *place);
  }
  const auto record = after ? backing_record(*after) : std::nullopt;
  if (record) {
    if (!before) world_.journal.count("backing node: taken");
    check_record(id, *record);
    if (before && launcher_acts()) check_arrivals(*before, *record);
    backing_.emplace(id, *std::move(after));
  } else if (before && launcher_acts() && after && after->state == model::NodeState::used) {
    check_release(*before, *backing_record(*before));
  } else if (before && launcher_acts()) {
    check_loss(*before);
  }
}

// Only its provider gives a backing node back, as long as it has its lock, which is no session's.
void SharesAuditor::check_loss(const Node& before) const {
  const coordination::memory::Tree& tree = world_.server.tree();
  const std::string root = model::node_lock_path(before.id);
  if (!tree.exists(root)) return;
  for (const std::string& name : tree.children(root)) {
    if (tree.get(coordination::join_path(root, name)).stat.ephemeral_owner != 0) continue;
    world_.journal.violation(fmt::format("backing node {} is taken from its provider", before.id));
  }
}

void SharesAuditor::check_record(const std::string& id, const BackingRecord& record) const {
  const Rules* rules = rules_of(record);
  if (rules != nullptr && record.slots > rules->slots) {
    world_.journal.violation(fmt::format("backing node {} has {} slots", id, record.slots));
  }
  for (const auto& [slot, tenant] : record.tenants) {
    if (slot < record.slots) continue;
    world_.journal.violation(fmt::format("backing node {} of {} slots has node {} on slot {}", id,
                                         record.slots, tenant.external_id, slot));
  }
}

void SharesAuditor::check_arrivals(const Node& before, const BackingRecord& after) const {
  const BackingRecord record = *backing_record(before);
  for (const auto& [slot, tenant] : after.tenants) {
    const auto known = record.tenants.find(slot);
    if (known != record.tenants.end() && known->second == tenant) continue;
    world_.journal.count("backing node: slot taken");
    if (known != record.tenants.end()) {
      world_.journal.violation(fmt::format("slot {} of backing node {} went from {} to {}", slot,
                                           before.id, known->second.external_id,
                                           tenant.external_id));
    }
    if (record.failed) {
      world_.journal.violation(fmt::format("backing node {} is retired and got a node", before.id));
    }
    check_age(before, record, tenant.external_id);
  }
}

// Who may have waited for it comes however old it is when it is there.
void SharesAuditor::check_age(const Node& before, const BackingRecord& record,
                              const std::string& tenant) const {
  const Rules* rules = rules_of(record);
  if (rules == nullptr || !rules->most_max_age) return;
  const coordination::memory::Tree& tree = world_.server.tree();
  const std::string path = model::node_path(tenant);
  if (!tree.exists(path)) return;
  const Node node = model::parse_node(tenant, tree.get(path));
  if (node.created_time.value_or(0) < before.state_time + kMostSetBack) return;
  const double age = world_.clock.wall_seconds() - record.launched;
  const double most = static_cast<double>(*rules->most_max_age) + kMostSetBack + kSecondsToAct;
  if (age <= most) return;
  world_.journal.violation(
      fmt::format("backing node {} of {} s got node {}", before.id, age, tenant));
}

void SharesAuditor::check_release(const Node& before, const BackingRecord& record) const {
  world_.journal.count("backing node: given back");
  if (!record.tenants.empty()) {
    world_.journal.violation(fmt::format("backing node {} was given back with {} node(s) on it",
                                         before.id, record.tenants.size()));
  }
  for (const auto& [node, place] : shares_) {
    if (place.backing_node != before.id) continue;
    world_.journal.violation(
        fmt::format("backing node {} was given back though node {} is on it", before.id, node));
  }
  const Rules* rules = rules_of(record);
  if (rules == nullptr || rules->was_gone || record.failed) return;
  const double later = world_.clock.wall_seconds() + kMostSetBack;
  const double age = later - record.launched;
  if (rules->least_max_age && age > static_cast<double>(*rules->least_max_age)) return;
  const bool is_due = later - record.used.value_or(0) > static_cast<double>(rules->grace_time) &&
                      age > static_cast<double>(rules->min_retention);
  if (is_due) return;
  world_.journal.violation(fmt::format("backing node {} of label {} was given back before its time",
                                       before.id, record.label));
}

// No two nodes stand on the same place. One that is being launched may still name that of an
// attempt which has failed, and which the backing node's record has free again.
void SharesAuditor::check_places() const {
  std::map<Slot, std::string> taken;
  for (const auto& [node, place] : shares_) {
    const bool is_launched = std::ranges::any_of(
        launched_, [&](const auto& of_label) { return of_label.second.contains(node); });
    if (is_launched) continue;
    const auto [entry, is_free] = taken.emplace(place, node);
    if (is_free) continue;
    world_.journal.violation(fmt::format("nodes {} and {} are both on {}", entry->second, node,
                                         drivers::metastatic::to_string(place)));
  }
}

void SharesAuditor::look_at_request(const std::string& path) {
  const std::string id(coordination::base_name(path));
  const bool was_known = requests_.erase(id) > 0;
  const coordination::memory::Tree& tree = world_.server.tree();
  if (!tree.exists(path)) return;
  std::optional<model::NodeRequest> request;
  try {
    request = model::parse_node_request(id, tree.get(path));
  } catch (const model::RecordError&) {
    return;
  }
  if (!is_backing_request(*request)) return;
  if (!was_known) {
    world_.journal.count("backing node: asked for");
    check_need(*request);
  }
  requests_.emplace(id, *std::move(request));
}

// A launcher asks for one more when those that it has asked for are not enough for the nodes that
// it launches; after a change of their pool nobody knows how many it counts upon: who launches the
// older ones has asked for them.
void SharesAuditor::check_need(const model::NodeRequest& request) const {
  const std::string label = driver::backing_purpose_of(request).value().label;
  const auto rules = rules_.find(label);
  if (rules == rules_.end() || rules->second.has_changed) return;
  const auto places =
      rules->second.slots * std::ranges::count_if(requests_, [&](const auto& entry) {
        const model::NodeRequest& other = entry.second;
        return other.state != model::RequestState::failed &&
               other.stat.ephemeral_owner == request.stat.ephemeral_owner &&
               driver::backing_purpose_of(other).value().label == label;
      });
  std::size_t need = 0;
  if (const auto found = launched_.find(label); found != launched_.end()) {
    need += found->second.size();
  }
  if (const auto found = removed_by_others_.find(label); found != removed_by_others_.end()) {
    need += found->second;
  }
  if (places == 0 || places < static_cast<std::int64_t>(need)) return;
  world_.journal.violation(
      fmt::format("{} asks for a backing node for {} node(s) with label {}, though {} places have "
                  "been asked for",
                  request.id, need, label, places));
}

const SharesAuditor::Rules* SharesAuditor::rules_of(const BackingRecord& record) const {
  const auto found = rules_.find(record.label);
  return found == rules_.end() ? nullptr : &found->second;
}

}  // namespace nodepool::simulation
