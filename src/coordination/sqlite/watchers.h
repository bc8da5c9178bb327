#pragma once

#include <memory>
#include <string>
#include <vector>

#include "coordination/store.h"

namespace nodepool::coordination::sqlite {

// The watches of one store, on the event loop. Handlers may add and drop watches.
class Watchers {
 public:
  // Registers a watch, which begins with a resync when the changes that came before it have been
  // told to the others: prepare(), read the changes, tell(). Throws StoreError(invalid).
  Subscription add(std::string root, WatchHandler handler);

  // To be called before changes are read that are then passed to tell().
  void prepare();

  // Tells the changes to all watches that have begun, and begins those that were prepared.
  void tell(const std::vector<WatchEvent>& changes);

  // Tells all watches that have begun to look at everything.
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

  void tell(const WatchEvent& event);

  std::vector<std::weak_ptr<Watcher>> watchers_;  // each is owned by its subscription
};

}  // namespace nodepool::coordination::sqlite
