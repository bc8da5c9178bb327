#include "coordination/tree_cache.h"

#include <algorithm>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "async/task_scope.h"
#include "coordination/outage.h"
#include "coordination/path.h"

namespace nodepool::coordination {

namespace {

using Kind = StoreError::Kind;
using Interest = TreeListener::Interest;

// Concurrent reads: enough to hide the round trips of a distant store and to fill batches of reads,
// without flooding the store.
constexpr std::size_t kConcurrentReads = 256;

// The pause after a failed walk, because an unreachable store fails at once. It doubles while the
// failure is not an outage.
constexpr async::Duration kRetryPause = std::chrono::milliseconds(500);
constexpr async::Duration kLongestRetryPause = std::chrono::seconds(10);

// A change of an access control list has no event.
constexpr auto kRereadingInterval = std::chrono::seconds(60);

}  // namespace

TreeCache::TreeCache(const async::Runtime& runtime, Store& store, std::string root,
                     TreeListener& listener)
    : runtime_(runtime), store_(store), root_(std::move(root)), listener_(listener) {}

std::string TreeCache::absolute(std::string_view path) const {
  return path.empty() ? root_ : join_path(root_, path);
}

void TreeCache::on_event(const WatchEvent& event) {
  if (event.kind == WatchEvent::Kind::resync) {
    walk_needed_ = true;
    resync_.set();
  } else {
    const std::string_view path = relative_path(event.path, root_);
    const Interest interest = path.empty() ? Interest::none : listener_.interest(path);
    if (interest == Interest::none) return;
    queue_.push_back({event.kind, std::string(path)});
    // A new name has no data to read, so it is applied at once: the owner sees a lock before all
    // later changes. (Removed names are applied after data, see below.)
    const bool is_name = interest == Interest::name || interest == Interest::leaf;
    if (ready_ && is_name && event.kind == WatchEvent::Kind::created && !known_.contains(path)) {
      take(path, Entry{});
    }
  }
  wake_.set();
}

void TreeCache::on_session(SessionState state) {
  if (state == SessionState::suspended || state == SessionState::expired) lose();
  if (state == SessionState::expired) may_be_older_ = true;
}

void TreeCache::lose() {
  walk_needed_ = true;
  if (!std::exchange(ready_, false)) return;
  listener_.on_lost();
}

Task<> TreeCache::run() {
  const Subscription session = store_.on_session([this](SessionState state) { on_session(state); });
  const Subscription watching =
      store_.watch(root_, [this](const WatchEvent& event) { on_event(event); });
  async::Duration pause = kRetryPause;
  while (true) {
    co_await wait_for_work();
    // Lets tasks whose write has just completed apply it first.
    co_await boost::asio::post(boost::asio::use_awaitable);
    bool failed = false;
    try {
      co_await catch_up();
    } catch (const StoreError& error) {
      if (error.kind() == Kind::closed) throw;
      if (is_outage(error)) {
        pause = kRetryPause;
      } else {
        listener_.on_failed(error.what());
      }
      failed = true;
    } catch (const async::Cancelled&) {
      throw;
    } catch (const std::exception& error) {
      listener_.on_failed(error.what());
      failed = true;
    }
    walking_ = false;
    if (!failed) {
      pause = kRetryPause;
      continue;
    }
    lose();
    // A resync reports that the store is back. The end of other failures is not reported. Other
    // events do not end the pause: walks would be most of the work of a store that is overloaded.
    const bool is_back = co_await resync_.wait_until(runtime_.clock, runtime_.clock.now() + pause);
    pause = is_back ? kRetryPause : std::min(2 * pause, kLongestRetryPause);
    wake_.set();
  }
}

Task<> TreeCache::wait_for_work() {
  if (unreadable_.empty()) {
    co_await wake_.wait();
    co_return;
  }
  co_await wake_.wait_until(runtime_.clock, next_rereading_);
  if (runtime_.clock.now() < next_rereading_) co_return;
  next_rereading_ = runtime_.clock.now() + kRereadingInterval;
  for (const std::string& path : unreadable_) {
    queue_.push_back({WatchEvent::Kind::created, path});
  }
}

Task<> TreeCache::catch_up() {
  while (walk_needed_ || !queue_.empty() || !missing_.empty()) {
    const bool walked = std::exchange(walk_needed_, false);
    if (walked) {
      queue_.clear();
      missing_.clear();
      co_await walk();
    }
    co_await apply_events(std::exchange(queue_, {}), std::exchange(missing_, {}));
    if (walked && !walk_needed_) may_be_older_ = false;
    if (walked && !walk_needed_ && !ready_) {
      ready_ = true;
      listener_.on_ready();
    }
  }
}

Task<> TreeCache::apply_events(std::vector<WatchEvent> events,
                               std::set<std::string, std::less<>> missing) {
  // A read returns the newest state, so one read serves all events of a path. None is needed for a
  // removed path and for own changes.
  std::map<std::string_view, std::vector<WatchEvent::Kind>> by_path;
  for (const WatchEvent& event : events) by_path[event.path].push_back(event.kind);
  // A path that was not found may have been created since: its events decide.
  for (const std::string& path : missing) {
    const auto [kinds, has_no_event] = by_path.try_emplace(path);
    if (has_no_event) kinds->second.push_back(WatchEvent::Kind::removed);
  }
  std::vector<std::string> to_read;
  std::vector<std::string_view> removed;
  for (const auto& [path, kinds] : by_path) {
    if (listener_.interest(path) != Interest::data) continue;
    if (kinds.back() == WatchEvent::Kind::removed) {
      removed.push_back(path);
    } else if (!is_known_already(path, kinds)) {
      to_read.emplace_back(path);
    }
  }
  if (!to_read.empty()) co_await for_each(std::move(to_read), nullptr);
  // A node that replaces another in the same transaction is applied before the removal.
  for (const std::string_view path : removed) apply_removed(path);
  // Names after data: the owner sees the last writes of a lock's holder before the lock is gone.
  for (const auto& [path, kinds] : by_path) {
    const Interest interest = listener_.interest(path);
    if (interest != Interest::name && interest != Interest::leaf) continue;
    if (kinds.back() == WatchEvent::Kind::removed) {
      apply_removed(path);
    } else if (!known_.contains(path)) {
      take(path, Entry{});
    }
  }
}

// Whether the cache has the version after these events, from own writes. An event of another
// process's write leads to a higher version.
bool TreeCache::is_known_already(std::string_view path,
                                 const std::vector<WatchEvent::Kind>& events) {
  const auto known = known_.find(path);
  if (known == known_.end() || may_be_older_) return false;
  for (const WatchEvent::Kind kind : events) {
    if (kind != WatchEvent::Kind::changed) return false;
  }
  known->second.announced += static_cast<std::int32_t>(events.size());
  return known->second.announced <= known->second.version;
}

// Level by level, so that the reads of one level run concurrently.
Task<> TreeCache::walk() {
  walking_ = true;
  std::set<std::string, std::less<>> vanished;
  for (const auto& [path, known] : known_) vanished.insert(path);
  vanished.insert(unreadable_.begin(), unreadable_.end());
  std::vector<std::string> level{std::string()};
  while (!level.empty()) {
    for (const std::string& path : level) vanished.erase(path);
    std::vector<std::string> below;
    co_await for_each(std::move(level), &below);
    level = std::move(below);
  }
  walking_ = false;
  for (const std::string& path : vanished) handle_missing(path);
}

Task<> TreeCache::for_each(std::vector<std::string> paths, std::vector<std::string>* below) {
  if (paths.size() == 1) {
    co_await visit(std::move(paths.front()), below);
    co_return;
  }
  std::exception_ptr failure;
  std::size_t next = 0;
  const auto visit_some = [](TreeCache& cache, std::vector<std::string>& paths,
                             std::vector<std::string>* below, std::size_t& next,
                             std::exception_ptr& failure) -> Task<> {
    while (next < paths.size() && !failure) {
      try {
        co_await cache.visit(std::move(paths[next++]), below);
      } catch (const async::Cancelled&) {
        throw;
      } catch (const std::exception&) {
        failure = std::current_exception();
      }
    }
  };
  async::TaskScope readers(runtime_, [](const std::string&, const std::string&) {});
  for (std::size_t i = 0; i < std::min(kConcurrentReads, paths.size()); ++i) {
    readers.spawn("tree cache reader " + root_, visit_some(*this, paths, below, next, failure));
  }
  co_await readers.join();
  if (failure) std::rethrow_exception(failure);
}

Task<> TreeCache::visit(std::string path, std::vector<std::string>* below) {
  const Interest interest = path.empty() ? Interest::name : listener_.interest(path);
  try {
    const bool has_children = co_await read(path, interest);
    if (below != nullptr && interest != Interest::leaf && has_children) {
      co_await list(path, *below);
    }
  } catch (const StoreError& error) {
    if (error.kind() == Kind::no_node) {
      handle_missing(path);
    } else if (!can_do_without(path, error)) {
      throw;
    }
  }
}

// Returns whether the node may have children. A path whose data are not read exists, because its
// parent has listed it.
Task<bool> TreeCache::read(std::string path, Interest interest) {
  if (interest != Interest::data) {
    if (!path.empty() && !known_.contains(path)) take(path, Entry{});
    co_return true;
  }
  try {
    const Entry entry = co_await store_.get(absolute(path));
    forget_lost_version(path, entry.stat);
    take(path, entry);
    const auto known = known_.find(path);
    if (known != known_.end()) known->second.announced = entry.stat.version;
    co_return entry.stat.num_children > 0;
  } catch (const StoreError& error) {
    if (!can_do_without(path, error)) throw;
  }
  co_return true;
}

// After a disconnection, the store may be an older copy although the session lives: servers refuse
// a client only until their transactions have later ids than those that it has seen. If the newer
// version is an own write that overtook the read, apply_version() has the record read again.
void TreeCache::forget_lost_version(std::string_view path, const Stat& stat) {
  const auto known = known_.find(path);
  const bool is_lost = known != known_.end() && known->second.mzxid > stat.mzxid;
  if (is_lost && walking_ && !ready_) known->second.mzxid = 0;
}

// An older version may become readable again, so the cache forgets which one it had.
bool TreeCache::can_do_without(std::string_view path, const StoreError& error) {
  if (error.kind() != Kind::not_permitted || path.empty()) return false;
  if (!listener_.on_unreadable(path, error.what())) return false;
  if (listener_.interest(path) == Interest::data) {
    if (unreadable_.empty()) next_rereading_ = runtime_.clock.now() + kRereadingInterval;
    unreadable_.emplace(path);
    if (const auto known = known_.find(path); known != known_.end()) known_.erase(known);
  }
  return true;
}

Task<> TreeCache::list(std::string path, std::vector<std::string>& below) {
  const std::vector<std::string> names = co_await store_.children(absolute(path));
  for (const std::string& name : names) {
    std::string child = path.empty() ? name : join_path(path, name);
    if (listener_.interest(child) != Interest::none) below.push_back(std::move(child));
  }
}

// Applied later, after the events of earlier changes: names go after data.
void TreeCache::handle_missing(std::string_view path) {
  missing_.emplace(path);
  wake_.set();
}

// A write may complete after the event of a later removal, so a node that is not in the cache is
// read again. During a walk every node is, because the walk may have missed it.
void TreeCache::apply(std::string_view path, const Entry& entry) {
  if (apply_version(path, entry.stat)) listener_.on_changed(path, entry);
}

bool TreeCache::apply_version(std::string_view path, const Stat& stat) {
  if (walking_ || !known_.contains(path)) {
    queue_.push_back({WatchEvent::Kind::created, std::string(path)});
    wake_.set();
  }
  return is_newer(path, stat);
}

void TreeCache::take(std::string_view path, const Entry& entry) {
  if (!is_newer(path, entry.stat)) return;
  try {
    listener_.on_changed(path, entry);
  } catch (const std::exception& error) {
    // An observer cannot deal with the record. The others still can.
    if (!listener_.on_unreadable(path, error.what())) throw;
  }
}

// Whether this version is newer than the cached one; caches it then. After the loss of the session,
// the same transaction id may belong to another store.
bool TreeCache::is_newer(std::string_view path, const Stat& stat) {
  if (const auto unreadable = unreadable_.find(path); unreadable != unreadable_.end()) {
    unreadable_.erase(unreadable);
  }
  const auto [known, is_new] = known_.try_emplace(std::string(path));
  if (!is_new && known->second.mzxid >= stat.mzxid && !may_be_older_) return false;
  known->second.mzxid = stat.mzxid;
  known->second.version = stat.version;
  if (is_new) known->second.announced = stat.version;
  return true;
}

void TreeCache::apply_removed(std::string_view path) {
  if (!known_.contains(path) && !unreadable_.contains(path)) return;
  const std::string removed(path);  // `path` may be the key itself
  known_.erase(removed);
  unreadable_.erase(removed);
  listener_.on_removed(removed);
}

}  // namespace nodepool::coordination
