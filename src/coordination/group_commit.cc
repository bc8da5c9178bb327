#include "coordination/group_commit.h"

#include <deque>
#include <set>
#include <string_view>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "async/live_tasks.h"
#include "async/parking.h"
#include "async/task_scope.h"

namespace nodepool::coordination {

namespace asio = boost::asio;

namespace {

using Kind = StoreError::Kind;
using Operation = Transaction::Operation;
using Results = std::vector<OperationResult>;

// A transaction and the task that waits for it.
struct Member {
  Member(const async::Executor& executor, Transaction submitted, std::int64_t session_id)
      : transaction(std::move(submitted)), session(session_id), done(executor) {}

  const std::string& path() const { return transaction.operations().front().path; }

  void succeed(Results its_results) {
    results = std::move(its_results);
    done.wake();
  }
  void fail(std::exception_ptr its_failure) {
    failure = std::move(its_failure);
    done.wake();
  }

  Transaction transaction;
  std::int64_t session;  // at submission
  Results results;
  std::exception_ptr failure;
  async::ParkedTask done;
};

using Members = std::vector<std::shared_ptr<Member>>;

std::size_t bytes_of(const Transaction& transaction) {
  std::size_t bytes = 0;
  for (const Operation& operation : transaction.operations()) {
    bytes += operation.path.size() + operation.data.size();
  }
  return bytes;
}

// The path of an operation; empty if the store chooses it.
std::string_view subject(const Operation& operation) {
  const bool is_chosen = operation.mode == CreateMode::persistent_sequential ||
                         operation.mode == CreateMode::ephemeral_sequential;
  return operation.kind == Transaction::Kind::create && is_chosen
             ? std::string_view()
             : std::string_view(operation.path);
}

// The size and the paths of a group.
class GroupContents {
 public:
  explicit GroupContents(const GroupCommit::Limits& limits) : limits_(limits) {}

  // Adds the transaction if it fits; the first one always does.
  bool try_add(const Transaction& transaction) {
    const std::size_t bytes = bytes_of(transaction);
    const bool fits =
        operations_ == 0 || (operations_ + transaction.size() <= limits_.operations &&
                             bytes_ + bytes <= limits_.bytes && is_disjoint(transaction));
    if (!fits) return false;
    operations_ += transaction.size();
    bytes_ += bytes;
    for (const Operation& operation : transaction.operations()) {
      const bool is_check = operation.kind == Transaction::Kind::check;
      (is_check ? checked_ : written_).insert(subject(operation));
    }
    return true;
  }

 private:
  bool is_disjoint(const Transaction& transaction) const {
    for (const Operation& operation : transaction.operations()) {
      const std::string_view path = subject(operation);
      if (path.empty()) continue;
      if (written_.contains(path)) return false;
      if (operation.kind != Transaction::Kind::check && checked_.contains(path)) return false;
    }
    return true;
  }

  const GroupCommit::Limits& limits_;
  std::size_t operations_ = 0;
  std::size_t bytes_ = 0;
  std::set<std::string_view> written_;
  std::set<std::string_view> checked_;
};

// Whether the store has rejected a group, because of one of its operations or because of its size.
bool has_not_happened(const StoreError& error) {
  if (error.is_rejection() || error.kind() == Kind::not_permitted) return true;
  return error.kind() == Kind::storage && dynamic_cast<const TransactionError*>(&error) != nullptr;
}

// The error of a group, with a member's path in place of the first member's.
std::exception_ptr failure_of(const Member& member, const StoreError& error,
                              const std::string& group_path) {
  std::string detail = error.what();
  const std::string prefix = store_error(error.kind(), group_path).what();
  if (detail.starts_with(prefix)) detail.erase(0, prefix.size());
  const std::string own = store_error(error.kind(), member.path()).what();
  return std::make_exception_ptr(StoreError(error.kind(), own + detail));
}

// A programming error: a store throws only StoreError.
void fail_loudly(const std::string& name, const std::string& error) {
  throw std::logic_error(name + ": " + error);
}

}  // namespace

// Shared with its tasks, which may outlive the store.
class GroupCommit::Queue : public std::enable_shared_from_this<Queue> {
 public:
  Queue(const async::Runtime& runtime, Store& inner, Limits limits)
      : inner_(inner), limits_(limits), runtime_(runtime), scope_(runtime, fail_loudly) {}

