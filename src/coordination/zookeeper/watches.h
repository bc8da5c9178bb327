#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "coordination/store.h"

namespace nodepool::coordination::zookeeper {

// The watches of one store. The server has one watch for each root, shared by all handlers of that
// root. Handlers may add and drop watches.
class Watches {
 public:
  // Called for a root whose last watch has been dropped.
  using Unwatch = std::function<void(const std::string& root)>;

  explicit Watches(Unwatch unwatch);

  // Registers a watch. Its handler is not called until the server watches its root: see begin().
  // Throws StoreError(invalid).
  Subscription add(std::string root, WatchHandler handler);

  // Identifies the current set of watches, for a request that is made now.
  std::uint64_t latest() const;

  // All roots, to watch on a new connection.
  std::set<std::string> roots() const;

  // To be called when the connection is lost: no handler is called until the next begin().
  void lose();

  // To be called when the server watches `root`, by the request made when latest() was `latest`.
  // Starts the watches up to that one with a resync, if they have not started. (A later watch may
  // follow a request that ends this watch, and has a request of its own.)
  void begin(const std::string& root, std::uint64_t latest);

  // Passes a change to all watches whose root contains it.
  void notify(const WatchEvent& event);

  // Ends all watches.
  void clear();

 private:
  struct Watch;
  struct Registry;

  std::shared_ptr<Registry> registry_;
};

}  // namespace nodepool::coordination::zookeeper
