#include "coordination/outage.h"

#include <chrono>

#include "async/event.h"

namespace nodepool::coordination {

namespace {

// The longest wait for the store.
constexpr auto kBetweenAttempts = std::chrono::seconds(1);

}  // namespace

Task<> wait_for_store(async::Runtime runtime, Store& store) {
  async::Event back("the store is back");
  const Subscription session = store.on_session([&back](SessionState state) {
    if (state == SessionState::connected) back.set();
  });
  co_await back.wait_until(runtime.clock, runtime.clock.now() + kBetweenAttempts);
}

}  // namespace nodepool::coordination
