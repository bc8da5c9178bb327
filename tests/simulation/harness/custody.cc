#include "tests/simulation/harness/custody.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "coordination/path.h"
#include "driver/ownership.h"
#include "model/installation.h"
#include "model/paths.h"

namespace nodepool::simulation {

namespace {

using coordination::WatchEvent;
using driver::Metadata;

// What was decided before the store was replaced may be done after that.
constexpr auto kTimeToNotice = std::chrono::seconds(30);

constexpr const char* kOtherInstallation = "0123456789abcdef0123456789abcdef";

}  // namespace

Custody::Custody(World& world, Clouds& clouds, const Auditor& auditor)
    : world_(world),
      clouds_(clouds),
      auditor_(auditor),
      session_(world.server.open_session(
          [this](const std::vector<WatchEvent>& events) { committed(events); })) {}

Custody::~Custody() {
  world_.server.end_session(session_);
}

void Custody::add_strangers(const std::string& provider) {
  for (int node = 0; node < 6; ++node) {
    Metadata metadata{{std::string(driver::kNodeIdKey), fmt::format("{:010}", node)},
                      {std::string(driver::kPoolNameKey), "main"},
                      {std::string(driver::kProviderNameKey), provider}};
    if (node % 2 == 0) metadata.emplace(driver::kInstallationIdKey, kOtherInstallation);
    const std::string id = clouds_.make({provider, {}, std::move(metadata)});
    strange_.insert(id);
    if (node % 2 == 0) marked_.insert(id);
  }
}

void Custody::store_was_replaced() {
  replaced_at_ = world_.clock.now();
  lost_.clear();
  without_machine_.clear();
  std::set<std::string> known;
  for (const auto& [id, node] : auditor_.nodes()) {
    const std::string machine = node.external_id_text();
    known.insert(machine);
    if (!clouds_.machines().contains(machine)) without_machine_.insert(id);
  }
  for (const auto& [id, machine] : clouds_.machines()) {
    // A launch that an older store knows to be under way may find it.
    const std::string made_for = driver::value_of(machine.metadata, driver::kNodeIdKey);
    const bool is_found_again = auditor_.nodes().contains(made_for);
    if (!known.contains(id) && !is_found_again && !is_strange(id)) lost_.insert(id);
  }
  clouds_.forget_nodes();
}

// A call that was under way when the store was replaced may have made one after that.
std::set<std::string> Custody::lost() const {
  std::set<std::string> known;
  for (const auto& [id, node] : auditor_.nodes()) known.insert(node.external_id_text());
  std::set<std::string> lost;
  const std::string own = installation();
  for (const auto& [id, machine] : clouds_.machines()) {
    if (known.contains(id) || is_strange(id)) continue;
    const bool is_others = driver::value_of(machine.metadata, driver::kInstallationIdKey) != own;
    if (is_lost(id) || is_others) lost.insert(id);
  }
  return lost;
}

std::string Custody::installation() const {
  const coordination::memory::Tree& tree = world_.server.tree();
  if (!tree.exists(model::kInstallationPath)) return {};
  return nlohmann::json::parse(tree.get(model::kInstallationPath).data).at("id");
}

// What was made since the backup of an older store cannot be told from what its nodes, which get
// the same ids, are given: a launch may find it, and a search for leaks deletes it.
bool Custody::is_own(const std::string& machine) const {
  const auto found = clouds_.machines().find(machine);
  if (found == clouds_.machines().end()) return false;
  const std::string made_by = driver::value_of(found->second.metadata, driver::kInstallationIdKey);
  return !made_by.empty() && made_by == installation();
}

// Where nodes were made before the store had an installation, what carries no id is its own.
bool Custody::is_cleaned_up(const std::string& machine) const {
  const coordination::memory::Tree& tree = world_.server.tree();
  if (!tree.exists(model::kInstallationPath) || marked_.contains(machine)) return false;
  return nlohmann::json::parse(tree.get(model::kInstallationPath).data).at("first_node") > 0;
}

void Custody::check_use(const std::string& machine) const {
  if (was_replaced() || !world_.actor->name().starts_with("launcher")) return;
  for (const auto& [id, node] : auditor_.nodes()) {
    const bool is_kept = node.state == model::NodeState::ready ||
                         node.state == model::NodeState::in_use ||
                         node.state == model::NodeState::hold;
    if (!is_kept || node.external_id_text() != machine) continue;
    world_.journal.violation(fmt::format("{} deletes {}, the machine of node {}, which is {}",
                                         world_.actor->name(), machine, id, to_string(node.state)));
  }
}

void Custody::check_removal(const std::string& machine) {
  check_use(machine);
  if (is_strange(machine) && is_cleaned_up(machine)) {
    cleaned_up_.insert(machine);  // rightly, whatever store there is later
  } else if (is_strange(machine)) {
    world_.journal.violation(
        fmt::format("{} deletes {}, which is a stranger's", world_.actor->name(), machine));
  }
  if (!is_lost(machine) || !world_.actor->name().starts_with("launcher")) return;
  if (world_.clock.now() < replaced_at_ + kTimeToNotice) return;
  if (is_own(machine)) {
    world_.journal.count("custody: lost machine deleted, proven to be its own");
  } else if (clouds_.machines().contains(machine)) {
    world_.journal.violation(fmt::format(
        "{} deletes {}, which the store does not know, and which was made by another installation",
        world_.actor->name(), machine));
  }
}

void Custody::committed(const std::vector<WatchEvent>& events) const {
  const coordination::memory::Tree& tree = world_.server.tree();
  for (const WatchEvent& event : events) {
    if (coordination::parent_path(event.path) != model::kNodesRoot || !tree.exists(event.path)) {
      continue;
    }
    std::string machine;
    try {
      machine =
          model::parse_node(std::string(coordination::base_name(event.path)), tree.get(event.path))
              .external_id_text();
    } catch (const model::RecordError&) {
      continue;
    }
    if (!is_strange(machine) && (!is_lost(machine) || is_own(machine))) continue;
    world_.journal.violation(
        fmt::format("{} has got {}, which was made for another node", event.path, machine));
  }
}

void Custody::strangers_are_there() const {
  for (const std::string& id : strange_) {
    if (clouds_.machines().contains(id) || cleaned_up_.contains(id)) continue;
    world_.journal.violation(fmt::format("{}, a stranger's, is gone", id));
  }
}

}  // namespace nodepool::simulation
