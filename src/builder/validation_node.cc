#include "builder/validation_node.h"

#include <stdexcept>
#include <utility>

#include "coordination/path.h"
#include "coordination/tree.h"
#include "lifecycle/reclaim.h"
#include "model/installation.h"
#include "model/paths.h"

namespace nodepool::builder {

namespace {

using coordination::LockSet;
using coordination::Transaction;
using model::NodeState;

}  // namespace

ValidationNode::ValidationNode(const BuilderContext& context, model::Node node,
                               driver::UploadedImage image)
    : context_(context),
      locks_(context.store, context.runtime.random),
      node_(std::move(node)),
      image_(std::move(image)) {
  node_.created_time = context_.now();
  request_.node_types = node_.type;
  request_.created_time = context_.now();
}

Task<> ValidationNode::create() {
  co_await coordination::ensure_path(context_.store, std::string(model::kNodesRoot));
  node_.set_state(NodeState::init, context_.now());
  Transaction creating;
  // Fails in an emptied store whose new owner tag is not known yet.
  if (!context_.installation->id.empty()) creating.check(std::string(model::kInstallationPath));
  creating.create(model::node_path(""), to_record(node_),
                  coordination::CreateMode::persistent_sequential);
  const auto created = co_await context_.store.commit(std::move(creating));
  node_.id = std::string(coordination::base_name(created.back().path));
  node_.stat = created.back().stat;
  lock_ = locks_.add(model::node_lock_path(node_.id), /*root_exists=*/false);
  node_.set_state(NodeState::building, context_.now());
  Transaction building;
  building.set(model::node_path(node_.id), to_record(node_), node_.stat.version);
  const LockSet::Outcome taken = co_await locks_.try_acquire(std::move(building));
  if (taken.kind != LockSet::Outcome::Kind::acquired) {
    throw std::runtime_error("node " + node_.id + " was locked by another process");
  }
  node_.stat = locks_.also_results().front().stat;
}

Task<> ValidationNode::save() {
  return lifecycle::save_locked(context_.node_writer(), node_, locks_.lock(lock_));
}

Task<> ValidationNode::reclaim(driver::Provider& provider) {
  Task<std::optional<model::Node>> reclaiming =
      lifecycle::reclaim(context_.node_writer(), provider, node_, locks_.lock(lock_));
  co_await std::move(reclaiming);
}

Task<> ValidationNode::leave() {
  co_await locks_.release();
}

}  // namespace nodepool::builder
