#include "tests/simulation/harness/settings_auditor.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "coordination/lock.h"
#include "coordination/path.h"
#include "model/paths.h"
#include "tests/simulation/harness/shares.h"

namespace nodepool::simulation {

namespace {

using coordination::WatchEvent;
using model::Node;
using model::NodeState;

// Seconds that the wall clock may have been set back since it was decided that a time was over.
constexpr double kFarthestBack = 300;

// Of what acts upon a decision of a moment ago.
constexpr double kMomentInSeconds = 10;

}  // namespace

SettingsAuditor::SettingsAuditor(World& world, const KnownSettings& settings)
    : world_(world),
      settings_(settings),
      session_(world.server.open_session(
          [this](const std::vector<WatchEvent>& events) { committed(events); })) {}

SettingsAuditor::~SettingsAuditor() {
  world_.server.end_session(session_);
}

void SettingsAuditor::committed(const std::vector<WatchEvent>& events) {
  for (const WatchEvent& event : events) {
    if (coordination::parent_path(event.path) == model::kNodesRoot) look_at_node(event);
    if (event.path.starts_with(model::kRequestLocksRoot)) look_at_request_lock(event);
  }
}

void SettingsAuditor::look_at_request_lock(const WatchEvent& event) {
  if (coordination::contender_sequence(coordination::base_name(event.path)).empty()) return;
  if (event.kind == WatchEvent::Kind::removed) {
    at_lock_.erase(event.path);
  } else if (world_.actor != nullptr) {
    at_lock_[event.path] = settings_.in_force(world_.actor->number());
  }
}

void SettingsAuditor::look_at_node(const WatchEvent& event) {
  const std::string id(coordination::base_name(event.path));
  const auto found = nodes_.find(id);
  std::optional<Node> before;
  if (found != nodes_.end()) before = found->second;
  nodes_.erase(id);
  const coordination::memory::Tree& tree = world_.server.tree();
  if (!tree.exists(event.path)) {
    begun_with_.erase(id);
    return;
  }
  try {
    nodes_.emplace(id, model::parse_node(id, tree.get(event.path)));
  } catch (const model::RecordError&) {
    return;
  }
  const Node& after = nodes_.at(id);
  if (world_.actor == nullptr || !world_.actor->name().starts_with("launcher")) return;
  if (after.state == NodeState::building) begin(after);
  if (!before || before->state == after.state) return;
  if (before->state == NodeState::building && after.state == NodeState::ready) check_made(after);
  if (before->state == NodeState::hold) check_end_of_hold(*before);
}

// Whoever serves the request has its lock; who takes it over, also after the loss of a session,
// has another one.
void SettingsAuditor::begin(const Node& node) {
  const std::string root = model::request_lock_path(node.allocated_to.value_or("")) + "/";
  for (auto it = at_lock_.lower_bound(root); it != at_lock_.end() && it->first.starts_with(root);
       ++it) {
    const auto stat = world_.server.tree().exists(it->first);
    if (!stat || stat->ephemeral_owner != world_.actor->session()) continue;
    begun_with_[node.id].insert(*it);
  }
}

void SettingsAuditor::check_made(const Node& node) const {
  const auto choice = begun_with_.find(node.id);
  if (choice == begun_with_.end() || node.type.empty()) return;
  if (is_share(node)) return;  // it is used as its backing node is
  const Settings::Access access{node.username.value_or(""), node.python_path.value_or("")};
  const auto says_so = [&](const Settings& settings) {
    const auto found = settings.access.find(node.type.front());
    return found != settings.access.end() && found->second == access;
  };
  const bool is_known = std::ranges::any_of(choice->second, [&says_so](const auto& at_lock) {
    return std::ranges::any_of(at_lock.second, says_so);
  });
  world_.journal.count("settings: nodes looked at");
  if (is_known) return;
  world_.journal.violation(fmt::format(
      "node {} is for user {} and {}, which is not what was configured when it was begun", node.id,
      access.username, access.python_path));
}

void SettingsAuditor::check_end_of_hold(const Node& before) const {
  const double now = world_.clock.wall_seconds() + kFarthestBack + kMomentInSeconds;
  const auto is_over = [&before, now](std::optional<std::int64_t> age) {
    return age && *age > 0 && before.state_time + static_cast<double>(*age) <= now;
  };
  const Choice choice = settings_.in_force(world_.actor->number());
  world_.journal.count("settings: ends of holds looked at");
  const bool may_end =
      is_over(before.hold_expiration) || std::ranges::any_of(choice, [&](const Settings& settings) {
        return is_over(settings.max_hold_age);
      });
  if (!may_end) world_.journal.violation(fmt::format("the hold of node {} was ended", before.id));
}

}  // namespace nodepool::simulation
