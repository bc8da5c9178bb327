#pragma once

#include <functional>
#include <string>
#include <vector>

#include "async/runtime.h"
#include "async/task_scope.h"
#include "coordination/store.h"
#include "model/component.h"
#include "model/node.h"
#include "model/node_request.h"

namespace nodepool::requestor {

// Plays the launcher: answers node requests as a test tells it to.
class LauncherDouble {
 public:
  enum class Reaction {
    ignore,   // leaves requests as they are
    fulfil,   // with new nodes
    decline,  // in the name of all pools, so that the request fails
  };

  LauncherDouble(const async::Runtime& runtime, coordination::Store& store);

  // What happens to requests that come from now on.
  void react(Reaction reaction) { reaction_ = reaction; }

  // Called for each node before it is handed out, with its position in the request.
  std::function<void(model::Node&, std::size_t)> adorn;

  // Registers a pool; returns its id.
  async::Task<std::string> add_pool(std::string provider, std::vector<std::string> labels);

  // Stores a node; returns its id.
  async::Task<std::string> add_node(model::Node node);

  // The node as it is in the store.
  async::Task<model::Node> node(std::string id);

  // The data of the contenders for a node's lock, the holder's first.
  async::Task<std::vector<std::string>> lock_line(std::string node_id);

  // The ids of the requests in the store.
  async::Task<std::vector<std::string>> requests();

  // Answers one request that has been left as it is: with new nodes, or with these.
  async::Task<> fulfil_now(std::string request_id);
  async::Task<> fulfil_with(std::string request_id, std::vector<std::string> node_ids);

  // Begins to answer requests.
  void start();
  async::Task<> stop() { return scope_.stop(); }

 private:
  async::Task<> answer(std::string path);
  async::Task<model::NodeRequest> request(std::string id);
  async::Task<> fulfil(model::NodeRequest request);
  async::Task<> decline(model::NodeRequest request);

  async::Runtime runtime_;
  coordination::Store& store_;
  Reaction reaction_ = Reaction::fulfil;
  std::vector<std::string> pool_ids_;
  coordination::Subscription watch_;
  async::TaskScope scope_;
};

}  // namespace nodepool::requestor
