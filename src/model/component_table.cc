#include "model/component_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/paths.h"

namespace nodepool::model {

namespace {

constexpr Component::Kind kKinds[] = {Component::Kind::launcher, Component::Kind::builder,
                                      Component::Kind::pool};

std::optional<Component::Kind> kind_of(std::string_view path) {
  const std::string_view name = path.substr(0, path.find('/'));
  for (const Component::Kind kind : kKinds) {
    if (to_string(kind) == name) return kind;
  }
  return std::nullopt;
}

}  // namespace

ComponentTable::ComponentTable(const async::Runtime& runtime, coordination::Store& store,
                               telemetry::Logger log)
    : RecordTable(runtime, store, kComponentsRoot, std::move(log)) {}

std::vector<const Component*> ComponentTable::pools() const {
  std::vector<const Component*> pools;
  for (const auto& [id, component] : all()) {
    if (component.kind == Component::Kind::pool) pools.push_back(&component);
  }
  return pools;
}

std::map<std::string_view, const Component*> ComponentTable::python_pools() const {
  std::map<std::string_view, const Component*> of_python;
  for (const Component* pool : pools()) {
    if (implementation_of(*pool) != Implementation::python_nodepool) continue;
    of_python.try_emplace(pool->provider_name, pool);
  }
  return of_python;
}

std::map<std::string, std::string> ComponentTable::providers_of_both_kinds() const {
  const std::map<std::string_view, const Component*> of_python = python_pools();
  std::map<std::string, std::string> sentences;
  for (const Component* pool : pools()) {
    const auto found = of_python.find(pool->provider_name);
    if (found == of_python.end()) continue;
    if (implementation_of(*pool) != Implementation::this_nodepool) continue;
    sentences[pool->provider_name] = fmt::format(
        "provider {} is also served by {} (version {}): launches are discarded and nodes in use "
        "may be lost as long as launchers of both kinds serve it",
        pool->provider_name, found->second->hostname, found->second->version);
  }
  return sentences;
}

std::set<std::string_view> ComponentTable::supported_labels() const {
  std::set<std::string_view> labels;
  for (const Component* pool : pools()) {
    labels.insert(pool->supported_labels.begin(), pool->supported_labels.end());
  }
  return labels;
}

coordination::TreeListener::Interest ComponentTable::interest(std::string_view path) const {
  if (!kind_of(path)) return Interest::none;
  const auto slashes = std::ranges::count(path, '/');
  if (slashes == 0) return Interest::name;
  return slashes == 1 ? Interest::data : Interest::none;
}

void ComponentTable::on_changed(std::string_view path, const coordination::Entry& entry) {
  if (path.find('/') != std::string_view::npos) record_changed(path, entry);
}

void ComponentTable::on_removed(std::string_view path) {
  record_removed(path);
}

Component ComponentTable::parse(std::string id, const coordination::Entry& entry) const {
  const auto kind = kind_of(id);
  if (!kind) throw RecordError("unknown kind of component");
  return parse_component(*kind, entry);
}

void ComponentTable::unindex(const Component&) {}
void ComponentTable::index(const Component&) {}

}  // namespace nodepool::model
