#include "coordination/lock.h"

#include <algorithm>

#include <boost/asio/this_coro.hpp>

#include "async/deadline.h"
#include "async/event.h"
#include "async/live_tasks.h"
#include "coordination/lock_sweeper.h"
#include "coordination/path.h"
#include "coordination/sequence.h"
#include "coordination/tree.h"

namespace nodepool::coordination {

namespace {

constexpr std::string_view kMarker = "__lock__";

using Kind = StoreError::Kind;

// Whether a write may have happened.
bool is_uncertain(const StoreError& error) {
  return error.kind() == Kind::unknown_outcome;
}

}  // namespace

std::string_view contender_sequence(std::string_view name) {
  const std::size_t marker = name.rfind(kMarker);
  if (marker == std::string_view::npos) return {};
  const std::string_view digits = name.substr(marker + kMarker.size());
  if (digits.size() != kSequenceDigits) return {};
  if (digits.find_first_not_of("0123456789") != std::string_view::npos) return {};
  return digits;
}

std::vector<std::string> sorted_contenders(std::vector<std::string> children) {
  std::erase_if(children, [](const std::string& name) { return contender_sequence(name).empty(); });
  std::ranges::sort(children, {}, contender_sequence);
  return children;
}

Lock::Lock(Store& store, async::Random& random, std::string root, std::string identifier,
           Lifetime lifetime)
    : store_(store),
      root_(std::move(root)),
      identifier_(std::move(identifier)),
      lifetime_(lifetime),
      prefix_(random.uuid_hex().append(kMarker)) {}

CreateMode Lock::create_mode() const {
  return lifetime_ == Lifetime::session ? CreateMode::ephemeral_sequential
                                        : CreateMode::persistent_sequential;
}

Task<bool> Lock::try_acquire() {
  std::exception_ptr failure;
  try {
    co_await create_contender();
    held_ = co_await is_lowest();
  } catch (const StoreError&) {
    failure = std::current_exception();
  }
  if (failure) {
    co_await abandon();
    std::rethrow_exception(failure);
  }
  if (!held_) co_await release();
  co_return held_;
}

Task<> Lock::acquire(async::Clock& clock, async::Clock::TimePoint deadline) {
  std::exception_ptr failure;
  try {
    co_await create_contender();
    co_await wait_until_lowest(clock, deadline);
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure) {
    co_await abandon();
    std::rethrow_exception(failure);
  }
  held_ = true;
}

Task<> Lock::wait_until_lowest(async::Clock& clock, async::Clock::TimePoint deadline) {
  const async::WaitsFor waits(co_await boost::asio::this_coro::executor, "lock", root_);
  async::Event changed("a change of the contenders");
  const Subscription watching =
      store_.watch(root_, [&changed](const WatchEvent&) { changed.set(); });
  while (!co_await is_lowest()) {
    if (contender_.empty())
      co_await create_contender();  // removed by another process: contend again
    if (!co_await changed.wait_until(clock, deadline)) {
      throw async::DeadlineExceeded("timeout waiting for lock " + root_);
    }
  }
}

// Writes transactions, even of one operation, so that GroupCommit can batch them.
Task<> Lock::create_contender() {
  while (contender_.empty()) {
    bool root_missing = false;
    try {
      Transaction creation;
      creation.create(join_path(root_, prefix_), identifier_, create_mode());
      std::vector<OperationResult> results = co_await store_.commit(std::move(creation));
      contender_ = std::move(results.front().path);
    } catch (const StoreError& error) {
      if (error.kind() != Kind::no_node && !is_uncertain(error)) throw;
      root_missing = error.kind() == Kind::no_node;
    }
    if (root_missing) {
      try {
        co_await store_.create(root_, {}, CreateMode::persistent);
      } catch (const StoreError& error) {
        if (error.kind() != Kind::node_exists && !is_uncertain(error)) throw;
      }
    } else if (contender_.empty()) {
      co_await find_lost_contender();
    }
  }
}

// After a create with an unknown outcome. Without a root it has not succeeded.
Task<> Lock::find_lost_contender() {
  const std::vector<std::string> names = co_await find_children(store_, root_);
  for (const std::string& name : names) {
    if (name.starts_with(prefix_)) contender_ = join_path(root_, name);
  }
}

Task<bool> Lock::is_lowest() {
  const std::vector<std::string> contenders = sorted_contenders(co_await store_.children(root_));
  const std::string_view own = base_name(contender_);
  if (std::ranges::find(contenders, own) == contenders.end()) {
    contender_.clear();
    co_return false;
  }
  co_return contenders.front() == own;
}

Task<> Lock::release() {
  held_ = false;
  return completed_by_sweeper(remove_contender());
}

Task<> Lock::completed_by_sweeper(Task<> removal) {
  try {
    co_await std::move(removal);
  } catch (const StoreError&) {
    if (store_.lock_sweeper() == nullptr) throw;
    leave_to_sweeper();
  }
}

void Lock::leave_to_sweeper() {
  store_.lock_sweeper()->take_over(root_, prefix_);
  released();
}

Task<> Lock::remove_contender() {
  while (!contender_.empty()) {
    try {
      Transaction removal;
      removal.remove(contender_);
      co_await store_.commit(std::move(removal));
      contender_.clear();
    } catch (const StoreError& error) {
      if (error.kind() == Kind::no_node || error.kind() == Kind::session_expired) {
        contender_.clear();
      } else if (!is_uncertain(error)) {
        throw;
      }
    }
  }
}

Task<> Lock::abandon() {
  held_ = false;
  return completed_by_sweeper(find_and_remove_contender());
}

Task<> Lock::find_and_remove_contender() {
  if (contender_.empty()) {
    try {
      co_await find_lost_contender();
    } catch (const StoreError& error) {
      if (error.kind() != Kind::no_node) throw;
    }
  }
  co_await remove_contender();
}

void Lock::contend_in(Transaction& transaction, bool root_exists) {
  root_is_new_ = !root_exists;
  if (root_is_new_) transaction.create(root_, {});
  contender_operation_ = transaction.size();
  transaction.create(join_path(root_, prefix_), identifier_, create_mode());
}

Task<bool> Lock::settle(const std::vector<OperationResult>& results) {
  contender_ = results.at(contender_operation_).path;
  // A contender that was created together with its root is the first one.
  held_ = root_is_new_ || co_await is_lowest();
  co_return held_;
}

void Lock::check_in(Transaction& transaction) const {
  transaction.check(contender_);
}

void Lock::release_in(Transaction& transaction) const {
  if (!contender_.empty()) transaction.remove(contender_);
}

void Lock::released() {
  contender_.clear();
  held_ = false;
}

Task<bool> force_unlock(Store& store, std::string root) {
  try {
    const std::vector<std::string> contenders = sorted_contenders(co_await store.children(root));
    if (contenders.empty()) co_return false;
    co_await store.remove(join_path(root, contenders.front()), kAnyVersion);
  } catch (const StoreError& error) {
    if (error.kind() != Kind::no_node) throw;
    co_return false;
  }
  co_return true;
}

}  // namespace nodepool::coordination
