#pragma once

#include <nlohmann/json.hpp>

#include "driver/ownership.h"
#include "driver/statemachine/adapter.h"
#include "driver/statemachine/state_machine_config.h"
#include "tests/drivers/namespaces/cluster.h"

// A driver whose nodes are no machines: namespaces of a cluster. They have no address, and a
// token is all that their use takes; so nothing of this is known outside this folder.
namespace nodepool::drivers::namespaces {

// A provider "cluster" with a pool "main" that has a label "space".
struct ClusterConfig final : driver::StateMachineConfig {
  ClusterConfig() : StateMachineConfig({.name = "cluster"}) {
    driver::PoolConfig& pool = pools_["main"];
    pool.name = "main";
    pool.labels = {"space"};
    pool.node_attributes = model::Json{R"({"team":"a","site":"pool"})"};
    machine_pools_["main"].labels["space"].cloud_image = "none";
  }
};

class ClusterAdapter final : public driver::Adapter {
 public:
  ClusterAdapter(const async::Runtime& runtime, std::shared_ptr<Cluster> cluster)
      : runtime_(runtime), cluster_(std::move(cluster)) {}
  driver::CloudTraits traits() override { return {.consistency_delay = std::chrono::seconds(2)}; }

  Task<driver::Instance> create(driver::CreateSpec spec, driver::LaunchSteps& steps) override {
    const driver::LaunchSteps::Make make = [&]() -> Task<std::string> {
      std::string name = co_await cluster_->make(runtime_, spec.hostname, spec.metadata);
      steps.set_external_id(describe_space(name, {}).external_id);
      co_return name;
    };
    const driver::LaunchSteps::Find find = [&]() -> Task<std::optional<std::string>> {
      for (const auto& [name, space] : co_await cluster_->list(runtime_)) {
        if (!driver::carries(space.labels, spec.metadata)) continue;
        steps.set_external_id(describe_space(name, space).external_id);
        co_return name;
      }
      co_return std::nullopt;
    };
    const std::string name = co_await steps.step("namespace", make, find);
    co_await cluster_->wait_until_active(runtime_, name);
    // May be repeated; the token is no step's result.
    co_return describe_space(name, co_await cluster_->make_account(runtime_, name));
  }

  Task<> remove(model::Json external_id, driver::LaunchSteps& steps) override {
    const std::string name = nlohmann::json::parse(external_id.text).at("namespace");
    const driver::LaunchSteps::Make make = [&] { return cluster_->begin_removal(runtime_, name); };
    const driver::LaunchSteps::Find find = [&]() -> Task<std::optional<std::string>> {
      const auto there = co_await cluster_->list(runtime_);
      if (there.contains(name) && !there.at(name).going) co_return std::nullopt;
      co_return name;
    };
    co_await steps.step("delete", make, find);
    co_await cluster_->finish_removal(runtime_, name);
  }

  Task<driver::MachineList> list() override {
    using State = driver::Machine::State;
    driver::MachineList list;
    for (const auto& [name, space] : co_await cluster_->list(runtime_)) {
      driver::Machine& machine = list.machines.emplace_back(describe_space(name, space));
      machine.type = "namespace";
      machine.id = name;
      machine.state = cluster_->is_usable ? State::running : State::stopped;
      if (space.going) machine.state = State::deleting;
    }
    co_return list;
  }

  Task<> remove_resource(driver::Resource resource) override {
    co_await cluster_->begin_removal(runtime_, resource.id);
    co_await cluster_->finish_removal(runtime_, resource.id);
  }

 private:
  static driver::Instance describe_space(const std::string& name, const Cluster::Namespace& space) {
    const nlohmann::json id = {{"namespace", name}};  // as in a cloud where nodes have several ids
    const nlohmann::json port = {
        {"namespace", name}, {"host", "https://cluster"}, {"token", space.token}};
    driver::Instance instance;
    instance.external_id.text = id.dump();
    instance.metadata = space.labels;
    instance.connection.type = "namespace";
    instance.connection.port.text = port.dump();
    instance.connection.username = "worker";
    instance.node_attributes.text = R"({"site":"cluster","zone":"b"})";
    return instance;
  }

  async::Runtime runtime_;
  std::shared_ptr<Cluster> cluster_;
};

}  // namespace nodepool::drivers::namespaces
