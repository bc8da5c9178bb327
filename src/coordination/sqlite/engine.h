#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/asio/this_coro.hpp>

#include "async/event.h"
#include "async/live_tasks.h"
#include "async/runtime.h"
#include "async/task_scope.h"
#include "async/thread_pool.h"
#include "coordination/sqlite/live_watch.h"
#include "coordination/sqlite/sqlite_store.h"
#include "coordination/sqlite/storage.h"
#include "coordination/sqlite/watchers.h"
#include "coordination/store.h"

namespace nodepool::coordination::sqlite {

// Runs a store on the event loop: passes operations to the storage thread in batches, notifies
// watches and session handlers, and cleans up after dead processes. Its tasks keep it alive, so a
// store may be destroyed while they are still ending.
class Engine : public std::enable_shared_from_this<Engine> {
 public:
  // Throws like open_store().
  static Task<std::shared_ptr<Engine>> open(async::Runtime runtime, SqliteOptions options);

  // For open() only.
  Engine(const async::Runtime& runtime, SqliteOptions options);

  // Runs `work(NodeTree&)`, possibly twice, and returns its result. `path` is for errors.
  template <typename Work>
  static Task<std::invoke_result_t<Work&, NodeTree&>> read(std::shared_ptr<Engine> engine,
                                                           std::string path, Work work) {
    engine->require_open(path);
    const async::WaitsFor waits(co_await boost::asio::this_coro::executor, "store: read", path);
    auto call = [work = std::move(work)](Storage& storage) mutable { return work(storage.tree()); };
    co_return co_await engine->perform(Operation::Access::read, std::move(call));
  }

  // Runs `work(NodeTree&, const Author&)` as the session and returns its result after the commit.
  template <typename Work>
  static Task<std::invoke_result_t<Work&, NodeTree&, const Author&>> write(
      std::shared_ptr<Engine> engine, std::string path, Work work) {
    engine->require_open(path);
    engine->require_writer(path);
    const async::WaitsFor waits(co_await boost::asio::this_coro::executor, "store: write", path);
    const Author author{engine->session_.session, engine->now()};
    auto call = [work = std::move(work), author, path](Storage& storage) mutable {
      storage.sessions().require_open(author.session, path);
      return work(storage.tree(), author);
    };
    try {
      co_return co_await engine->perform(Operation::Access::write, std::move(call));
    } catch (const StoreError& error) {
      if (error.kind() == StoreError::Kind::session_expired) engine->lose_session(author.session);
      throw;
    }
  }

  Subscription watch(std::string root, WatchHandler handler);
  Subscription on_session(SessionHandler handler);
  SessionState session_state() const { return state_; }
  const std::string& problem() const { return problem_; }
  std::int64_t session_id() const { return session_.session; }

  static Task<> close(std::shared_ptr<Engine> engine);

  // Drops everything, like the death of the process. Waits for the running batch.
  void abandon();

 private:
  // Runs `work(Storage&)` in a batch and returns its result.
  template <typename Work>
  Task<std::invoke_result_t<Work&, Storage&>> perform(Operation::Access access, Work work) {
    using Result = std::invoke_result_t<Work&, Storage&>;
    if constexpr (std::is_void_v<Result>) {
      co_await submit(access, std::move(work));
    } else {
      // Shared, because the task may be destroyed while its operation runs.
      auto result = std::make_shared<std::optional<Result>>();
      auto call = [result, work = std::move(work)](Storage& storage) mutable {
        result->emplace(work(storage));
      };
      co_await submit(access, std::move(call));
      co_return std::move(**result);
    }
  }
  Task<> submit(Operation::Access access, Operation::Work work);

  // Background tasks.
  void start();
  Task<> run_batches();
  Task<> listen();
  Task<> clean_up_sessions();
  Task<> keep_session();
  Task<> retry();

  Batch take_batch();
  void notify(const Storage::Report& report);
  Task<> reopen_listener();
  Task<> end_dead_sessions();
  Task<> open_session();
  void lose_session(std::int64_t session);
  void enter(SessionState state);
  void refuse_queued();
  void require_open(const std::string& path) const;
  void require_writer(const std::string& path) const;
  bool is_reader() const { return options_.use == StoreUse::read; }
  std::int64_t now() const;

  async::Runtime runtime_;
  SqliteOptions options_;
  std::optional<async::ThreadPool> thread_;
  std::unique_ptr<Storage> storage_;  // used on that thread
  std::unique_ptr<LiveWatch> live_;

  std::deque<std::shared_ptr<Operation>> queue_;
  async::Event wake_{"operations are queued"};
  bool accepting_ = false;  // the queue accepts operations
  bool retry_due_ = false;  // a later batch will retry a failed report
  bool closing_ = false;

  Watchers watchers_;
  std::vector<std::weak_ptr<SessionHandler>> session_handlers_;
  SessionLock session_;
  SessionState state_ = SessionState::closed;
  std::string problem_;  // why it was last suspended or expired
  async::Event session_lost_{"session lost"};
  async::Event sessions_changed_{"other processes may have died"};

  async::TaskScope scope_;
};

}  // namespace nodepool::coordination::sqlite
