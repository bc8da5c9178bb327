#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "coordination/store.h"

namespace nodepool::coordination::zookeeper {

// The watches of one store. The server keeps one for each root; this knows who is told. Handlers
// may add and drop watches.
class Watches {
 public:
  // Told of a root whose last watch has been dropped.
  using Unwatch = std::function<void(const std::string& root)>;

  explicit Watches(Unwatch unwatch);

  // Registers a watch. It is told nothing until the server watches its root: see begin(). Throws
  // StoreError(invalid).
  Subscription add(std::string root, WatchHandler handler);

  // Names all watches that there are now, for a request that is made now.
  std::uint64_t latest() const;

  // All watched roots: what the server of a new connection has to watch.
  std::set<std::string> roots() const;

  // A connection is lost: nobody is told anything until the next begin().
  void lose();

  // The server watches `root` by the request that was made when `latest` was the latest(): its
  // watches up to that one are told to look at everything, if they have not begun. (A later one
  // may follow a request that ends this watch, and has a request of its own.)
  void begin(const std::string& root, std::uint64_t latest);

  // Tells a change to all whose root it is within.
  void tell(const WatchEvent& event);

  // Ends all watches.
  void clear();

 private:
  struct Watch;
  struct Registry;

  std::shared_ptr<Registry> registry_;
};

}  // namespace nodepool::coordination::zookeeper
