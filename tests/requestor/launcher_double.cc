#include "tests/requestor/launcher_double.h"

#include <gtest/gtest.h>

#include "coordination/lock.h"
#include "coordination/path.h"
#include "coordination/tree.h"
#include "model/paths.h"

namespace nodepool::requestor {

using coordination::CreateMode;
using coordination::Entry;
using coordination::StoreError;

LauncherDouble::LauncherDouble(const async::Runtime& runtime, coordination::Store& store)
    : runtime_(runtime),
      store_(store),
      scope_(runtime, [](const std::string& name, const std::string& error) {
        ADD_FAILURE() << name << ": " << error;
      }) {}

async::Task<std::string> LauncherDouble::add_pool(std::string provider,
                                                  std::vector<std::string> labels) {
  model::Component pool;
  pool.kind = model::Component::Kind::pool;
  pool.hostname = "host";
  pool.state = "running";
  pool.id = "host-PoolWorker." + provider + "-main-0123456789abcdef";
  pool.name = "main";
  pool.provider_name = std::move(provider);
  pool.supported_labels = std::move(labels);
  pool_ids_.push_back(pool.id);
  const std::string root = std::string(model::kComponentsRoot) + "/pool";
  co_await coordination::ensure_path(store_, root);
  co_await store_.create(root + "/host", to_record(pool), CreateMode::ephemeral_sequential);
  co_return pool.id;
}

async::Task<std::string> LauncherDouble::add_node(model::Node node) {
  co_await coordination::ensure_path(store_, std::string(model::kNodesRoot));
  const std::string path = co_await store_.create(model::node_path(""), to_record(node),
                                                  CreateMode::persistent_sequential);
  co_return std::string(coordination::base_name(path));
}

async::Task<model::Node> LauncherDouble::node(std::string id) {
  const Entry entry = co_await store_.get(model::node_path(id));
  co_return model::parse_node(std::move(id), entry);
}

async::Task<std::vector<std::string>> LauncherDouble::lock_line(std::string node_id) {
  const std::string root = model::node_lock_path(node_id);
  if (!co_await store_.exists(root)) co_return std::vector<std::string>();
  const std::vector<std::string> names =
      coordination::sorted_contenders(co_await store_.children(root));
  std::vector<std::string> data;
  for (const std::string& name : names) {
    const Entry entry = co_await store_.get(coordination::join_path(root, name));
    data.push_back(entry.data);
  }
  co_return data;
}

async::Task<std::vector<std::string>> LauncherDouble::requests() {
  const std::string root(model::kRequestsRoot);
  if (!co_await store_.exists(root)) co_return std::vector<std::string>();
  co_return co_await store_.children(root);
}

void LauncherDouble::start() {
  watch_ = store_.watch(std::string(model::kRequestsRoot),
                        [this](const coordination::WatchEvent& event) {
                          using Kind = coordination::WatchEvent::Kind;
                          if (event.kind != Kind::created || event.path == model::kRequestsRoot) {
                            return;
                          }
                          scope_.spawn("answer " + event.path, answer(event.path));
                        });
}

async::Task<> LauncherDouble::answer(std::string path) {
  if (reaction_ == Reaction::ignore) co_return;
  try {
    const Entry entry = co_await store_.get(path);
    model::NodeRequest request =
        model::parse_node_request(std::string(coordination::base_name(path)), entry);
    if (reaction_ == Reaction::fulfil) {
      co_await fulfil(std::move(request));
    } else {
      co_await decline(std::move(request));
    }
  } catch (const StoreError& error) {
    if (error.kind() != StoreError::Kind::no_node) throw;  // withdrawn meanwhile
  }
}

async::Task<> LauncherDouble::fulfil(model::NodeRequest request) {
  for (const std::string& label : request.node_types) {
    model::Node node;
    node.set_state(model::NodeState::ready, runtime_.clock.wall_seconds());
    node.provider = "rack";
    node.pool = "main";
    node.type = {label};
    node.allocated_to = request.id;
    node.interface_ip = "192.0.2." + std::to_string(request.nodes.size() + 1);
    node.connection_type = "ssh";
    if (adorn) adorn(node, request.nodes.size());
    request.nodes.push_back(co_await add_node(std::move(node)));
  }
  request.set_state(model::RequestState::fulfilled, runtime_.clock.wall_seconds());
  co_await store_.set(model::request_path(request.id), to_record(request), request.stat.version);
}

async::Task<model::NodeRequest> LauncherDouble::request(std::string id) {
  const Entry entry = co_await store_.get(model::request_path(id));
  co_return model::parse_node_request(std::move(id), entry);
}

async::Task<> LauncherDouble::fulfil_now(std::string request_id) {
  model::NodeRequest asked = co_await request(std::move(request_id));
  co_await fulfil(std::move(asked));
}

async::Task<> LauncherDouble::fulfil_with(std::string request_id,
                                          std::vector<std::string> node_ids) {
  model::NodeRequest asked = co_await request(std::move(request_id));
  asked.nodes = std::move(node_ids);
  asked.set_state(model::RequestState::fulfilled, runtime_.clock.wall_seconds());
  co_await store_.set(model::request_path(asked.id), to_record(asked), asked.stat.version);
}

async::Task<> LauncherDouble::decline(model::NodeRequest request) {
  request.declined_by = pool_ids_;
  for (const std::string& id : pool_ids_) request.decline_reasons[id] = "it would exceed quota";
  request.set_state(model::RequestState::failed, runtime_.clock.wall_seconds());
  co_await store_.set(model::request_path(request.id), to_record(request), request.stat.version);
}

}  // namespace nodepool::requestor
