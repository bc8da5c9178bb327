#pragma once

#include <cstddef>
#include <memory>

#include "async/runtime.h"
#include "coordination/store.h"

namespace nodepool::coordination {

// A store whose transactions go to another one in groups: those that tasks hand in while one is
// under way, or in the same turn of the loop, are one transaction there. A durable store takes
// about the same time for it, and everybody who watches hears of it at once.
//
// Each transaction keeps what it had alone: it happens as a whole or not at all, its results and
// its refusal are its own, and it belongs to the session that it was handed in under. A group that
// is refused has not happened; its transactions are then committed one by one, in their order. What
// is not known of a group is not known of each of its transactions. What comes under one path is
// never in one group, unless nobody writes it, so that versions and ids of changes differ as
// before.
//
// Transactions happen in the order in which they were handed in. All other operations are passed on
// at once: one that is not to come before a transaction is asked for after its answer.
class GroupCommit final : public Store {
 public:
  struct Limits {
    // Of one group; a transaction above them goes alone. Well below what a store takes at once
    // (kMaximumDataSize).
    std::size_t operations = 1000;
    std::size_t bytes = 400'000;  // paths and data
  };

  // `inner` outlives it.
  GroupCommit(const async::Runtime& runtime, Store& inner);
  GroupCommit(const async::Runtime& runtime, Store& inner, Limits limits);
  // Who still waits for a transaction gets `closed`.
  ~GroupCommit() override;
  GroupCommit(const GroupCommit&) = delete;
  GroupCommit& operator=(const GroupCommit&) = delete;

  Task<std::string> create(std::string path, std::string data, CreateMode mode) override;
  Task<Entry> get(std::string path) override;
  Task<std::optional<Stat>> exists(std::string path) override;
  Task<Stat> set(std::string path, std::string data, std::int32_t expected) override;
  Task<> remove(std::string path, std::int32_t expected) override;
  Task<std::vector<std::string>> children(std::string path) override;
  Task<std::vector<OperationResult>> commit(Transaction transaction) override;
  Subscription watch(std::string root, WatchHandler handler) override;
  Subscription on_session(SessionHandler handler) override;
  SessionState session_state() const override;
  std::int64_t session_id() const override;
  Task<> close() override;

  // How many groups of several transactions have happened, and how many have been refused.
  std::size_t groups() const;
  std::size_t refused_groups() const;

 private:
  class Queue;

  Store& inner_;
  std::shared_ptr<Queue> queue_;
};

}  // namespace nodepool::coordination