  static Task<Results> commit(std::shared_ptr<Queue> self, Transaction transaction) {
    const async::Executor executor = co_await asio::this_coro::executor;
    const std::string path = transaction.operations().front().path;
    const auto member =
        std::make_shared<Member>(executor, std::move(transaction), self->inner_.session_id());
    self->waiting_.push_back(member);
    if (!std::exchange(self->runs_, true)) self->scope_.spawn("group commit", run(self));
    const async::WaitsFor waits(executor, "store: write", path);
    co_await member->done.park_through_cancellation();
    if (member->failure) std::rethrow_exception(member->failure);
    co_return std::move(member->results);
  }

  void close() {
    closed_ = true;
    for (const auto& member : std::exchange(waiting_, {})) {
      member->fail(std::make_exception_ptr(store_error(Kind::closed, member->path())));
    }
  }

  std::size_t groups = 0;
  std::size_t refused = 0;

 private:
  // Commits groups until none is left. Each starts an iteration of the loop later, so that it
  // contains the transactions that tasks submit when the previous group ends.
  static Task<> run(std::shared_ptr<Queue> self) {
    while (true) {
      co_await asio::post(asio::use_awaitable);
      if (self->waiting_.empty()) break;
      Members members = self->next_group();
      if (members.empty()) continue;
      if (members.size() == 1) {
        co_await commit_alone(self, members.front());
      } else if (!co_await commit_together(self, members)) {
        co_await commit_one_by_one(self, std::move(members));
      }
    }
    self->runs_ = false;
  }

  Members next_group() {
    Members members;
    GroupContents contents(limits_);
    while (!waiting_.empty()) {
      const std::shared_ptr<Member> member = waiting_.front();
      // Its locks are gone with its session.
      const bool is_late = member->session != inner_.session_id();
      if (!is_late && !contents.try_add(member->transaction)) break;
      waiting_.pop_front();
      if (is_late) {
        member->fail(std::make_exception_ptr(store_error(Kind::session_expired, member->path())));
      } else {
        members.push_back(member);
      }
    }
    return members;
  }

  static Task<> commit_alone(std::shared_ptr<Queue> self, std::shared_ptr<Member> member) {
    if (self->closed_) {
      member->fail(std::make_exception_ptr(store_error(Kind::closed, member->path())));
      co_return;
    }
    if (member->session != self->inner_.session_id()) {
      member->fail(std::make_exception_ptr(store_error(Kind::session_expired, member->path())));
      co_return;
    }
    try {
      member->succeed(co_await self->inner_.commit(std::move(member->transaction)));
    } catch (const StoreError&) {
      member->fail(std::current_exception());
    }
  }

  // Returns false if the store rejects the group.
  static Task<bool> commit_together(std::shared_ptr<Queue> self, const Members& members) {
    Transaction together;
    for (const auto& member : members) together.append(member->transaction);
    const std::string first_path = members.front()->path();
    Results results;
    try {
      results = co_await self->inner_.commit(std::move(together));
    } catch (const StoreError& error) {
      if (has_not_happened(error)) {
        ++self->refused;
        co_return false;
      }
      for (const auto& member : members) member->fail(failure_of(*member, error, first_path));
      co_return true;
    }
    ++self->groups;
    auto next = std::move_iterator(results.begin());
    for (const auto& member : members) {
      const auto end = next + static_cast<std::ptrdiff_t>(member->transaction.size());
      member->succeed(Results(next, end));
      next = end;
    }
    co_return true;
  }

  // Submits all without waiting for results: the store keeps the order of the calls.
  static Task<> commit_one_by_one(std::shared_ptr<Queue> self, Members members) {
    async::TaskScope singles(self->runtime_, fail_loudly);
    for (const auto& member : members) {
      singles.spawn("commit of a group", commit_alone(self, member));
    }
    co_await singles.join();
  }

  Store& inner_;
  const Limits limits_;
  async::Runtime runtime_;
  std::deque<std::shared_ptr<Member>> waiting_;
  bool runs_ = false;
  bool closed_ = false;
  async::TaskScope scope_;
};

GroupCommit::GroupCommit(const async::Runtime& runtime, Store& inner)
    : GroupCommit(runtime, inner, Limits()) {}

GroupCommit::GroupCommit(const async::Runtime& runtime, Store& inner, Limits limits)
    : ForwardingStore(inner), queue_(std::make_shared<Queue>(runtime, inner, limits)) {}

GroupCommit::~GroupCommit() {
  queue_->close();
}

Task<std::vector<OperationResult>> GroupCommit::commit(Transaction transaction) {
  if (transaction.empty()) return ForwardingStore::commit(std::move(transaction));
  return Queue::commit(queue_, std::move(transaction));
}

std::size_t GroupCommit::groups() const {
  return queue_->groups;
}

std::size_t GroupCommit::refused_groups() const {
  return queue_->refused;
}

}  // namespace nodepool::coordination
