#pragma once

#include <set>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/event_loop.h"
#include "async/task_scope.h"
#include "coordination/memory/memory_store.h"
#include "model/node.h"
#include "model/node_request.h"
#include "tests/driver/harness/installation.h"

namespace nodepool::drivers::metastatic {

using async::Task;

inline constexpr const char* kBackingLabel = "big";

// The launchers that make backing nodes, in a process of their own: what they answer, and when.
class OtherLaunchers {
 public:
  explicit OtherLaunchers(driver::harness::Installation& installation);
  ~OtherLaunchers();
  OtherLaunchers(const OtherLaunchers&) = delete;
  OtherLaunchers& operator=(const OtherLaunchers&) = delete;

  async::Duration boot_time = std::chrono::milliseconds(100);
  std::size_t to_be_failed = 0;  // of the next requests
  std::string address = "192.0.2.7";

  // Runs what can run. Returns whether anything did.
  bool poll() { return loop_.poll(); }

  // All nodes with the backing label.
  std::vector<model::Node> nodes();
  // The ids of the requests for such nodes.
  std::vector<std::string> requests();
  model::NodeRequest request(const std::string& id);
  // The names that the contenders for the node's lock carry.
  std::vector<std::string> lock_holders(const std::string& node_id);

  // Makes the record of a backing node that is in use, as it is given; returns its id.
  std::string add_backing_node(model::Json user_data, const std::string& owner);

  // Takes back the nodes that are used and unlocked; returns how many.
  std::size_t reclaim_used();
  void lock(const std::string& node_id, const std::string& owner);
  // All contenders for the node's lock go, whosever they are.
  void unlock(const std::string& node_id);
  // A backing node goes, whoever has it.
  void lose(const std::string& node_id);
  // Somebody removes the request.
  void remove_request(const std::string& id);

 private:
  Task<> watch_requests();
  Task<> look_at_requests();
  Task<> serve(std::string id);
  Task<> serve_if_there(std::string id);
  model::Node make_node();

  driver::harness::Installation& installation_;
  async::EventLoop loop_;
  async::Runtime runtime_;
  coordination::MemoryStore store_;
  async::Event changed_;
  coordination::Subscription watching_;
  std::set<std::string> known_;
  async::TaskScope scope_;
};

}  // namespace nodepool::drivers::metastatic
