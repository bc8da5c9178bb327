#include "coordination/election.h"

#include "async/event.h"
#include "async/task_scope.h"
#include "coordination/lock.h"
#include "coordination/tree.h"

namespace nodepool::coordination {

namespace {

// The result of the leader's task.
struct Leadership {
  bool completed = false;
  std::exception_ptr failure;
  async::Event ended{"end of the leadership"};
};

Task<> serve(Election::Leader lead, Leadership& leadership) {
  try {
    co_await lead();
    leadership.completed = true;
  } catch (const async::Cancelled&) {
  } catch (...) {
    leadership.failure = std::current_exception();
  }
  leadership.ended.set();
}

}  // namespace

Election::Election(const async::Runtime& runtime, Store& store, std::string root,
                   std::string identifier)
    : runtime_(runtime),
      store_(store),
      root_(std::move(root)),
      identifier_(std::move(identifier)) {}

Task<> Election::run(Leader lead) {
  co_await ensure_path(store_, root_);
  while (!co_await lead_once(lead)) {
  }
}

// Waits for the lock and runs `lead` once. Returns whether it finished.
Task<bool> Election::lead_once(Leader lead) {
  Lock lock(store_, runtime_.random, root_, identifier_);
  co_await lock.acquire(runtime_.clock, async::Clock::TimePoint::max());

  Leadership leadership;
  const Subscription session = store_.on_session([&leadership](SessionState state) {
    if (state != SessionState::connected) leadership.ended.set();
  });
  async::TaskScope scope(runtime_, [](const std::string&, const std::string&) {});
  scope.spawn("election leader " + root_, serve(std::move(lead), leadership));
  std::exception_ptr cancelled;
  try {
    co_await leadership.ended.wait();
  } catch (const async::Cancelled&) {
    cancelled = std::current_exception();
  }
  co_await scope.stop();
  co_await lock.release();
  if (cancelled) std::rethrow_exception(cancelled);
  if (leadership.failure) std::rethrow_exception(leadership.failure);
  co_return leadership.completed;
}

}  // namespace nodepool::coordination
