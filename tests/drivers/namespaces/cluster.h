#pragma once

#include <map>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/runtime.h"
#include "async/task.h"
#include "driver/images.h"

namespace nodepool::drivers::namespaces {

using async::Task;

// A cluster that hands out namespaces, as its clients and a test see it. Each call takes a second.
class Cluster {
 public:
  struct Namespace {
    driver::Metadata labels;
    std::string token = {};  // once there is an account
    bool is_active = true;
    bool going = false;
  };

  // Makes a namespace whose name begins with `prefix`, and returns its name.
  Task<std::string> make(async::Runtime runtime, std::string prefix, driver::Metadata labels);

  // All there are, by name.
  Task<std::map<std::string, Namespace>> list(async::Runtime runtime);

  // A watch: responds when the namespace is active.
  Task<> wait_until_active(async::Runtime runtime, std::string name);

  // Makes an account, if there is none, and returns the namespace.
  Task<Namespace> make_account(async::Runtime runtime, std::string name);

  // Returns the name. A namespace that is asked to go twice complains: CloudError::failed. It is
  // there until finish_removal(). CloudError::not_found.
  Task<std::string> begin_removal(async::Runtime runtime, std::string name);
  Task<> finish_removal(async::Runtime runtime, std::string name);

  // If the cluster is slow, new namespaces are of no use until activate().
  void activate();

  bool is_slow = false;
  int calls = 0;  // of all clients
  std::map<std::string, Namespace> namespaces = {};
  std::map<std::string, int> removals = {};  // asked for, by name
  bool is_usable = true;

 private:
  Task<> call(async::Runtime runtime);

  async::Event activated_;
  int made_ = 0;  // of all times
};

}  // namespace nodepool::drivers::namespaces
