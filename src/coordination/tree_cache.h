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

// The consumer of a TreeCache. Paths are relative to the cache's root, whose own data are ignored.
class TreeListener {
 public:
  enum class Interest {
    none,  // ignore this path and its descendants
    leaf,  // only its existence; ignore its descendants
    name,  // only its existence: its data are not read
    data,
  };

  virtual ~TreeListener() = default;

  virtual Interest interest(std::string_view path) const = 0;

  // The node exists, with this entry (empty unless the interest is `data`). Called for every
  // version that the cache sees. Called for an older one only between on_lost() and on_ready(): the
  // store may have been replaced by an older copy. Called twice for the same version only after the
  // loss of the session, when it may belong to another store.
  virtual void on_changed(std::string_view path, const Entry& entry) = 0;

  virtual void on_removed(std::string_view path) = 0;

  // An access control list forbids to read the node at `path` or to list its children, or
  // on_changed() has thrown. Returns whether the cache goes on without them; otherwise following
  // the tree fails. on_changed() and on_removed() follow as for other nodes. May be called again
  // for the same path. By default, returns false.
  virtual bool on_unreadable(std::string_view /*path*/, const std::string& /*reason*/) {
    return false;
  }

  // The first walk, or the one after a disconnection, is complete.
  virtual void on_ready() = 0;

  // The cache no longer follows the store: decisions must wait for on_ready().
  virtual void on_lost() = 0;

  // Following the tree has failed, not because of an outage; the cache retries. By default, does
  // nothing.
  virtual void on_failed(const std::string& /*reason*/) {}
};

// Caches a subtree of the store in memory with a persistent recursive watch. After every
// disconnection it walks the tree again, because changes may have been missed.
class TreeCache {
 public:
  // `listener` outlives the cache.
  TreeCache(const async::Runtime& runtime, Store& store, std::string root, TreeListener& listener);

  // Follows the tree until cancelled. Throws StoreError only if the store is closed; other failures
  // lead to another walk.
  Task<> run();

  bool ready() const { return ready_; }

  // Number of events not yet applied.
  std::size_t queued() const { return queue_.size(); }

  // Whether the cache contains a node at `path` (relative, not ignored).
  bool knows(std::string_view path) const { return known_.contains(path); }

  // Applies an own write, so that the owner sees the result at once and not after a round trip.
  // Ignored if the cache has that version or a newer one.
  void apply(std::string_view path, const Entry& entry);
  // The same for an owner that updates its record itself: returns whether it must do so.
  [[nodiscard]] bool apply_version(std::string_view path, const Stat& stat);
  void apply_removed(std::string_view path);

 private:
  void on_event(const WatchEvent& event);
  void on_session(SessionState state);
  void lose();
  void take(std::string_view path, const Entry& entry);
  bool is_newer(std::string_view path, const Stat& stat);
  bool is_known_already(std::string_view path, const std::vector<WatchEvent::Kind>& events);
  Task<> wait_for_work();
  Task<> catch_up();
  Task<> apply_events(std::vector<WatchEvent> events, std::set<std::string, std::less<>> missing);
  Task<> walk();
  // Visits paths concurrently. With `below`, collects their children that are not ignored.
  Task<> for_each(std::vector<std::string> paths, std::vector<std::string>* below);
  Task<> visit(std::string path, std::vector<std::string>* below);
  Task<bool> read(std::string path, TreeListener::Interest interest);
  Task<> list(std::string path, std::vector<std::string>& below);
  void forget_lost_version(std::string_view path, const Stat& stat);
  bool can_do_without(std::string_view path, const StoreError& error);
  // Handles a path that was not found.
  void handle_missing(std::string_view path);
  std::string absolute(std::string_view path) const;

  async::Runtime runtime_;
  Store& store_;
  std::string root_;
  TreeListener& listener_;

  async::Event wake_{"a record or lock changed"};
  async::Event resync_{"the store is back"};
  bool ready_ = false;
  bool walk_needed_ = false;
  bool walking_ = false;
  // After the loss of the session the store may be another one or an older copy: until it has been
  // walked, every record counts as newer.
  bool may_be_older_ = false;

  // A cached node. Every change of its data has an event, and a read returns at least the version
  // of the events received, so counting events gives the current version.
  struct Known {
    std::int64_t mzxid = 0;
    std::int32_t version = 0;
    std::int32_t announced = 0;  // the version after the applied events, or a later one
  };

  std::vector<WatchEvent> queue_;                    // with relative paths
  std::set<std::string, std::less<>> missing_;       // paths that a read did not find
  std::set<std::string, std::less<>> unreadable_;    // with data; they are read again sometimes
  async::Clock::TimePoint next_rereading_;           // of these
  std::map<std::string, Known, std::less<>> known_;  // by path
};

}  // namespace nodepool::coordination
