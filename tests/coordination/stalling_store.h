#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/this_coro.hpp>

#include "async/parking.h"
#include "coordination/forwarding_store.h"

namespace nodepool::coordination {

// Like a store that waits for a connection: on demand, transactions and listings are delayed. The
// other operations are forwarded at once.
class StallingStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  // Whether operations wait from now on.
  void stall(bool stalling) { stalling_ = stalling; }

  // Forwards the operations that wait now.
  void pass_waiting() {
    for (async::ParkedTask* operation : std::exchange(*waiting_, {})) operation->wake();
  }

  // The number of operations that wait.
  std::size_t waiting() const { return waiting_->size(); }

  Task<std::vector<std::string>> children(std::string path) override {
    if (stalling_) co_await wait(waiting_);
    co_return co_await ForwardingStore::children(std::move(path));
  }
  Task<std::vector<OperationResult>> commit(Transaction transaction) override {
    if (stalling_) co_await wait(waiting_);
    co_return co_await ForwardingStore::commit(std::move(transaction));
  }

 private:
  using Waiting = std::vector<async::ParkedTask*>;

  // Shared, because a task may be destroyed after the store while it waits.
  static Task<> wait(std::shared_ptr<Waiting> waiting) {
    async::ParkedTask operation(co_await boost::asio::this_coro::executor);
    waiting->push_back(&operation);
    co_await operation.park_through_cancellation();
  }

  bool stalling_ = false;
  std::shared_ptr<Waiting> waiting_ = std::make_shared<Waiting>();
};

}  // namespace nodepool::coordination
