#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "async/runtime.h"
#include "async/task.h"
#include "driver/images.h"

namespace nodepool::drivers::namespaces {

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
  async::Task<std::string> make(async::Runtime runtime, std::string prefix,
                                driver::Metadata labels);

  // All there are, by name.
  async::Task<std::map<std::string, Namespace>> list(async::Runtime runtime);

  // Makes an account, if there is none, and returns the namespace.
  async::Task<Namespace> make_account(async::Runtime runtime, std::string name);

  // A namespace that is asked to go twice complains: CloudError::failed. It is there until
  // finish_removal(). CloudError::not_found.
  async::Task<> begin_removal(async::Runtime runtime, std::string name);
  async::Task<> finish_removal(async::Runtime runtime, std::string name);

  // New namespaces are of no use until activate(), of which the watcher is told.
  void activate();

  bool is_slow = false;
  std::function<void()> watcher = {};  // of the client that was started last
  std::map<std::string, Namespace> namespaces = {};
  std::map<std::string, int> removals = {};  // asked for, by name
  bool is_usable = true;
  std::vector<std::string> notifications = {};  // of reused and deleted nodes

 private:
  static async::Task<> call(async::Runtime runtime);

  int made_ = 0;  // of all times
};

}  // namespace nodepool::drivers::namespaces
