#include "tests/simulation/harness/auditor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "coordination/lock.h"
#include "coordination/path.h"
#include "driver/resources.h"
#include "model/lease.h"
#include "model/paths.h"
#include "planning/decision.h"
#include "tests/simulation/harness/shares.h"

namespace nodepool::simulation {

namespace {

using coordination::WatchEvent;
using model::Node;
using model::NodeRequest;
using model::NodeState;
using model::RequestState;

bool is_record(std::string_view path, std::string_view root) {
  return coordination::parent_path(path) == root;
}

bool is_contender(std::string_view path) {
  return !coordination::contender_sequence(coordination::base_name(path)).empty();
}

// What a launcher must carry over when it writes a node. For a backing node it is the requestor.
auto carried(const Node& node) {
  return std::tie(node.comment, node.hold_job, node.hold_expiration, node.unknown, node.provider,
                  node.pool, node.hostname, node.created_time);
}

bool is_carried_over(const Node& before, const Node& after) {
  const bool is_own = backing_record(before) || backing_record(after);
  return carried(before) == carried(after) && (is_own || before.user_data == after.user_data);
}

auto carried(const NodeRequest& request) {
  return std::tie(request.node_types, request.reuse, request.requestor, request.requestor_data,
                  request.provider, request.relative_priority, request.event_id,
                  request.created_time, request.tenant_name, request.unknown);
}

// The record at `path`, or nothing if it is not there or cannot be understood.
template <typename Parse>
auto read(const coordination::memory::Tree& tree, const std::string& path, Parse parse)
    -> std::optional<decltype(parse(std::string(), coordination::Entry()))> {
  if (!tree.exists(path)) return std::nullopt;
  try {
    return parse(std::string(coordination::base_name(path)), tree.get(path));
  } catch (const model::RecordError&) {
    return std::nullopt;
  }
}

template <typename Record>
void replace(std::map<std::string, Record>& records, std::map<std::string, Record>& before,
             const std::string& path, std::optional<Record> record) {
  const std::string id(coordination::base_name(path));
  const auto found = records.find(id);
  if (found != records.end()) {
    before.try_emplace(id, found->second);
    records.erase(found);
  }
  if (record) records.emplace(id, std::move(*record));
}

}  // namespace

Auditor::Auditor(World& world, const Holds& holds, const KnownLimits& limits)
    : world_(world),
      holds_(holds),
      limits_(limits),
      session_(world.server.open_session(
          [this](const std::vector<WatchEvent>& events) { committed(events); })) {}

Auditor::~Auditor() {
  world_.server.end_session(session_);
}

bool Auditor::launcher_acts() const {
  return world_.actor != nullptr && world_.actor->name().starts_with("launcher");
}

void Auditor::violation(std::string_view text) {
  world_.journal.violation(text);
}

void Auditor::committed(const std::vector<WatchEvent>& events) {
  ++transactions_;
  nodes_before_.clear();
  requests_before_.clear();
  contenders_removed_.clear();
  contenders_added_.clear();
  for (const WatchEvent& event : events) refresh(event);
  for (const WatchEvent& event : events) note(event);
  check_launches();
  for (const auto& [id, before] : requests_before_) {
    const auto after = requests_.find(id);
    if (after != requests_.end()) {
      check_request(before, after->second);
    } else if (launcher_acts() && before.requestor != planning::kMinReadyRequestor &&
               !is_own_backing_request(before) &&
               !world_.server.tree().exists(model::request_path(id))) {
      violation(fmt::format("a launcher removed request {}", id));
    }
  }
  for (const auto& [id, before] : nodes_before_) {
    const auto after = nodes_.find(id);
    check_node(before, after == nodes_.end() ? nullptr : &after->second);
  }
  for (const WatchEvent& event : events) {
    if (event.kind == WatchEvent::Kind::removed) check_contender_removed(event.path);
  }
}

void Auditor::refresh(const WatchEvent& event) {
  const coordination::memory::Tree& tree = world_.server.tree();
  if (is_record(event.path, model::kNodesRoot)) {
    replace(nodes_, nodes_before_, event.path, read(tree, event.path, model::parse_node));
    learn_about(std::string(coordination::base_name(event.path)));
  } else if (is_record(event.path, model::kRequestsRoot)) {
    replace(requests_, requests_before_, event.path,
            read(tree, event.path, model::parse_node_request));
  } else if (is_contender(event.path)) {
    refresh_contender(event);
  }
}

void Auditor::learn_about(const std::string& id) {
  const auto node = nodes_.find(id);
  if (node == nodes_.end()) {
    launched_for_.erase(id);
    return;
  }
  if (!node->second.allocated_to) launched_for_.erase(id);  // it may serve another tenant next
  if (node->second.state != NodeState::init || !node->second.tenant_name) return;
  launched_for_.try_emplace(id, *node->second.tenant_name);
}

void Auditor::refresh_contender(const WatchEvent& event) {
  if (const auto stat = world_.server.tree().exists(event.path)) {
    if (contenders_.emplace(event.path, stat->ephemeral_owner).second) {
      contenders_added_.insert(event.path);
    }
  } else if (auto removed = contenders_.extract(event.path)) {
    if (contenders_added_.erase(event.path) == 0) contenders_removed_.insert(std::move(removed));
  }
}

void Auditor::note(const WatchEvent& event) {
  const std::string actor = world_.actor == nullptr ? "-" : world_.actor->name();
  const std::string id(coordination::base_name(event.path));
  std::string detail;
  if (event.kind == WatchEvent::Kind::removed) {
    detail = "removed";
  } else if (const auto node = nodes_.find(id);
             is_record(event.path, model::kNodesRoot) && node != nodes_.end()) {
    detail = fmt::format("{} of {} {} {}/{} [{}] for {}", to_string(node->second.state),
                         node->second.provider.value_or(""), node->second.pool.value_or(""),
                         node->second.hostname.value_or(node->second.external_id_text()),
                         node->second.slot.value_or(0), fmt::join(node->second.type, ","),
                         node->second.allocated_to.value_or("nobody"));
  } else if (const auto request = requests_.find(id);
             is_record(event.path, model::kRequestsRoot) && request != requests_.end()) {
    detail = fmt::format("{} [{}] -> [{}]", to_string(request->second.state),
                         fmt::join(request->second.node_types, ","),
                         fmt::join(request->second.nodes, ","));
  } else {
    detail = event.kind == WatchEvent::Kind::created ? "created" : "changed";
  }
  world_.journal.note(actor, event.path + " " + detail);
}

// --- requests

bool Auditor::is_own_backing_request(const NodeRequest& request) const {
  return is_backing_request(request) && request.stat.ephemeral_owner == world_.actor->session();
}

void Auditor::check_request(const NodeRequest& before, const NodeRequest& after) {
  if (before.state != after.state) {
    world_.journal.count(
        fmt::format("request: {} -> {}", to_string(before.state), to_string(after.state)));
  }
  if (!launcher_acts()) return;
  const std::string& id = after.id;
  if (carried(before) != carried(after)) {
    violation(fmt::format("a launcher changed what is the requestor's in request {}", id));
  }
  if (before.state == RequestState::fulfilled || before.state == RequestState::failed) {
    violation(
        fmt::format("a launcher wrote request {}, which was {}", id, to_string(before.state)));
  }
  for (const std::string& pool : before.declined_by) {
    if (!after.declined(pool)) violation(fmt::format("request {} lost a pool that declined", id));
  }
  if (after.state == RequestState::fulfilled) {
    check_fulfilled(after);
  } else if (!after.nodes.empty()) {
    violation(fmt::format("request {} is {} and has nodes", id, to_string(after.state)));
  }
}

void Auditor::check_fulfilled(const NodeRequest& request) {
  if (request.nodes.size() != request.node_types.size()) {
    violation(fmt::format("request {} has {} nodes for {} labels", request.id, request.nodes.size(),
                          request.node_types.size()));
    return;
  }
  for (std::size_t i = 0; i < request.nodes.size(); ++i) {
    const std::string& id = request.nodes[i];
    const auto found = nodes_.find(id);
    if (found == nodes_.end()) {
      violation(fmt::format("request {} was given node {}, which is gone", request.id, id));
      continue;
    }
    const Node& node = found->second;
    // Another contender of the same session may stand in line for a moment, but not this one.
    if (contenders_.contains(lock_holder_before(id).path)) {
      violation(fmt::format("node {} was handed out locked by its launcher", id));
    }
    if (node.state != NodeState::ready || node.allocated_to != request.id) {
      violation(fmt::format("request {} was given node {}, which is {} for {}", request.id, id,
                            to_string(node.state), node.allocated_to.value_or("nobody")));
    }
    if (!node.has_label(request.node_types[i])) {
      violation(fmt::format("request {} was given node {} for label {}", request.id, id,
                            request.node_types[i]));
    }
    if (std::ranges::count(request.nodes, id) > 1) {
      violation(fmt::format("request {} was given node {} twice", request.id, id));
    }
  }
}

// --- limits

void Auditor::check_launches() {
  if (!launcher_acts()) return;
  std::vector<const Node*> launched;
  for (const auto& [id, before] : nodes_before_) {
    const auto after = nodes_.find(id);
    if (before.state == NodeState::init && after != nodes_.end() &&
        after->second.state == NodeState::building) {
      launched.push_back(&after->second);
    }
  }
  for (const Node* node : launched) check_limits(*node, launched.back()->id);
}

// Of launchers that decide at the same moment, the one with the later records has to give way: so
// records after `last` are not counted.
void Auditor::check_limits(const Node& launched, const std::string& last) {
  const KnownLimits::Launcher launcher = world_.actor->number();
  const std::string provider = launched.provider.value_or("");
  const std::string pool = launched.pool.value_or("");
  const auto tenant = launched_for_.find(launched.id);
  driver::Resources of_provider;
  driver::Resources of_pool;
  driver::Resources of_tenant;
  for (const auto& [id, node] : nodes_) {
    if (id > last) break;
    if (node.state == NodeState::init) continue;
    const driver::Resources taken =
        driver::Resources::parse(node.resources).value_or(driver::Resources());
    const auto its_tenant = launched_for_.find(id);
    if (tenant != launched_for_.end() && its_tenant != launched_for_.end() &&
        tenant->second == its_tenant->second) {
      of_tenant += taken;
    }
    if (node.provider != provider) continue;
    of_provider += taken;
    if (node.pool.value_or("") == pool) of_pool += taken;
  }
  const auto check = [&](const std::string& whose, const driver::Limits& limits,
                         const driver::Resources& used) {
    if (const auto over = excess(limits, used, {})) {
      violation(fmt::format("node {} is launched beyond the limit of {}: {}", launched.id, whose,
                            to_string(*over)));
    }
  };
  check("pool " + pool, limits_.of_pool(launcher, provider, pool), of_pool);
  if (!limits_.ignores_limits_of(launcher, provider)) {
    check("provider " + provider, limits_.of_provider(launcher, provider), of_provider);
  }
  if (tenant != launched_for_.end()) {
    check("tenant " + tenant->second, limits_.of_tenant(launcher, tenant->second), of_tenant);
  }
}

// --- nodes

void Auditor::look_for_lowest(const std::map<std::string, std::int64_t>& contenders,
                              const std::string& id, bool also_added, LockHolder& lowest) const {
  const std::string root = model::node_lock_path(id) + "/";
  for (auto it = contenders.lower_bound(root);
       it != contenders.end() && it->first.starts_with(root); ++it) {
    const auto& [path, session] = *it;
    if (!also_added && contenders_added_.contains(path)) continue;
    const bool is_lower = lowest.path.empty() || coordination::contender_sequence(path) <
                                                     coordination::contender_sequence(lowest.path);
    if (is_lower) lowest = {path, session};
  }
}

Auditor::LockHolder Auditor::lock_holder_before(const std::string& id) const {
  LockHolder lowest;
  look_for_lowest(contenders_, id, /*also_added=*/false, lowest);
  look_for_lowest(contenders_removed_, id, /*also_added=*/false, lowest);
  return lowest;
}

Auditor::LockHolder Auditor::lock_holder_now(const std::string& id) const {
  LockHolder lowest;
  look_for_lowest(contenders_, id, /*also_added=*/true, lowest);
  return lowest;
}

void Auditor::check_node(const Node& before, const Node* after) {
  const std::string to = after == nullptr ? "gone" : std::string(to_string(after->state));
  if (after == nullptr || before.state != after->state) {
    world_.journal.count(fmt::format("node: {} -> {}", to_string(before.state), to));
  }
  if (!launcher_acts()) return;
  const std::string& id = before.id;
  if (const Holds::Hold* hold = holds_.holder(id)) {
    violation(fmt::format("a launcher wrote node {} ({} -> {}), which {} holds", id,
                          to_string(before.state), to, hold->holder));
  }
  const std::int64_t owner = lock_holder_before(id).session;
  const bool is_of_another_session = owner > 0 && owner != world_.actor->session();
  if (after != nullptr && is_of_another_session) {
    violation(fmt::format("a launcher wrote node {} ({} -> {}), which session {} had locked", id,
                          to_string(before.state), to, owner));
  }
  if (after == nullptr) {
    const bool was_never_begun = before.state == NodeState::init;
    if (before.state != NodeState::deleting && before.state != NodeState::deleted &&
        !was_never_begun) {
      violation(
          fmt::format("a launcher removed node {}, which was {}", id, to_string(before.state)));
    }
    return;
  }
  if (!is_carried_over(before, *after)) {
    violation(fmt::format("a launcher changed what it must carry over in node {}", id));
  }
  if (before.allocated_to != after->allocated_to) check_allocation(before, *after);
  if (before.state != after->state && before.allocated_to && before.state == NodeState::ready &&
      requests_.contains(*before.allocated_to)) {
    violation(fmt::format("a launcher made node {} {} though it was given to request {}", id, to,
                          *before.allocated_to));
  }
}

// A request that has been answered keeps its nodes; one that is put back does not.
void Auditor::check_deallocation(const Node& before) {
  const auto request = requests_.find(*before.allocated_to);
  if (request == requests_.end() || request->second.state != RequestState::fulfilled) return;
  const std::vector<std::string>& nodes = request->second.nodes;
  if (std::ranges::find(nodes, before.id) == nodes.end()) return;  // launched in vain
  violation(fmt::format("node {} was taken from request {}, which is fulfilled", before.id,
                        *before.allocated_to));
}

// Either with the fulfilment, or when the request becomes pending; then the launcher keeps the
// node's lock.
void Auditor::check_allocation(const Node& before, const Node& after) {
  const std::string& id = before.id;
  if (!after.allocated_to) return check_deallocation(before);
  if (before.allocated_to) {
    violation(fmt::format("node {} went from request {} to request {}", id, *before.allocated_to,
                          *after.allocated_to));
  }
  if (lock_holder_before(id).session != world_.actor->session()) {
    violation(fmt::format("node {} was allocated without its lock", id));
  }
  const auto request = requests_.find(*after.allocated_to);
  const bool is_pending =
      request != requests_.end() && request->second.state == RequestState::pending;
  const bool is_its = request != requests_.end() &&
                      request->second.state == RequestState::fulfilled &&
                      std::ranges::find(request->second.nodes, id) != request->second.nodes.end();
  if (is_pending && lock_holder_now(id).session != world_.actor->session()) {
    violation(
        fmt::format("node {} is kept for request {} without its lock", id, *after.allocated_to));
  }
  if (!is_its && !is_pending) {
    violation(fmt::format("node {} was given to request {}, which does not have it", id,
                          *after.allocated_to));
  }
}

// --- locks

void Auditor::check_contender_removed(const std::string& path) {
  const auto found = contenders_removed_.find(path);
  if (found == contenders_removed_.end() || !launcher_acts()) return;
  const std::int64_t owner = found->second;
  if (owner == world_.actor->session() || !world_.server.has_session(owner)) return;
  const std::string_view node = coordination::parent_path(coordination::parent_path(path));
  const std::string id(coordination::base_name(node));
  if (holds_.is_held(id)) {
    violation(fmt::format("a launcher broke the lock of node {}, which {} holds", id,
                          holds_.holder(id)->holder));
  }
}

}  // namespace nodepool::simulation
