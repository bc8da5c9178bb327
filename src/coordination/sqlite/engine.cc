#include "coordination/sqlite/engine.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

#include <boost/asio/post.hpp>

#include "async/pace.h"

namespace nodepool::coordination::sqlite {

using Access = Operation::Access;
using Kind = StoreError::Kind;
using std::chrono::milliseconds;

namespace {

// Operations in one commit: enough to amortize the sync of the disk, few enough not to starve other
// processes.
constexpr std::size_t kBatchSize = 256;

// The pause before a retry after a failure of the disk or of another program.
constexpr milliseconds kRetryPause(1000);

// Sessions that are opened without a pause, if another process keeps ending them. Each one costs a
// sync of the disk.
constexpr int kSessionsAtOnce = 3;

// The kernel reports that a dead process has closed its session file slightly before it drops the
// lock. So the lock is checked again after 1, 2, 4, … ms, for about the last pause in total.
constexpr milliseconds kFirstPause(1);
constexpr milliseconds kLastPause(1000);

// The tasks handle every StoreError. Any other error is a defect or a lack of memory and ends the
// process, so that the store does not hang silently.
void fail_loudly(const std::string& name, const std::string& error) {
  throw std::runtime_error("SQLite store, task '" + name + "' failed: " + error);
}

// The path without symbolic links, as SQLite resolves it: processes must agree on the files next to
// the database, by whichever path they open it.
std::string resolved(const std::string& path) {
  std::error_code error;
  const std::filesystem::path canonical = std::filesystem::weakly_canonical(path, error);
  return error ? std::filesystem::absolute(path) : canonical;  // opening reports the reason
}

}  // namespace

Engine::Engine(const async::Runtime& runtime, SqliteOptions options)
    : runtime_(runtime),
      options_(std::move(options)),
      thread_(std::in_place, 1, "store"),
      scope_(runtime, fail_loudly) {
  options_.path = resolved(options_.path);
}

Task<std::shared_ptr<Engine>> Engine::open(async::Runtime runtime, SqliteOptions options) {
  auto engine = std::make_shared<Engine>(runtime, std::move(options));
  auto open_files = [options = engine->options_] { return std::make_unique<Storage>(options); };
  Task<std::unique_ptr<Storage>> opening =
      engine->thread_->run("open the store", std::move(open_files));
  engine->storage_ = co_await std::move(opening);
  if (engine->is_reader()) {
    engine->start();
    engine->state_ = SessionState::connected;
    co_return engine;
  }
  // Detects the death of processes from now on. The check below finds earlier deaths.
  engine->live_ =
      std::make_unique<LiveWatch>(runtime.executor, engine->storage_->directory().path());
  engine->start();
  std::exception_ptr failure;
  try {
    co_await engine->end_dead_sessions();
    co_await engine->open_session();
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure) {
    co_await engine->scope_.stop();
    std::rethrow_exception(failure);
  }
  engine->sessions_changed_.set();
  co_return engine;
}

void Engine::start() {
  accepting_ = true;
  scope_.spawn("store: run batches", run_batches());
  if (is_reader()) return;
  scope_.spawn("store: listen", listen());
  scope_.spawn("store: clean up sessions", clean_up_sessions());
  scope_.spawn("store: keep session", keep_session());
}

Task<> Engine::close(std::shared_ptr<Engine> engine) {
  if (std::exchange(engine->closing_, true)) co_return;
  const std::int64_t session = engine->session_.session;
  std::exception_ptr failure;
  try {
    auto end = [session](Storage& storage) { storage.sessions().end(session); };
    if (!engine->is_reader()) co_await engine->perform(Access::write, std::move(end));
  } catch (...) {
    failure = std::current_exception();
  }
  engine->enter(SessionState::closed);
  engine->watchers_.clear();
  co_await engine->scope_.stop();
  auto close_files = [&storage = engine->storage_] { storage.reset(); };
  Task<> closing = engine->thread_->run("close the store", std::move(close_files));
  co_await std::move(closing);
  // If the session could not be ended, other processes end it when the lock is dropped.
  engine->session_ = {};
  if (failure) std::rethrow_exception(failure);
}

void Engine::abandon() {
  closing_ = true;
  state_ = SessionState::closed;
  // Cancel on the loop: a store may be destroyed while the loop does not run, and then Asio would
  // pass the cancellation to tasks that may have ended when it arrives.
  boost::asio::post(runtime_.executor, [self = shared_from_this()] { self->scope_.cancel(); });
  thread_.reset();
  storage_.reset();
  session_ = {};
  watchers_.clear();
  session_handlers_.clear();
  refuse_queued();
}

// --- Operations

Task<> Engine::submit(Access access, Operation::Work work) {
  if (!accepting_) throw store_error(Kind::closed, options_.path);
  const auto operation = std::make_shared<Operation>(runtime_.executor, access, std::move(work));
  queue_.push_back(operation);
  wake_.set();
  co_await operation->done.park_through_cancellation();
  if (operation->failure) std::rethrow_exception(operation->failure);
}

Task<> Engine::run_batches() {
  const auto self = shared_from_this();
  try {
    while (true) {
      co_await wake_.wait();
      // The cancellation arrives an iteration of the loop after abandon().
      if (!accepting_) co_return;
      const Batch batch = take_batch();
      watchers_.prepare();
      auto execute = [storage = storage_.get(), &batch] { return storage->execute(batch); };
      Task<Storage::Report> executing = thread_->run("commit a batch", std::move(execute));
      const Storage::Report report = co_await std::move(executing);
      notify(report);
      for (const auto& operation : batch) operation->done.wake();
      if (!queue_.empty()) wake_.set();
    }
  } catch (const async::Cancelled&) {
  }
  refuse_queued();
}

// Reads at the front do not wait for the write lock that later operations need.
Batch Engine::take_batch() {
  Batch batch;
  const bool reads_only = !queue_.empty() && queue_.front()->access == Access::read;
  while (!queue_.empty() && batch.size() < kBatchSize) {
    if (reads_only && queue_.front()->access == Access::write) break;
    batch.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return batch;
}

void Engine::notify(const Storage::Report& report) {
  if (!report.unreadable.empty()) {
    problem_ = report.unreadable;
    if (state_ == SessionState::connected) enter(SessionState::suspended);
  } else {
    watchers_.notify(report.changes);
    if (state_ == SessionState::suspended) {
      enter(SessionState::connected);
      watchers_.resync();
    }
  }
  if ((!report.unreadable.empty() || report.unsignalled) && !std::exchange(retry_due_, true)) {
    scope_.spawn("retry", retry());
  }
}

Task<> Engine::retry() {
  const auto self = shared_from_this();
  co_await runtime_.clock.sleep_for(kRetryPause);
  retry_due_ = false;
  wake_.set();
}

void Engine::refuse_queued() {
  accepting_ = false;
  for (const auto& operation : std::exchange(queue_, {})) {
    operation->failure = std::make_exception_ptr(store_error(Kind::closed, options_.path));
    operation->done.wake();
  }
}

void Engine::require_open(const std::string& path) const {
  if (closing_) throw store_error(Kind::closed, path);
}

void Engine::require_writer(const std::string& path) const {
  if (is_reader()) throw store_error(Kind::invalid, path, "the store is open for reading only");
}

std::int64_t Engine::now() const {
  return static_cast<std::int64_t>(runtime_.clock.wall_seconds() * 1000);
}

// --- Watches

Subscription Engine::watch(std::string root, WatchHandler handler) {
  Subscription subscription = watchers_.add(std::move(root), std::move(handler));
  wake_.set();
  return subscription;
}

Task<> Engine::listen() {
  const auto self = shared_from_this();
  while (true) {
    LiveEvents events;
    try {
      events = co_await live_->next();
    } catch (const StoreError&) {
      events.lost = true;
    }
    if (events.lost) co_await reopen_listener();
    if (events.bell || events.lost) wake_.set();
    if (events.sessions || events.lost) sessions_changed_.set();
  }
}

Task<> Engine::reopen_listener() {
  while (true) {
    try {
      auto restore = [](Storage& storage) { storage.directory().restore(); };
      co_await perform(Access::read, std::move(restore));
      live_->arm();
      co_return;
    } catch (const StoreError&) {
      // Retried below: co_await is not allowed here.
    }
    co_await runtime_.clock.sleep_for(kRetryPause);
  }
}

// --- Sessions

Subscription Engine::on_session(SessionHandler handler) {
  std::erase_if(session_handlers_, [](const auto& entry) { return entry.expired(); });
  auto entry = std::make_shared<SessionHandler>(std::move(handler));
  session_handlers_.push_back(entry);
  return entry;
}

void Engine::enter(SessionState state) {
  state_ = state;
  // By index, because handlers may add others.
  for (std::size_t i = 0; i < session_handlers_.size(); ++i) {
    if (const auto handler = session_handlers_[i].lock()) (*handler)(state);
  }
}

Task<> Engine::open_session() {
  auto open = [at = now()](Storage& storage) { return storage.sessions().open(at); };
  Task<SessionLock> opening = perform(Access::write, std::move(open));
  session_ = co_await std::move(opening);
  if (!closing_) state_ = SessionState::connected;
}

// Does not call handlers, because these never run inside an operation.
void Engine::lose_session(std::int64_t session) {
  if (closing_ || session != session_.session) return;
  if (state_ != SessionState::connected && state_ != SessionState::suspended) return;
  state_ = SessionState::expired;
  problem_ = "the session was ended by another process";
  session_lost_.set();
}

Task<> Engine::keep_session() {
  const auto self = shared_from_this();
  async::Pace pace(kRetryPause, kSessionsAtOnce);
  while (true) {
    co_await session_lost_.wait();
    enter(SessionState::expired);
    while (state_ == SessionState::expired) {
      co_await runtime_.clock.sleep_until(pace.next());
      pace.done(runtime_.clock.now());
      try {
        co_await open_session();
        break;
      } catch (const StoreError& error) {
        problem_ = error.what();
      }
    }
    if (closing_) co_return;
    enter(SessionState::connected);
    // Handlers have dropped the state of the old session: resync all watches.
    watchers_.resync();
  }
}

Task<> Engine::clean_up_sessions() {
  const auto self = shared_from_this();
  while (true) {
    co_await sessions_changed_.wait();
    for (milliseconds pause = kFirstPause;; pause = std::min(2 * pause, kLastPause)) {
      bool done = false;
      try {
        co_await end_dead_sessions();
        done = true;
      } catch (const StoreError&) {
        // A full disk, for example: retried.
      }
      if (done && pause == kLastPause) break;
      Task<bool> changed =
          sessions_changed_.wait_until(runtime_.clock, runtime_.clock.now() + pause);
      if (co_await std::move(changed)) pause = kFirstPause;
    }
  }
}

Task<> Engine::end_dead_sessions() {
  const std::int64_t own = session_.session;
  auto look = [](Storage& storage) { return storage.sessions().any_dead(); };
  if (co_await perform(Access::read, std::move(look))) {
    auto end = [](Storage& storage) { storage.sessions().end_dead(); };
    co_await perform(Access::write, std::move(end));
  }
  auto check_own = [own](Storage& storage) { return storage.sessions().is_open(own); };
  const bool alive = co_await perform(Access::read, std::move(check_own));
  if (!alive) lose_session(own);
}

}  // namespace nodepool::coordination::sqlite
