#pragma once

#include <set>
#include <string>
#include <vector>

#include "async/task_scope.h"
#include "coordination/zookeeper/zookeeper_store.h"

namespace nodepool::integration {

using async::Task;

// Requestors side by side, each with a session of its own: they ask for a node with label "a",
// accept it, give it back, and ask again. What fails because servers come and go is done again.
class Load {
 public:
  Load(const async::Runtime& runtime, coordination::zookeeper::ZooKeeperOptions options,
       int requests);

  // Starts the requestors in `scope`.
  void start(async::TaskScope& scope, int clients);

  // Requests that have been fulfilled and their nodes used.
  int served() const { return served_; }
  bool done() const { return served_ == requests_; }
  // Requests that launchers have declined; there is a node for each.
  int failed() const { return failed_; }
  // Attempts that ended with an error of the store, in words.
  const std::vector<std::string>& troubles() const { return troubles_; }
  // Nodes that two requestors had at a time.
  int served_twice() const { return served_twice_; }

 private:
  Task<> client();
  // Returns whether the session is still good.
  Task<bool> serve_requests(coordination::Store& store);
  Task<> one_request(coordination::Store& store);

  async::Runtime runtime_;
  coordination::zookeeper::ZooKeeperOptions options_;
  const int requests_;
  int begun_ = 0;
  int served_ = 0;
  int failed_ = 0;
  int served_twice_ = 0;
  std::vector<std::string> troubles_;
  std::set<std::string> held_;  // ids of nodes that a requestor has now
};

}  // namespace nodepool::integration
