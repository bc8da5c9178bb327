#include "tests/simulation/harness/rest_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "planning/decision.h"

namespace nodepool::simulation {

std::vector<std::string> RestCheck::unanswered() const {
  std::vector<std::string> ids;
  for (const auto& [id, request] : auditor_.requests()) {
    if (request.state == model::RequestState::fulfilled) continue;
    if (request.state == model::RequestState::failed) continue;
    if (request.requestor == planning::kMinReadyRequestor) continue;
    ids.push_back(id);
  }
  return ids;
}

void RestCheck::requests_are_answered() const {
  const std::vector<std::string> ids = unanswered();
  for (const std::string& id : ids) {
    world_.journal.violation(fmt::format("request {} has not been answered", id));
  }
}

void RestCheck::all_is_in_order() const {
  Journal& journal = world_.journal;
  for (const auto& [path, session] : auditor_.contenders()) {
    journal.violation(fmt::format("left behind: {} of session {} ({})", path, session,
                                  world_.server.has_session(session) ? "alive" : "gone"));
  }
  const bool keeps_asking = !min_ready_is_met();
  for (const auto& [id, request] : auditor_.requests()) {
    if (keeps_asking && request.requestor == planning::kMinReadyRequestor) continue;
    journal.violation("left behind: request " + id);
  }
  for (const auto& [name, provider] : topology_.providers) {
    if (provider.is_cloud()) {
      check_cloud(provider);
    } else if (provider.is_metastatic()) {
      check_shares(provider);
    } else {
      check_slots(provider);
    }
  }
  check_machines();
  custody_.strangers_are_there();
}

std::int64_t RestCheck::stock(const std::string& label) const {
  return std::ranges::count_if(auditor_.nodes(), [&label](const auto& entry) {
    const model::Node& node = entry.second;
    return node.state == model::NodeState::ready && !node.allocated_to && node.has_label(label);
  });
}

bool RestCheck::min_ready_is_met() const {
  return std::ranges::all_of(topology_.labels, [this](const auto& entry) {
    return stock(entry.first) >= entry.second.min_ready;
  });
}

void RestCheck::check_cloud(const ProviderSpec& provider) const {
  driver::Resources used_by_provider;
  std::map<std::string, driver::Resources> used_by_pool;
  for (const auto& [id, node] : auditor_.nodes()) {
    if (node.provider != provider.name) continue;
    if (node.state != model::NodeState::ready || node.allocated_to) {
      world_.journal.violation(fmt::format("node {} is {} for {} at rest", id,
                                           to_string(node.state),
                                           node.allocated_to.value_or("nobody")));
    }
    if (!clouds_.machines().contains(node.external_id_text()) && !custody_.is_without_machine(id)) {
      world_.journal.violation(fmt::format("node {} has no machine", id));
    }
    const driver::Resources need = label_resources(node.type.front());
    used_by_provider += need;
    used_by_pool[node.pool.value_or("")] += need;
  }
  for (const PoolSpec& pool : provider.pools) {
    driver::Limits limits;
    if (pool.max_servers) limits["instances"] = static_cast<double>(*pool.max_servers);
    for (const std::string& label : pool.labels) {
      const auto wanted = topology_.labels.find(label);
      if (wanted == topology_.labels.end() || stock(label) >= wanted->second.min_ready) continue;
      const driver::Resources need = label_resources(label);
      const bool has_room = !excess(limits, used_by_pool[pool.name], need) &&
                            !excess(clouds_.limits(provider.name), used_by_provider, need) &&
                            clouds_.has_room(provider.name, need);
      if (!has_room) continue;
      world_.journal.violation(
          fmt::format("min-ready of {} is not met, though pool {} has room", label, pool.name));
    }
  }
}

// None is kept in stock: so there is none, and none that one could be on.
void RestCheck::check_shares(const ProviderSpec& provider) const {
  for (const auto& [id, node] : auditor_.nodes()) {
    if (node.provider != provider.name) continue;
    world_.journal.violation(
        fmt::format("node {} is {} on a backing node at rest", id, to_string(node.state)));
  }
}

void RestCheck::check_machines() const {
  std::set<std::string> recorded;
  for (const auto& [id, node] : auditor_.nodes()) recorded.insert(node.external_id_text());
  for (const auto& [id, machine] : clouds_.machines()) {
    if (recorded.contains(id) || custody_.is_strange(id)) continue;
    world_.journal.violation(fmt::format("{} is left, its node is gone", id));
  }
}

void RestCheck::check_slots(const ProviderSpec& provider) const {
  Journal& journal = world_.journal;
  std::map<std::string, const model::Node*> found;
  const auto describe = [](const PoolSpec& pool, const HostSpec& host, std::int64_t slot) {
    return fmt::format("{} {}/{} [{}]", pool.name, host.name, slot, fmt::join(host.labels, ","));
  };
  std::set<std::string> expected;
  for (const PoolSpec& pool : provider.pools) {
    for (const HostSpec& host : pool.hosts) {
      for (std::int64_t slot = 0; slot < host.slots; ++slot) {
        expected.insert(describe(pool, host, slot));
      }
    }
  }
  std::multiset<std::string> present;
  for (const auto& [id, node] : auditor_.nodes()) {
    if (node.provider != provider.name) continue;
    if (node.state != model::NodeState::ready || node.allocated_to) {
      journal.violation(fmt::format("node {} is {} for {} at rest", id, to_string(node.state),
                                    node.allocated_to.value_or("nobody")));
    }
    const HostSpec host{node.hostname.value_or(""), "", node.type, 0};
    present.insert(
        describe(PoolSpec{.name = node.pool.value_or("")}, host, node.slot.value_or(-1)));
  }
  for (const std::string& slot : expected) {
    const auto count = present.count(slot);
    if (count != 1) journal.violation(fmt::format("{} nodes stand for {}", count, slot));
  }
  for (const std::string& slot : present) {
    if (!expected.contains(slot)) journal.violation("a node stands for what is not there: " + slot);
  }
}

}  // namespace nodepool::simulation
