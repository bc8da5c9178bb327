#include "tests/launcher/parts_fixture.h"

#include "coordination/path.h"
#include "coordination/tree.h"
#include "model/paths.h"
#include "telemetry/log_errors.h"
#include "tests/support/virtual_time.h"

namespace nodepool::launcher {

PartsFixture::PartsFixture()
    : log_(telemetry::Log::to_consumer(
               [](telemetry::LogLevel, std::string_view, std::string_view) {},
               telemetry::LogLevel::error),
           "test"),
      records_(runtime_, store_, log_),
      history_(runtime_, nodes_, requests_, threads_, log_, std::nullopt),
      usage_(nodes_,
             [this](std::string_view, std::string_view,
                    std::string_view label) -> std::optional<Resources> {
               const auto need = needs_.find(std::string(label));
               return need == needs_.end() ? std::nullopt : std::optional(need->second);
             }),
      deletions_(nodes_),
      context_{{runtime_, store_, records_, log_},
               "host",
               "host.example",
               history_,
               usage_,
               deletions_,
               tenant_limits_,
               departed_pools_,
               handled_requests_,
               starved_,
               own_pools_,
               std::make_shared<const model::Installation>()},
      scope_(runtime_, telemetry::log_errors(log_)) {
  loop_.run(records_.make_roots(model::Records::all()));
  records_.follow(scope_, model::Records::all());
  settle();
}

PartsFixture::~PartsFixture() {
  loop_.run(scope_.stop());
}

void PartsFixture::settle() {
  while (loop_.poll()) {
  }
}

void PartsFixture::pass(async::Duration duration) {
  test_support::pass(clock_, duration, [this] { settle(); });
}

void PartsFixture::fall_behind() {
  loop_.run(scope_.stop());
}

std::string PartsFixture::add_node(const model::Node& node) {
  const std::string path =
      loop_.run(others_.create(std::string(model::kNodesRoot) + "/", to_record(node),
                               coordination::CreateMode::persistent_sequential));
  settle();
  return std::string(coordination::base_name(path));
}

void PartsFixture::write_node(const model::Node& node) {
  loop_.run(others_.set(model::node_path(node.id), to_record(node), coordination::kAnyVersion));
  settle();
}

void PartsFixture::remove_node(const std::string& id) {
  loop_.run(coordination::remove_tree(others_, model::node_path(id)));
  settle();
}

model::Node PartsFixture::node(const std::string& id) const {
  const model::Node* known = nodes_.find(id);
  if (known == nullptr) throw std::runtime_error("there is no node " + id);
  return *known;
}

model::Node PartsFixture::idle_node(std::string pool, std::string label) {
  model::Node node;
  node.provider = "sky";
  node.pool = std::move(pool);
  node.type = {std::move(label)};
  node.resources = Resources({{"instances", 1}}).to_json();
  node.set_state(model::NodeState::ready, 0);
  return node;
}

}  // namespace nodepool::launcher
