#include "tests/drivers/namespaces/namespaces.h"

#include <nlohmann/json.hpp>

#include "driver/ownership.h"

namespace nodepool::drivers::namespaces {

namespace {

// The id is an object, as that of a cloud where a node has several parts.
model::Json external_id_of(const std::string& name) {
  return model::Json::parse(nlohmann::json({{"namespace", name}}).dump());
}

std::string name_in(const model::Json& external_id) {
  return nlohmann::json::parse(external_id.text).at("namespace").get<std::string>();
}

driver::Instance describe(const std::string& name, const Cluster::Namespace& entry) {
  const nlohmann::json port = {
      {"namespace", name}, {"host", "https://cluster"}, {"token", entry.token}};
  driver::Instance instance;
  instance.external_id = external_id_of(name);
  instance.metadata = entry.labels;
  instance.connection.type = "namespace";
  instance.connection.port = model::Json::parse(port.dump());
  instance.connection.username = "worker";
  instance.node_attributes = model::Json{R"({"site":"cluster","zone":"b"})"};
  return instance;
}

}  // namespace

ClusterConfig::ClusterConfig() : StateMachineConfig({.name = "cluster"}) {
  driver::PoolConfig pool;
  pool.name = "main";
  pool.labels = {"space"};
  pool.node_attributes = model::Json{R"({"team":"a","site":"pool"})"};
  pools_.emplace("main", std::move(pool));
  machine_pools_["main"].labels["space"].cloud_image = "none";
}

ClusterAdapter::ClusterAdapter(const async::Runtime& runtime, std::shared_ptr<Cluster> cluster)
    : runtime_(runtime),
      cluster_(std::move(cluster)),
      listing_(runtime, "namespaces",
               {.unknown = std::chrono::hours(1), .least = std::chrono::milliseconds(10)},
               [this] { return cluster_->list(runtime_); }) {}

Task<> ClusterAdapter::start(std::function<void()> /*changed*/) {
  cluster_->watcher = [this] { listing_.poll_now(); };
  co_return;
}

Task<> ClusterAdapter::stop() {
  cluster_->watcher = nullptr;
  co_await listing_.stop();
}

Task<driver::Instance> ClusterAdapter::create(driver::CreateSpec spec, driver::LaunchSteps& steps) {
  const driver::LaunchSteps::Make make = [&]() -> Task<std::string> {
    std::string name =
        co_await cluster_->make(runtime_, spec.pool + "-" + spec.node_id, spec.metadata);
    steps.set_external_id(external_id_of(name));
    co_return name;
  };
  const driver::LaunchSteps::Find find = [&]() -> Task<std::optional<std::string>> {
    for (const auto& [name, entry] : co_await cluster_->list(runtime_)) {
      if (!driver::carries(entry.labels, spec.metadata)) continue;
      steps.set_external_id(external_id_of(name));
      co_return name;
    }
    co_return std::nullopt;
  };
  const std::string name = co_await steps.step("namespace", make, find);
  driver::PollWaiter active = listing_.await();
  auto seen = co_await listing_.get(std::chrono::seconds(0));
  while (!seen->at(name).is_active) seen = co_await listing_.next(active);
  // May be repeated; the token is no step's result.
  co_return namespaces::describe(name, co_await cluster_->make_account(runtime_, name));
}

Task<> ClusterAdapter::remove(model::Json external_id, driver::LaunchSteps& steps) {
  const std::string name = name_in(external_id);
  const driver::LaunchSteps::Make make = [&]() -> Task<std::string> {
    co_await cluster_->begin_removal(runtime_, name);
    co_return name;
  };
  const driver::LaunchSteps::Find find = [&]() -> Task<std::optional<std::string>> {
    const Namespaces there = co_await cluster_->list(runtime_);
    if (there.contains(name) && !there.at(name).going) co_return std::nullopt;
    co_return name;
  };
  co_await steps.step("delete", make, find);
  co_await cluster_->finish_removal(runtime_, name);
}

Task<driver::MachineList> ClusterAdapter::list() {
  using State = driver::Machine::State;
  driver::MachineList list;
  for (const auto& [name, entry] : co_await cluster_->list(runtime_)) {
    driver::Machine& machine = list.machines.emplace_back(namespaces::describe(name, entry));
    machine.type = "namespace";
    machine.id = name;
    machine.state = cluster_->is_usable ? State::running : State::stopped;
    if (entry.going) machine.state = State::deleting;
  }
  co_return list;
}

Task<> ClusterAdapter::remove_resource(driver::Resource resource) {
  co_await cluster_->begin_removal(runtime_, resource.id);
  co_await cluster_->finish_removal(runtime_, resource.id);
}

}  // namespace nodepool::drivers::namespaces
