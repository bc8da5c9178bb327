#include "tests/drivers/metastatic/other_launchers.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "coordination/lock.h"
#include "coordination/path.h"
#include "coordination/tree.h"
#include "model/paths.h"

namespace nodepool::drivers::metastatic {

using coordination::StoreError;

OtherLaunchers::OtherLaunchers(driver::harness::Installation& installation)
    : installation_(installation),
      runtime_{loop_.executor(), installation.clock, installation.random},
      store_(installation.server, runtime_),
      scope_(runtime_, [](const std::string&, const std::string&) {}) {
  for (const auto root : {model::kRequestsRoot, model::kNodesRoot}) {
    loop_.run(coordination::ensure_path(store_, std::string(root)));
  }
  watching_ = store_.watch(std::string(model::kRequestsRoot),
                           [this](const coordination::WatchEvent&) { changed_.set(); });
  scope_.spawn("requests", watch_requests());
}

OtherLaunchers::~OtherLaunchers() {
  store_.kill_for_tests();
}

Task<> OtherLaunchers::watch_requests() {
  while (true) {
    co_await changed_.wait();
    co_await look_at_requests();
  }
}

Task<> OtherLaunchers::look_at_requests() {
  for (const std::string& id : co_await store_.children(std::string(model::kRequestsRoot))) {
    if (known_.insert(id).second) scope_.spawn("serve " + id, serve(id));
  }
}

Task<> OtherLaunchers::serve(std::string id) {
  co_await runtime_.clock.sleep_for(boot_time);
  try {
    co_await serve_if_there(id);
  } catch (const StoreError&) {
    // It has been withdrawn.
  }
}

Task<> OtherLaunchers::serve_if_there(std::string id) {
  const coordination::Entry entry = co_await store_.get(model::request_path(id));
  model::NodeRequest request = model::parse_node_request(id, entry);
  if (request.node_types != std::vector<std::string>{kBackingLabel}) co_return;
  if (to_be_failed > 0) {
    --to_be_failed;
    request.set_state(model::RequestState::failed, runtime_.clock.wall_seconds());
    request.decline_reasons["pool"] = "the launch failed";
    co_await store_.set(model::request_path(id), to_record(request), entry.stat.version);
    co_return;
  }
  model::Node node = make_node();
  node.allocated_to = id;
  const std::string path = co_await store_.create(model::node_path(""), to_record(node),
                                                  coordination::CreateMode::persistent_sequential);
  co_await store_.create(path + "/lock", "", coordination::CreateMode::persistent);
  request.set_state(model::RequestState::fulfilled, runtime_.clock.wall_seconds());
  request.nodes = {std::string(coordination::base_name(path))};
  co_await store_.set(model::request_path(id), to_record(request), entry.stat.version);
}

model::Node OtherLaunchers::make_node() {
  model::Node node;
  node.set_state(model::NodeState::ready, runtime_.clock.wall_seconds());
  node.created_time = node.state_time;
  node.type = {kBackingLabel};
  node.provider = "sky";
  node.pool = "main";
  node.interface_ip = address;
  node.public_ipv4 = address;
  node.private_ipv4 = "10.0.0.7";
  node.public_ipv6 = "2001:db8::7";
  node.az = "az1";
  node.region = "north";
  node.cloud = "sky-cloud";
  node.host_id = "host-7";
  node.username = "ci";
  node.python_path = "/usr/bin/python3";
  node.shell_type = "sh";
  node.connection_type = "ssh";
  node.connection_port = model::Json{"2222"};
  node.host_keys = {"ssh-ed25519 AAAA"};
  node.attributes = model::Json{R"({"executor-zone": "b", "team": "x"})"};
  return node;
}

// --- from outside

std::vector<model::Node> OtherLaunchers::nodes() {
  std::vector<model::Node> all;
  for (const std::string& id : installation_.nodes()) {
    model::Node node = installation_.node(id);
    if (node.has_label(kBackingLabel)) all.push_back(std::move(node));
  }
  return all;
}

std::vector<std::string> OtherLaunchers::requests() {
  return loop_.run(store_.children(std::string(model::kRequestsRoot)));
}

model::NodeRequest OtherLaunchers::request(const std::string& id) {
  return model::parse_node_request(id, loop_.run(store_.get(model::request_path(id))));
}

std::vector<std::string> OtherLaunchers::lock_holders(const std::string& node_id) {
  const std::string root = model::node_lock_path(node_id);
  std::vector<std::string> holders;
  const auto names = coordination::sorted_contenders(loop_.run(store_.children(root)));
  for (const std::string& name : names) {
    holders.push_back(loop_.run(store_.get(coordination::join_path(root, name))).data);
  }
  return holders;
}

std::string OtherLaunchers::add_backing_node(model::Json user_data, const std::string& owner) {
  model::Node node = make_node();
  node.set_state(model::NodeState::in_use, runtime_.clock.wall_seconds());
  node.user_data = std::move(user_data);
  const std::string path = loop_.run(store_.create(
      model::node_path(""), to_record(node), coordination::CreateMode::persistent_sequential));
  loop_.run(store_.create(path + "/lock", "", coordination::CreateMode::persistent));
  std::string id(coordination::base_name(path));
  lock(id, owner);
  return id;
}

void OtherLaunchers::lock(const std::string& node_id, const std::string& owner) {
  coordination::Lock lock(store_, runtime_.random, model::node_lock_path(node_id), owner,
                          coordination::Lock::Lifetime::persistent);
  EXPECT_TRUE(loop_.run(lock.try_acquire()));
}

std::size_t OtherLaunchers::reclaim_used() {
  std::size_t count = 0;
  for (const model::Node& node : nodes()) {
    if (node.state != model::NodeState::used || !lock_holders(node.id).empty()) continue;
    lose(node.id);
    ++count;
  }
  return count;
}

void OtherLaunchers::unlock(const std::string& node_id) {
  const std::string root = model::node_lock_path(node_id);
  for (const std::string& name : loop_.run(store_.children(root))) {
    loop_.run(store_.remove(coordination::join_path(root, name), coordination::kAnyVersion));
  }
}

void OtherLaunchers::lose(const std::string& node_id) {
  loop_.run(coordination::remove_tree(store_, model::node_path(node_id)));
}

void OtherLaunchers::remove_request(const std::string& id) {
  loop_.run(store_.remove(model::request_path(id), coordination::kAnyVersion));
}

}  // namespace nodepool::drivers::metastatic
