#include "report/explanation/pending_requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "planning/unregistered_pools.h"
#include "report/explanation/silent_pools.h"

namespace nodepool::report {

namespace {

using model::Component;
using model::Node;
using model::NodeRequest;
using model::NodeState;

// A registered pool to which the node belongs. Returns nullptr if there is none.
const Component* pool_of(const ExplanationFacts& knowledge, const Node& node) {
  const auto found = std::ranges::find_if(knowledge.pools, [&node](const Component* pool) {
    return pool->provider_name == node.provider && pool->name == node.pool;
  });
  return found == knowledge.pools.end() ? nullptr : *found;
}

// The node that no launcher works on, by the records. Returns nullptr if there is none.
const Node* abandoned_node(const ExplanationFacts& knowledge, const NodeRequest& request) {
  for (const std::string& id : knowledge.nodes.allocated_to(request.id)) {
    const Node& node = *knowledge.nodes.find(id);
    if (knowledge.nodes.is_locked(id) || is_discarded(node.state)) continue;
    // In other states, a node is also unlocked for a moment while its launcher works.
    const bool is_in_launch = node.state == NodeState::building || node.state == NodeState::testing;
    if (is_in_launch || pool_of(knowledge, node) == nullptr) return &node;
  }
  return nullptr;
}

ReasonToWait reason_of_interruption(const ExplanationFacts& knowledge, const Node& node) {
  const std::string state = fmt::format("node {} is {}", node.id, to_string(node.state));
  if (const Component* pool = pool_of(knowledge, node)) {
    if (why_unresponsive(knowledge, *pool)) {
      return {fmt::format("{}, but its launcher is gone, and {} {}", state, pool_title(*pool),
                          unresponsive_text(*pool))};
    }
    return {fmt::format("{}, but its launcher is gone or restarts: {} resumes the request", state,
                        pool_title(*pool))};
  }
  const std::string provider = node.provider.value_or("?");
  return {fmt::format("{}, but its launcher is gone: the request resumes when a launcher serves "
                      "pool {} of provider {}",
                      state, node.pool.value_or("?"), provider),
          fmt::format("start a launcher whose configuration has provider {}", provider)};
}

// "node 0000000004 is building, attempt 2 of 3; usually ready after 41 s".
std::string launch_in_progress(const ExplanationFacts& knowledge, const Node& node) {
  std::string text = fmt::format("node {} is {}", node.id, to_string(node.state));
  const auto provider = knowledge.providers.find(node.provider.value_or(""));
  if (provider == knowledge.providers.end()) return text;
  if (const std::string attempt = attempt_of_launch(provider->second, node); !attempt.empty()) {
    text += ", " + attempt;
  }
  for (const std::string& label : node.type) {
    const std::optional<double> usual = usual_boot_time(provider->second, label);
    if (usual) text += fmt::format("; usually ready after {:.0f} s", *usual);
  }
  return text;
}

}  // namespace

bool is_interrupted(const ExplanationFacts& knowledge, const NodeRequest& request) {
  return abandoned_node(knowledge, request) != nullptr;
}

ReasonToWait reason_of_pending(const ExplanationFacts& knowledge, const NodeRequest& request) {
  if (const Node* node = abandoned_node(knowledge, request)) {
    return reason_of_interruption(knowledge, *node);
  }
  std::string text;
  std::size_t others = 0;
  for (const std::string& id : knowledge.nodes.allocated_to(request.id)) {
    const Node& node = *knowledge.nodes.find(id);
    if (node.state == NodeState::ready || is_discarded(node.state)) continue;
    if (!text.empty()) {
      ++others;
    } else {
      text = launch_in_progress(knowledge, node);
    }
  }
  if (text.empty()) return {};
  if (others > 0) text += fmt::format(" (and {} more)", others);
  return {std::move(text), "allow more time (--timeout): a launch is under way"};
}

}  // namespace nodepool::report
