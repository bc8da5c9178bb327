#include "coordination/lock_sweeper.h"

#include <chrono>
#include <map>
#include <utility>

#include "async/event.h"
#include "coordination/path.h"

namespace nodepool::coordination {

namespace {

using Kind = StoreError::Kind;

// The pause before each attempt, unless the store comes back sooner.
constexpr auto kPause = std::chrono::seconds(1);

// The sweepers of this process. Only the thread of the loop uses them.
std::map<const Store*, LockSweeper*>& sweepers() {
  static std::map<const Store*, LockSweeper*> by_store;
  return by_store;
}

}  // namespace

LockSweeper::LockSweeper(const async::Runtime& runtime, Store& store)
    : runtime_(runtime),
      store_(store),
      scope_(runtime, [](const std::string&, const std::string&) {}) {
  sweepers()[&store_] = this;
}

LockSweeper::~LockSweeper() {
  sweepers().erase(&store_);
}

LockSweeper* LockSweeper::find(const Store& store) {
  const auto found = sweepers().find(&store);
  return found == sweepers().end() ? nullptr : found->second;
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
  std::vector<std::string> names;
  try {
    names = co_await store_.children(root);
  } catch (const StoreError& error) {
    if (error.kind() != Kind::no_node) throw;
  }
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
