#pragma once

#include <memory>
#include <string>
#include <vector>

#include "coordination/store.h"

namespace nodepool::coordination::sqlite {

// The watches of one store, on the event loop. Handlers may add and drop watches.
class Watchers {
 public:
  // Registers a watch. It starts with a resync, after the other watches have got the earlier
  // changes: prepare(), read the changes, notify(). Throws StoreError(invalid).
  Subscription add(std::string root, WatchHandler handler);

  // To be called before reading the changes for notify().
  void prepare();

  // Passes the changes to all started watches, and starts the prepared ones.
  void notify(const std::vector<WatchEvent>& changes);

  // Passes a resync to all started watches.
  void resync();

  // Ends all watches.
  void clear() { watchers_.clear(); }

 private:
  enum class Stage { added, prepared, begun };
  struct Watcher {
    std::string root;
    WatchHandler handler;
    Stage stage = Stage::added;
  };

  void notify(const WatchEvent& event);

  std::vector<std::weak_ptr<Watcher>> watchers_;  // each is owned by its subscription
};

}  // namespace nodepool::coordination::sqlite
