#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async/task.h"
#include "coordination/error.h"

namespace nodepool::coordination {

using async::Task;

enum class CreateMode {
  persistent,
  ephemeral,              // vanishes with the session that created it
  persistent_sequential,  // appends ten digits: the parent's number of children so far
  ephemeral_sequential,
};

// Matches any version.
inline constexpr std::int32_t kAnyVersion = -1;

// The largest data of one node, in bytes: ZooKeeper's default jute.maxbuffer, 1 MiB - 1 for a whole
// request, minus the space for the longest paths.
inline constexpr std::size_t kMaximumDataSize = 1'000'000;

// Throws too_large if the data of the node at `path` exceeds it.
void require_valid_size(std::string_view path, std::string_view data);

// Metadata of a node. Names and meanings as in ZooKeeper ("ZooKeeper Stat Structure" in its
// programmer's guide). Transaction ids order all changes of a store.
struct Stat {
  std::int64_t czxid = 0;            // transaction that created the node
  std::int64_t mzxid = 0;            // transaction that last changed its data
  std::int64_t ctime = 0;            // creation, milliseconds since the epoch
  std::int64_t mtime = 0;            // last change of data, milliseconds since the epoch
  std::int32_t version = 0;          // number of changes of data
  std::int64_t ephemeral_owner = 0;  // session id, 0 for a persistent node
  std::int32_t data_length = 0;      // bytes
  std::int32_t num_children = 0;

  // `ctime` in seconds.
  double created() const { return static_cast<double>(ctime) / 1000; }

  friend bool operator==(const Stat&, const Stat&) = default;
};

struct Entry {
  std::string data;
  Stat stat;

  friend bool operator==(const Entry&, const Entry&) = default;
};

// Several changes that are committed atomically.
class Transaction {
 public:
  enum class Kind { create, set, remove, check };
  struct Operation {
    Kind kind;
    std::string path;
    std::string data;
    CreateMode mode = CreateMode::persistent;
    std::int32_t version = kAnyVersion;
  };

  Transaction& create(std::string path, std::string data, CreateMode mode = CreateMode::persistent);
  Transaction& set(std::string path, std::string data, std::int32_t expected = kAnyVersion);
  Transaction& remove(std::string path, std::int32_t expected = kAnyVersion);
  // Succeeds if the node exists and has this version.
  Transaction& check(std::string path, std::int32_t expected = kAnyVersion);
  // Appends the operations of another transaction.
  Transaction& append(const Transaction& other);

  const std::vector<Operation>& operations() const { return operations_; }
  std::size_t size() const { return operations_.size(); }
  bool empty() const { return operations_.empty(); }

 private:
  std::vector<Operation> operations_;
};

// The result of an operation: for create the actual path, for create and set the new stat. The
// times of a created node may be this machine's and differ from those that are read later.
struct OperationResult {
  std::string path;
  Stat stat;
};

// A rejected transaction: the error of the first operation that failed. Nothing has happened.
class TransactionError : public StoreError {
 public:
  TransactionError(const StoreError& cause, std::size_t index) : StoreError(cause), index_(index) {}
  // The position of the failed operation in Transaction::operations().
  std::size_t index() const { return index_; }

 private:
  std::size_t index_;
};

struct WatchEvent {
  enum class Kind {
    created,
    changed,  // its data
    removed,
    resync,  // changes below the root may have been missed: walk it
  };
  Kind kind;
  std::string path;  // empty for resync
};

using WatchHandler = std::function<void(const WatchEvent&)>;

enum class SessionState {
  connected,
  suspended,  // unreachable; ephemeral nodes remain until the session expires
  expired,    // the old session's ephemeral nodes are gone; the store opens a new session
  closed,
};

using SessionHandler = std::function<void(SessionState)>;

// Keeps a handler registered. The handler is not called after its destruction.
using Subscription = std::shared_ptr<void>;

class LockSweeper;

// A tree of small records shared by all processes of an installation, with ZooKeeper's semantics:
// paths, versions, ephemeral and sequential nodes, transactions, persistent recursive watches.
//
// All functions run on the loop. Handlers run there too, never inside a call. Paths start with '/',
// have no empty component and no trailing '/' (but see create). An operation succeeds or throws a
// StoreError, at the latest at the store's own deadline; none is a cancellation point. The
// operations of one session take effect and return in the order of the calls. With several servers,
// changes of other sessions may be visible a moment later, but always in order. Errors contain the
// path of the call.
class Store {
 public:
  virtual ~Store() = default;

  // Creates a node and returns its actual path. The sequential modes append digits to `path`, which
  // may then end in '/': the name is just the digits. Throws no_node if the parent is missing,
  // node_exists, no_children, invalid, too_large.
  virtual Task<std::string> create(std::string path, std::string data, CreateMode mode) = 0;

  // Throws no_node.
  virtual Task<Entry> get(std::string path) = 0;

  // The node's stat, or nothing if it does not exist.
  virtual Task<std::optional<Stat>> exists(std::string path) = 0;

  // Replaces the data; returns the new stat. Throws no_node, bad_version, invalid, too_large.
  virtual Task<Stat> set(std::string path, std::string data, std::int32_t expected) = 0;

  // Throws no_node, bad_version, not_empty.
  virtual Task<> remove(std::string path, std::int32_t expected) = 0;

  // The names (not paths) of the children, sorted. Throws no_node.
  virtual Task<std::vector<std::string>> children(std::string path) = 0;

  // Commits atomically; an empty transaction succeeds. Throws TransactionError if an operation is
  // rejected. A store may reject (too_large) a transaction larger than one node's data may be.
  virtual Task<std::vector<OperationResult>> commit(Transaction transaction) = 0;

  // Calls `handler` for every change, by any process, of `root` and its descendants, in order.
  // `root` need not exist. The first event is a resync: the watch is set, so a walk that starts
  // then misses nothing. A resync follows every disconnection. Throws invalid for a malformed root.
  virtual Subscription watch(std::string root, WatchHandler handler) = 0;

  // Calls `handler` at every change of the session's state, including `closed`.
  virtual Subscription on_session(SessionHandler handler) = 0;

  virtual SessionState session_state() const = 0;

  // Why the session is suspended or expired, for messages; empty if the store does not know.
  virtual std::string problem() const { return {}; }

  // The id of the current session: the ephemeral_owner of its nodes.
  virtual std::int64_t session_id() const = 0;

  // Ends the session and removes its ephemeral nodes. No other call may follow.
  virtual Task<> close() = 0;

  // Retries failed releases of this store's locks (coordination/lock_sweeper.h). Null: these throw.
  LockSweeper* lock_sweeper() const { return lock_sweeper_; }
  void set_lock_sweeper(LockSweeper* sweeper) { lock_sweeper_ = sweeper; }

 private:
  LockSweeper* lock_sweeper_ = nullptr;
};

}  // namespace nodepool::coordination
