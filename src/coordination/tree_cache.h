#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "async/event.h"
#include "async/runtime.h"
#include "coordination/store.h"

namespace nodepool::coordination {

// What a TreeCache tells whoever keeps the cached records. Paths are relative to the cache's root,
// whose own data are of no interest.
class TreeListener {
 public:
  enum class Interest {
    none,  // nothing of this path or below it is of interest
    leaf,  // only whether it exists, and nothing below it
    name,  // only whether it exists: its data are not read
    data,
  };

  virtual ~TreeListener() = default;

  virtual Interest interest(std::string_view path) const = 0;

  // The node exists, with this entry (empty unless its data are of interest). Called for every
  // version that the cache sees, never with an older one; twice for the same one only after the
  // loss of the session, when it may be another store's.
  virtual void on_changed(std::string_view path, const Entry& entry) = 0;

  virtual void on_removed(std::string_view path) = 0;

  // The first walk is complete, or the one after a disconnection.
  virtual void on_ready() = 0;

  // The cache no longer follows the store: decisions must wait for on_ready().
  virtual void on_lost() = 0;
};

// Follows a subtree of the store in memory through a persistent recursive watch. After every
// disconnection it walks the tree anew, because changes may have been missed.
class TreeCache {
 public:
  // `listener` outlives the cache.
  TreeCache(const async::Runtime& runtime, Store& store, std::string root, TreeListener& listener);

  // Follows the tree until it is cancelled: spawn it in the owner's scope. Throws StoreError only
  // when the store is closed; other failures end in another walk.
  Task<> run();

  bool ready() const { return ready_; }

  // Number of events not yet applied.
  std::size_t queued() const { return queue_.size(); }

  // Whether the store is known to hold a node at `path` (relative, of interest).
  bool knows(std::string_view path) const { return known_.contains(path); }

  // Tells the cache of an own write, so that its owner sees the result at once and not after a
  // round trip. Ignored if the cache knows that version or a newer one.
  void apply(std::string_view path, const Entry& entry);
  // The same for an owner that takes in the record itself: returns whether it is to do so.
  [[nodiscard]] bool apply_version(std::string_view path, const Stat& stat);
  void apply_removed(std::string_view path);

 private:
  void on_event(const WatchEvent& event);
  void on_session(SessionState state);
  void lose();
  void take(std::string_view path, const Entry& entry);
  bool is_newer(std::string_view path, const Stat& stat);
  bool is_known_already(std::string_view path, const std::vector<WatchEvent::Kind>& events);
  Task<> catch_up();
  Task<> apply_events(std::vector<WatchEvent> events, std::set<std::string, std::less<>> missing);
  Task<> walk();
  // Visits paths side by side. With `below`, collects their children of interest there.
  Task<> for_each(std::vector<std::string> paths, std::vector<std::string>* below);
  Task<> visit(std::string path, std::vector<std::string>* below);
  Task<> list(std::string path, std::vector<std::string>& below);
  // Takes in that a path was not found.
  void gone(std::string_view path);
  std::string absolute(std::string_view path) const;

  async::Runtime runtime_;
  Store& store_;
  std::string root_;
  TreeListener& listener_;

  async::Event wake_{"a record or lock changed"};
  bool ready_ = false;
  bool walk_needed_ = false;
  bool walking_ = false;
  // With another session the store may be another one, or an older copy: until it has been walked,
  // everything is news, whatever its number.
  bool may_be_older_ = false;

  // What is known of a node. Every change of its data is told by an event of its own, and a read
  // shows at least what has been told: so the events say which version there is now.
  struct Known {
    std::int64_t mzxid = 0;
    std::int32_t version = 0;
    std::int32_t told = 0;  // the version after the events that have been applied, or a later one
  };

  std::vector<WatchEvent> queue_;                    // with relative paths
  std::set<std::string, std::less<>> missing_;       // paths that a read has not found
  std::map<std::string, Known, std::less<>> known_;  // by path
};

}  // namespace nodepool::coordination
