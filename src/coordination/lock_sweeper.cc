#include "coordination/lock_sweeper.h"

#include <chrono>
#include <utility>

#include "async/event.h"
#include "coordination/path.h"
#include "coordination/tree.h"

namespace nodepool::coordination {

namespace {

using Kind = StoreError::Kind;

// The pause before each attempt, unless the store comes back sooner.
constexpr auto kPause = std::chrono::seconds(1);

}  // namespace

LockSweeper::LockSweeper(const async::Runtime& runtime, Store& store)
    : runtime_(runtime),
      store_(store),
      scope_(runtime, [](const std::string&, const std::string&) {}) {
  store_.set_lock_sweeper(this);
}

LockSweeper::~LockSweeper() {
  store_.set_lock_sweeper(nullptr);
}

void LockSweeper::take_over(std::string root, std::string prefix) {
  std::string name = "release lock " + root;
  scope_.spawn(std::move(name), sweep(std::move(root), std::move(prefix)));
}

Task<> LockSweeper::stop() {
  return scope_.stop();
}

Task<> LockSweeper::sweep(std::string root, std::string prefix) {
  async::Event back("the store is back");
  const Subscription session = store_.on_session([&back](SessionState state) {
    if (state == SessionState::connected) back.set();
  });
  while (true) {
    co_await back.wait_until(runtime_.clock, runtime_.clock.now() + kPause);
    try {
      co_await remove_contenders(root, prefix);
      co_return;
    } catch (const StoreError& error) {
      if (error.kind() == Kind::closed) co_return;
    }
  }
}

Task<> LockSweeper::remove_contenders(std::string root, std::string prefix) {
  const std::vector<std::string> names = co_await find_children(store_, root);
  for (const std::string& name : names) {
    if (!name.starts_with(prefix)) continue;
    try {
      co_await store_.remove(join_path(root, name), kAnyVersion);
    } catch (const StoreError& error) {
      if (error.kind() != Kind::no_node) throw;
    }
  }
}

}  // namespace nodepool::coordination
