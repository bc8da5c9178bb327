#include "coordination/sqlite/engine.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include <boost/asio/post.hpp>

namespace nodepool::coordination::sqlite {

using Access = Operation::Access;
using Kind = StoreError::Kind;
using std::chrono::milliseconds;

namespace {

// Operations in one commit: enough to make the sync of the disk cheap, few enough that other
// processes get their turn.
constexpr std::size_t kBatchSize = 256;

// Before another attempt at what the disk or another program made impossible.
constexpr milliseconds kRetryPause(1000);

// The kernel tells that a dead process closed its session's file a moment before it drops the lock
// on it, so the lock is looked at again after 1, 2, 4, … ms, in all for about this long.
constexpr milliseconds kFirstLook(1);
constexpr milliseconds kLastLook(1000);

// The tasks handle every StoreError. Anything else is a defect or a lack of memory: a store that
// silently stands still would be worse than the end of the process.
void fail_loudly(const std::string& name, const std::string& error) {
  throw std::runtime_error("SQLite store, task '" + name + "' failed: " + error);
}

}  // namespace

Engine::Engine(const async::Runtime& runtime, SqliteOptions options)
    : runtime_(runtime),
      options_(std::move(options)),
      thread_(std::in_place, 1, "store"),
      scope_(runtime, fail_loudly) {
  options_.path = std::filesystem::absolute(options_.path);
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
  // From here on no death of a process is missed; those before are found by looking.
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
  // Where the session could not be ended, the lock's end tells others to do it.
  engine->session_ = {};
  if (failure) std::rethrow_exception(failure);
}

void Engine::abandon() {
  closing_ = true;
  state_ = SessionState::closed;
  // By the loop itself: whoever destroys a store may do so while the loop stands still, and Asio
  // passes a cancellation from there to tasks that may have ended when it arrives.
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
      // The cancellation arrives a turn later than abandon() takes effect.
      if (!accepting_) co_return;
      const Batch batch = take_batch();
      watchers_.prepare();
      auto execute = [storage = storage_.get(), &batch] { return storage->execute(batch); };
      Task<Storage::Report> executing = thread_->run("commit a batch", std::move(execute));
      const Storage::Report report = co_await std::move(executing);
      tell(report);
      for (const auto& operation : batch) operation->done.wake();
      if (!queue_.empty()) wake_.set();
    }
  } catch (const async::Cancelled&) {
  }
  refuse_queued();
}

// Reads in front do not wait for the write lock that what follows them needs.
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

void Engine::tell(const Storage::Report& report) {
  if (report.unreadable) {
    if (state_ == SessionState::connected) enter(SessionState::suspended);
  } else {
    watchers_.tell(report.changes);
    if (state_ == SessionState::suspended) {
      enter(SessionState::connected);
      watchers_.resync();
    }
  }
  if ((report.unreadable || report.unrung) && !std::exchange(retry_due_, true)) {
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
  if (is_reader()) throw store_error(Kind::invalid, path, "the store was opened for reading only");
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
    LiveNews news;
    try {
      news = co_await live_->next();
    } catch (const StoreError&) {
      news.lost = true;
    }
    if (news.lost) co_await reopen_listener();
    if (news.bell || news.lost) wake_.set();
    if (news.sessions || news.lost) sessions_changed_.set();
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
      // Tried again below: a co_await has no place here.
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
  // Handlers may add others: no iterators.
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

// Tells nobody yet: handlers are not called from inside an operation.
void Engine::lose_session(std::int64_t session) {
  if (closing_ || session != session_.session) return;
  if (state_ != SessionState::connected && state_ != SessionState::suspended) return;
  state_ = SessionState::expired;
  session_lost_.set();
}

Task<> Engine::keep_session() {
  const auto self = shared_from_this();
  while (true) {
    co_await session_lost_.wait();
    enter(SessionState::expired);
    while (state_ == SessionState::expired) {
      try {
        co_await open_session();
        break;
      } catch (const StoreError&) {
        // Tried again below: a co_await has no place here.
      }
      co_await runtime_.clock.sleep_for(kRetryPause);
    }
    if (closing_) co_return;
    enter(SessionState::connected);
    // What was derived from the old session has been dropped: everybody begins anew.
    watchers_.resync();
  }
}

Task<> Engine::clean_up_sessions() {
  const auto self = shared_from_this();
  while (true) {
    co_await sessions_changed_.wait();
    for (milliseconds pause = kFirstLook;; pause = std::min(2 * pause, kLastLook)) {
      bool done = false;
      try {
        co_await end_dead_sessions();
        done = true;
      } catch (const StoreError&) {
        // A full disk, for example: tried again.
      }
      if (done && pause == kLastLook) break;
      Task<bool> news = sessions_changed_.wait_until(runtime_.clock, runtime_.clock.now() + pause);
      if (co_await std::move(news)) pause = kFirstLook;
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
  auto look_at_own = [own](Storage& storage) { return storage.sessions().is_open(own); };
  const bool alive = co_await perform(Access::read, std::move(look_at_own));
  if (!alive) lose_session(own);
}

}  // namespace nodepool::coordination::sqlite
