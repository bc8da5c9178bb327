#include "tests/drivers/namespaces/namespaces.h"

#include <nlohmann/json.hpp>

#include "driver/ownership.h"

namespace nodepool::drivers::namespaces {

using driver::CloudError;

namespace {

config::ProviderSection section() {
  config::ProviderSection section;
  section.name = "cluster";
  return section;
}

// The id is an object, as that of a cloud where a node has several parts.
model::Json external_id_of(const std::string& name) {
  return model::Json::parse(nlohmann::json({{"namespace", name}}).dump());
}

std::string name_in(const model::Json& external_id) {
  return nlohmann::json::parse(external_id.text).at("namespace").get<std::string>();
}

}  // namespace

ClusterConfig::ClusterConfig() : StateMachineConfig(section()) {
  driver::PoolConfig pool;
  pool.name = "main";
  pool.labels = {"space"};
  pool.node_attributes = model::Json{R"({"team":"a","site":"pool"})"};
  pools_.emplace("main", std::move(pool));
  driver::MachineLabel label;
  label.cloud_image = "none";
  machine_pools_["main"].labels.emplace("space", std::move(label));
}

void Cluster::activate() {
  is_slow = false;
  for (auto& [name, entry] : namespaces) entry.is_active = true;
  if (watcher != nullptr) watcher->changed();
}

ClusterAdapter::~ClusterAdapter() {
  if (cluster_->watcher == this) cluster_->watcher = nullptr;
}

Task<> ClusterAdapter::start() {
  cluster_->watcher = this;
  co_return;
}

Task<> ClusterAdapter::stop() {
  co_await active_.stop();
}

Task<driver::Instance> ClusterAdapter::create(driver::CreateSpec spec,
                                              driver::StateMachine& machine) {
  const driver::StateMachine::Make make = [&] { return make_namespace(spec, machine); };
  const driver::StateMachine::Find find = [&] { return find_namespace(spec, machine); };
  const std::string name = co_await machine.step("namespace", make, find);
  if (!cluster_->namespaces.at(name).is_active) co_await wait_until_active(name);
  co_await make_account(name);  // may be repeated; its token is no step's result
  co_return describe(name, cluster_->namespaces.at(name));
}

Task<std::string> ClusterAdapter::make_namespace(driver::CreateSpec spec,
                                                 driver::StateMachine& machine) {
  co_await call();
  const std::string name = spec.pool + "-" + spec.node_id + "-" + std::to_string(++cluster_->made);
  cluster_->namespaces[name].labels = spec.metadata;
  cluster_->namespaces[name].is_active = !cluster_->is_slow;
  machine.set_external_id(external_id_of(name));
  co_return name;
}

Task<std::optional<std::string>> ClusterAdapter::find_namespace(driver::CreateSpec spec,
                                                                driver::StateMachine& machine) {
  co_await call();
  for (const auto& [name, entry] : cluster_->namespaces) {
    if (!driver::carries(entry.labels, spec.metadata)) continue;
    machine.set_external_id(external_id_of(name));
    co_return name;
  }
  co_return std::nullopt;
}

Task<std::set<std::string>> ClusterAdapter::list_active() {
  co_await call();
  std::set<std::string> active;
  for (const auto& [name, entry] : cluster_->namespaces) {
    if (entry.is_active) active.insert(name);
  }
  co_return active;
}

Task<> ClusterAdapter::wait_until_active(std::string name) {
  driver::Awaited awaited = active_.await();
  while (true) {
    const auto active = co_await active_.next(awaited);
    if (active->contains(name)) break;
  }
}

Task<std::string> ClusterAdapter::make_account(std::string name) {
  co_await call();
  Cluster::Namespace& entry = cluster_->namespaces.at(name);
  if (entry.token.empty()) entry.token = "s3cret-of-" + name;
  co_return entry.token;
}

driver::Instance ClusterAdapter::describe(const std::string& name,
                                          const Cluster::Namespace& entry) const {
  driver::Instance instance;
  instance.external_id = external_id_of(name);
  instance.metadata = entry.labels;
  instance.connection.type = "namespace";
  instance.connection.port = model::Json::parse(
      nlohmann::json({{"namespace", name}, {"host", "https://cluster"}, {"token", entry.token}})
          .dump());
  instance.connection.username = "worker";
  instance.node_attributes = model::Json{R"({"site":"cluster","zone":"b"})"};
  return instance;
}

// A namespace that is asked to go twice complains.
Task<> ClusterAdapter::remove(model::Json external_id, driver::StateMachine& machine) {
  const std::string name = name_in(external_id);
  const driver::StateMachine::Make make = [&] { return begin_removal(name); };
  const driver::StateMachine::Find find = [&] { return find_removal(name); };
  co_await machine.step("delete", make, find);
  co_await call();
  cluster_->namespaces.erase(name);
}

Task<std::string> ClusterAdapter::begin_removal(std::string name) {
  co_await call();
  const auto entry = cluster_->namespaces.find(name);
  if (entry == cluster_->namespaces.end()) throw CloudError(CloudError::Kind::not_found, name);
  if (entry->second.going) throw CloudError(CloudError::Kind::failed, name + " is going already");
  entry->second.going = true;
  ++cluster_->removals[name];
  co_return name;
}

Task<std::optional<std::string>> ClusterAdapter::find_removal(std::string name) {
  co_await call();
  const auto entry = cluster_->namespaces.find(name);
  if (entry != cluster_->namespaces.end() && !entry->second.going) co_return std::nullopt;
  co_return name;
}

Task<std::vector<driver::Instance>> ClusterAdapter::instances() {
  co_await call();
  std::vector<driver::Instance> all;
  for (const auto& [name, entry] : cluster_->namespaces) all.push_back(describe(name, entry));
  co_return all;
}

Task<std::vector<driver::Resource>> ClusterAdapter::resources() {
  co_await call();
  std::vector<driver::Resource> all;
  for (const auto& [name, entry] : cluster_->namespaces) {
    if (!entry.going) all.push_back({.type = "namespace", .id = name, .metadata = entry.labels});
  }
  co_return all;
}

bool ClusterAdapter::may_be_of(const driver::Resource& resource, const model::Node& node) const {
  return node.external_id.is_null() || name_in(node.external_id) == resource.id;
}

Task<> ClusterAdapter::remove_resource(driver::Resource resource) {
  co_await begin_removal(resource.id);
  cluster_->namespaces.erase(resource.id);
}

Task<bool> ClusterAdapter::is_usable(model::Node /*node*/) {
  co_await call();
  co_return cluster_->is_usable;
}

void ClusterAdapter::tell(const std::string& what, const model::Node& node) {
  cluster_->told.push_back(what + " " + node.id);
}

void ClusterAdapter::take_over(driver::Adapter& predecessor) {
  const bool same = dynamic_cast<ClusterAdapter&>(predecessor).cluster_ == cluster_;
  cluster_->told.emplace_back(same ? "taken over" : "strange");
}

}  // namespace nodepool::drivers::namespaces
