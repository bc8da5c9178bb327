#include "tests/planning/records_fixture.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace nodepool::planning {

RecordsFixture::RecordsFixture()
    : log_(telemetry::Log::to_consumer(
               [](telemetry::LogLevel, std::string_view, std::string_view) {},
               telemetry::LogLevel::error),
           "test"),
      nodes_(runtime_, store_, log_),
      usage_(nodes_,
             [this](std::string_view, std::string_view,
                    std::string_view label) -> std::optional<Resources> {
               const auto need = needs_.find(std::string(label));
               return need == needs_.end() ? std::nullopt : std::optional(need->second);
             }) {}

std::string RecordsFixture::add_node(const model::Node& node) {
  model::Node added = node;
  added.id = fmt::format("{:010}", transactions_);
  write_node(added);
  return added.id;
}

void RecordsFixture::write_node(const model::Node& node) {
  nodes_.seen(node.id, {to_record(node), {.mzxid = ++transactions_}});
}

void RecordsFixture::remove_node(const std::string& id) {
  nodes_.removed(id);
}

const model::Node& RecordsFixture::node(const std::string& id) const {
  const model::Node* known = nodes_.find(id);
  if (known == nullptr) throw std::runtime_error("there is no node " + id);
  return *known;
}

void RecordsFixture::lock(const std::string& id) {
  nodes_.seen(id + "/lock/0123456789abcdef0123456789abcdef__lock__0000000000",
              {{}, {.mzxid = ++transactions_}});
}

model::Node RecordsFixture::idle_node(std::string pool, std::string label, double since) {
  model::Node node;
  node.provider = "sky";
  node.pool = std::move(pool);
  node.type = {std::move(label)};
  node.resources = Resources({{"instances", 1}}).to_json();
  node.set_state(model::NodeState::ready, since);
  return node;
}

}  // namespace nodepool::planning
