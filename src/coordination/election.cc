#include "coordination/election.h"

#include "async/event.h"
#include "async/task_scope.h"
#include "coordination/lock.h"
#include "coordination/tree.h"

namespace nodepool::coordination {

namespace {

// What the leader's task leaves behind.
struct Term {
  bool completed = false;
  std::exception_ptr failure;
  async::Event over{"end of the term of office"};
};

Task<> serve(Election::Leader lead, Term& term) {
  try {
    co_await lead();
    term.completed = true;
  } catch (const async::Cancelled&) {
  } catch (...) {
    term.failure = std::current_exception();
  }
  term.over.set();
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

// One term of office. Returns whether the leader finished its job.
Task<bool> Election::lead_once(Leader lead) {
  Lock lock(store_, runtime_.random, root_, identifier_);
  co_await lock.acquire(runtime_.clock, async::Clock::TimePoint::max());

  Term term;
  const Subscription session = store_.on_session([&term](SessionState state) {
    if (state != SessionState::connected) term.over.set();
  });
  async::TaskScope scope(runtime_, [](const std::string&, const std::string&) {});
  scope.spawn("election leader " + root_, serve(std::move(lead), term));
  std::exception_ptr cancelled;
  try {
    co_await term.over.wait();
  } catch (const async::Cancelled&) {
    cancelled = std::current_exception();
  }
  co_await scope.stop();
  co_await lock.release();
  if (cancelled) std::rethrow_exception(cancelled);
  if (term.failure) std::rethrow_exception(term.failure);
  co_return term.completed;
}

}  // namespace nodepool::coordination
