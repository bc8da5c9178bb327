#include "tests/simulation/harness/foreign_auditor.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "coordination/lock.h"
#include "coordination/path.h"
#include "model/paths.h"
#include "tests/simulation/harness/foreign_process.h"

namespace nodepool::simulation {

namespace {

using coordination::WatchEvent;
using model::Node;
using model::NodeRequest;
using model::RequestState;

}  // namespace

ForeignAuditor::ForeignAuditor(World& world)
    : world_(world),
      session_(world.server.open_session(
          [this](const std::vector<WatchEvent>& events) { committed(events); })) {}

ForeignAuditor::~ForeignAuditor() {
  world_.server.end_session(session_);
}

void ForeignAuditor::committed(const std::vector<WatchEvent>& events) {
  for (const WatchEvent& event : events) {
    const std::string_view parent = coordination::parent_path(event.path);
    if (parent == model::kNodesRoot) look_at_node(event.path);
    if (parent == model::kRequestsRoot) look_at_request(event.path);
  }
}

void ForeignAuditor::look_at_node(const std::string& path) {
  const std::string id(coordination::base_name(path));
  const auto known = nodes_.extract(id);
  const coordination::memory::Tree& tree = world_.server.tree();
  std::optional<Node> after;
  try {
    if (tree.exists(path)) after = model::parse_node(id, tree.get(path));
  } catch (const model::RecordError&) {
    // Garbage.
  }
  if (known) check(known.mapped(), after ? &*after : nullptr);
  if (after && after->provider == ForeignProcess::kProvider) nodes_.emplace(id, std::move(*after));
}

void ForeignAuditor::look_at_request(const std::string& path) {
  const std::string id(coordination::base_name(path));
  const auto known = requests_.extract(id);
  const coordination::memory::Tree& tree = world_.server.tree();
  if (!tree.exists(path)) return;  // who may remove requests is watched by the Auditor
  try {
    NodeRequest after = model::parse_node_request(id, tree.get(path));
    if (known) check(known.mapped(), after);
    if (after.requestor == ForeignProcess::kRequestor) requests_.emplace(id, std::move(after));
  } catch (const model::RecordError&) {
    // Garbage.
  }
}

// By anybody but who acts. Of the contenders the first holds the lock.
bool ForeignAuditor::is_locked(const std::string& lock_root) const {
  const coordination::memory::Tree& tree = world_.server.tree();
  if (!tree.exists(lock_root)) return false;
  const std::vector<std::string> contenders = tree.children(lock_root);
  if (contenders.empty()) return false;
  const auto holder = std::ranges::min_element(contenders, {}, coordination::contender_sequence);
  const auto stat = tree.exists(coordination::join_path(lock_root, *holder));
  return stat && stat->ephemeral_owner != world_.actor->session();
}

// Only from a request that waits, and that nobody is at work on, may it be taken.
void ForeignAuditor::check(const Node& before, const Node* after) const {
  if (world_.actor == nullptr || !world_.actor->name().starts_with("launcher")) return;
  if (after != nullptr) {
    Node freed = before;
    freed.allocated_to.reset();
    const bool is_lost = before.allocated_to && requests_.contains(*before.allocated_to) &&
                         !is_locked(model::request_lock_path(*before.allocated_to));
    if (is_lost && to_record(*after) == to_record(freed)) return;
  }
  world_.journal.violation(fmt::format("a launcher {} node {}, which is a foreigner's",
                                       after == nullptr ? "removed" : "wrote", before.id));
}

// It may be declined, and asked for again when it was left.
void ForeignAuditor::check(const NodeRequest& before, const NodeRequest& after) const {
  if (world_.actor == nullptr || !world_.actor->name().starts_with("launcher")) return;
  world_.journal.count("foreign: requests written by launchers");
  const bool is_declined =
      before.state == RequestState::requested &&
      (after.state == RequestState::requested || after.state == RequestState::failed);
  const bool is_asked_for_again =
      before.state == RequestState::pending && after.state == RequestState::requested;
  if (is_declined || is_asked_for_again) return;
  world_.journal.violation(fmt::format("a launcher made request {} {}, which is a foreigner's",
                                       after.id, to_string(after.state)));
}

}  // namespace nodepool::simulation
