#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/task.h"
#include "coordination/error.h"

namespace nodepool::coordination {

using async::Task;

enum class CreateMode {
  persistent,
  ephemeral,              // vanishes with the session that created it
  persistent_sequential,  // ten digits are appended: how many children the parent has had so far
  ephemeral_sequential,
};

// Any version will do.
inline constexpr std::int32_t kAnyVersion = -1;

// The largest data of one node, in bytes: what ZooKeeper's default jute.maxbuffer, 1 MiB - 1 for a
// whole request, leaves when the longest paths have their share.
inline constexpr std::size_t kMaximumDataSize = 1'000'000;

// What the store knows of a node beside its data. Meanings and names as in ZooKeeper ("ZooKeeper
// Stat Structure" in its programmer's guide). Transaction ids order all changes of a store.
struct Stat {
  std::int64_t czxid = 0;            // transaction that created the node
  std::int64_t mzxid = 0;            // transaction that last changed its data
  std::int64_t ctime = 0;            // creation, milliseconds since the epoch
  std::int64_t mtime = 0;            // last change of data, milliseconds since the epoch
  std::int32_t version = 0;          // number of changes of data
  std::int64_t ephemeral_owner = 0;  // session id, 0 for a persistent node
  std::int32_t data_length = 0;      // bytes
  std::int32_t num_children = 0;

  friend bool operator==(const Stat&, const Stat&) = default;
};

struct Entry {
  std::string data;
  Stat stat;
};

// Several changes that happen together or not at all.
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
  // Adds the other's operations after its own.
  Transaction& append(const Transaction& other);

  const std::vector<Operation>& operations() const { return operations_; }
  std::size_t size() const { return operations_.size(); }
  bool empty() const { return operations_.empty(); }

 private:
  std::vector<Operation> operations_;
};

// One operation's result: for create the actual path, for create and set the node's new stat. (The
// times of a created node may be by this machine's clock, and not be those that are read later.)
struct OperationResult {
  std::string path;
  Stat stat;
};

// A refused transaction: the error of the first operation that failed. Nothing has happened.
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
    resync,  // anything below the watched root may have changed unseen: walk it
  };
  Kind kind;
  std::string path;  // empty for resync
};

using WatchHandler = std::function<void(const WatchEvent&)>;

enum class SessionState {
  connected,
  suspended,  // out of reach; ephemeral nodes are still there unless this lasts too long
  expired,    // ephemeral nodes of the old session are gone; the store opens a new session itself
  closed,
};

using SessionHandler = std::function<void(SessionState)>;

// Keeps a handler registered; the handler is not called after this is gone.
using Subscription = std::shared_ptr<void>;

class LockSweeper;

// A tree of small records shared by all processes of an installation, with ZooKeeper's semantics:
// paths, versions, ephemeral and sequential nodes, transactions, persistent recursive watches.
//
// All functions run on the loop; handlers are called there too, never from inside a call. Paths
// start with '/', have no empty component and no trailing '/' (but see create). Every operation
// either succeeds, throws a StoreError, or takes as long as the store's own deadline; none is a
// cancellation point. The operations of one session take effect, and answer, in the order of the
// calls; what other sessions did may be seen a moment later where a store has several servers, but
// always in its order. An error names the path that was asked for.
class Store {
 public:
  virtual ~Store() = default;

  // Creates a node; returns its actual path. The sequential modes append digits to `path`, which
  // may then end in '/': the name is the digits alone. Throws no_node if the parent is missing,
  // node_exists, no_children, invalid.
  virtual Task<std::string> create(std::string path, std::string data, CreateMode mode) = 0;

  // Throws no_node.
  virtual Task<Entry> get(std::string path) = 0;

  // The node's stat, or nothing if it does not exist.
  virtual Task<std::optional<Stat>> exists(std::string path) = 0;

  // Replaces the data; returns the new stat. Throws no_node, bad_version, invalid.
  virtual Task<Stat> set(std::string path, std::string data, std::int32_t expected) = 0;

  // Throws no_node, bad_version, not_empty.
  virtual Task<> remove(std::string path, std::int32_t expected) = 0;

  // The names (not paths) of the children, sorted. Throws no_node.
  virtual Task<std::vector<std::string>> children(std::string path) = 0;

  // All or nothing; an empty transaction succeeds. Throws TransactionError when an operation is
  // refused; a store may refuse as invalid what is larger in sum than one node's data may be.
  virtual Task<std::vector<OperationResult>> commit(Transaction transaction) = 0;

  // Calls `handler` for every change of `root` and all below it, in the order of the changes, from
  // all processes. `root` need not exist. The first event is a resync: the watch is in place, so a
  // walk that starts then misses nothing. Later resyncs follow every disconnection. A malformed
  // root throws at once.
  virtual Subscription watch(std::string root, WatchHandler handler) = 0;

  // Calls `handler` at every change of the session's state, `closed` included.
  virtual Subscription on_session(SessionHandler handler) = 0;

  virtual SessionState session_state() const = 0;

  // Identifies the present session; the ephemeral_owner of the nodes it creates.
  virtual std::int64_t session_id() const = 0;

  // Ends the session: its ephemeral nodes vanish at once. Nothing may be called afterwards.
  virtual Task<> close() = 0;

  // Completes the releases of this store's locks that fail (coordination/lock_sweeper.h); null:
  // nobody does, they throw.
  LockSweeper* lock_sweeper() const { return lock_sweeper_; }
  void set_lock_sweeper(LockSweeper* sweeper) { lock_sweeper_ = sweeper; }

 private:
  LockSweeper* lock_sweeper_ = nullptr;
};

}  // namespace nodepool::coordination
