#include "report/explanation/backing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

#include "driver/backing.h"

namespace nodepool::report {

namespace {

using model::Node;
using model::NodeRequest;
using model::NodeState;

std::string describe(const Node& node) {
  return fmt::format("{} of {}-{}", fmt::join(node.type, ", "), node.provider.value_or("?"),
                     node.pool.value_or("?"));
}

// Whether the request is for a backing node with the label that the node needs.
bool may_serve(const NodeRequest& request, const Node& node) {
  const auto purpose = driver::backing_purpose_of(request);
  return purpose && purpose->provider == node.provider && node.has_label(purpose->label);
}

// Only nodes in use carry others.
std::vector<std::string> carried_by(const ExplanationFacts& knowledge, const Node& node) {
  std::vector<std::string> carried;
  if (node.state != NodeState::in_use) return carried;
  for (const auto& [id, other] : knowledge.nodes.all()) {
    if (driver::backing_node_of(other) == node.id) {
      carried.push_back(fmt::format("{} ({}, {})", node_title(knowledge.may_name, id),
                                    describe(other), to_string(other.state)));
    }
  }
  return carried;
}

}  // namespace

BackingState backing_state(const ExplanationFacts& knowledge, const Node& node) {
  BackingState result;
  if (const auto id = driver::backing_node_of(node)) {
    result.node = knowledge.nodes.find(*id);
    return result;
  }
  if (node.state != NodeState::building) return result;
  for (const auto& [id, request] : knowledge.requests.all()) {
    if (may_serve(request, node)) result.requests.push_back(&request);
  }
  return result;
}

void explain_backing(Statements& to, const ExplanationFacts& knowledge, const Node& node) {
  if (const auto id = driver::backing_node_of(node)) {
    const Node* on = knowledge.nodes.find(*id);
    const std::string state =
        on == nullptr ? "which no longer exists"
                      : fmt::format("{}, which is {}", describe(*on), to_string(on->state));
    say(to, "on-node",
        fmt::format("on {} ({}), slot {}", node_title(knowledge.may_name, *id), state,
                    node.slot.value_or(0)));
  }
  for (const NodeRequest* request : backing_state(knowledge, node).requests) {
    say(to, "waits-for-node",
        fmt::format("waits for a node with label {}: {}, which is {}",
                    fmt::join(request->node_types, ", "),
                    request_title(knowledge.may_name, request->id), to_string(request->state)));
  }
  for (const std::string& text : carried_by(knowledge, node)) {
    say(to, "carries", "on it: " + text);
  }
}

}  // namespace nodepool::report
