#include "model/registration.h"

#include <utility>

#include "coordination/path.h"
#include "coordination/tree.h"
#include "model/paths.h"
#include "telemetry/log_errors.h"

namespace nodepool::model {

namespace {

using coordination::StoreError;

// Before the next attempt after a failed write.
constexpr auto kRetryPause = std::chrono::seconds(1);

// How often the record is created again because it was removed.
constexpr auto kRemovalInterval = std::chrono::seconds(1);
constexpr int kRemovalsAtOnce = 2;

std::string kind_path(const Component& component) {
  return coordination::join_path(kComponentsRoot, to_string(component.kind));
}

}  // namespace

Registration::Registration(const async::Runtime& runtime, coordination::Store& store,
                           telemetry::Logger log, Component component)
    : runtime_(runtime),
      store_(store),
      log_(std::move(log)),
      component_(std::move(component)),
      removals_(kRemovalInterval, kRemovalsAtOnce),
      scope_(runtime, telemetry::log_errors(log_)) {}

async::Task<> Registration::start() {
  session_ = store_.on_session([this](coordination::SessionState state) {
    if (state == coordination::SessionState::expired) {
      ++lost_sessions_;
      path_.clear();
    }
    if (state == coordination::SessionState::connected) changed_.set();
  });
  while (path_.empty()) {
    if (co_await try_to_write()) continue;
    co_await changed_.wait_until(runtime_.clock, runtime_.clock.now() + kRetryPause);
  }
  if (scope_.empty()) scope_.spawn("registration", keep_registered());
}

void Registration::update(Component component) {
  if (component == component_) return;
  component_ = std::move(component);
  changed_.set();
}

async::Task<> Registration::stop() {
  session_.reset();
  record_.reset();
  co_await scope_.stop();
}

async::Task<> Registration::unregister() {
  co_await stop();
  // Otherwise the record would remain until the session ends, and requests would wait for the pool.
  while (uncertain_ || !path_.empty()) {
    bool is_gone = true;
    try {
      if (uncertain_) co_await find_created();
      if (!path_.empty()) co_await store_.remove(path_, coordination::kAnyVersion);
    } catch (const StoreError& error) {
      log_.debug("Unregistering {}: {}", component_.hostname, error.what());
      is_gone = error.is_rejection() || error.kind() == StoreError::Kind::session_expired ||
                error.kind() == StoreError::Kind::closed;
    }
    if (is_gone) {
      uncertain_ = false;
      path_.clear();
    } else {
      co_await runtime_.clock.sleep_for(kRetryPause);
    }
  }
}

async::Task<> Registration::keep_registered() {
  while (true) {
    co_await changed_.wait();
    if (may_be_gone_) co_await runtime_.clock.sleep_until(removals_.next());
    if (co_await try_to_write()) continue;
    // Or earlier, if the session is back.
    co_await changed_.wait_until(runtime_.clock, runtime_.clock.now() + kRetryPause);
    changed_.set();
  }
}

// Returns whether the store was reachable. A failure may last for hours, for example on a full
// disk: only the first one is a warning.
async::Task<bool> Registration::try_to_write() {
  try {
    co_await write();
  } catch (const StoreError& error) {
    if (error.kind() == StoreError::Kind::closed || error.is_argument_error()) throw;
    if (std::exchange(is_failing_, true)) {
      log_.debug("Could not register: {}", error.what());
    } else {
      log_.warning("Could not register, retrying: {}", error.what());
    }
    co_return false;
  }
  if (std::exchange(is_failing_, false)) log_.info("The registration is up to date again");
  co_return true;
}

async::Task<> Registration::write() {
  bool is_parent_missing = false;
  try {
    co_await write_record();
  } catch (const StoreError& error) {
    if (error.kind() != StoreError::Kind::no_node) throw;
    is_parent_missing = true;
  }
  if (!is_parent_missing) co_return;
  co_await coordination::ensure_path(store_, kind_path(component_));
  co_await write_record();
}

async::Task<> Registration::write_record() {
  std::string text = to_record(component_);
  co_await check_existence();
  if (!path_.empty() && text == written_) co_return;
  if (!path_.empty()) {
    try {
      co_await store_.set(path_, text, coordination::kAnyVersion);
      written_ = std::move(text);
      co_return;
    } catch (const StoreError& error) {
      if (error.kind() != StoreError::Kind::no_node) throw;
      path_.clear();
    }
  }
  if (uncertain_ && co_await find_created()) co_return changed_.set();
  const std::string prefix = coordination::join_path(kind_path(component_), component_.hostname);
  const std::uint64_t lost_before = lost_sessions_;
  std::string path;
  try {
    path = co_await store_.create(prefix, text, coordination::CreateMode::ephemeral_sequential);
  } catch (const StoreError& error) {
    uncertain_ = error.kind() == StoreError::Kind::unknown_outcome;
    if (uncertain_) written_ = std::move(text);
    throw;
  }
  written_ = std::move(text);
  // The record may belong to a session that was lost meanwhile.
  uncertain_ = lost_sessions_ != lost_before;
  if (uncertain_) co_return changed_.set();
  written_to(std::move(path));
}

// The watch reports that the record may have been removed, even before the watch was set.
void Registration::written_to(std::string path) {
  path_ = std::move(path);
  record_ = store_.watch(path_, [this](const coordination::WatchEvent& event) {
    using Kind = coordination::WatchEvent::Kind;
    if (event.kind != Kind::removed && event.kind != Kind::resync) return;
    may_be_gone_ = true;
    changed_.set();
  });
}

async::Task<> Registration::check_existence() {
  if (path_.empty() || !may_be_gone_) co_return;
  may_be_gone_ = false;
  try {
    if (co_await store_.exists(path_)) co_return;
  } catch (const StoreError&) {
    may_be_gone_ = true;
    throw;
  }
  removals_.done(runtime_.clock.now());
  log_.warning("Registering again, the record {} was removed", path_);
  path_.clear();
}

// Finds the record of this session with the written text. The text is unique within a session:
// pools have ids, and a session has one launcher.
async::Task<bool> Registration::find_created() {
  const std::string parent = kind_path(component_);
  const std::vector<std::string> names = co_await store_.children(parent);
  for (const std::string& name : names) {
    std::string path = coordination::join_path(parent, name);
    try {
      const coordination::Entry entry = co_await store_.get(path);
      if (entry.stat.ephemeral_owner != store_.session_id() || entry.data != written_) continue;
    } catch (const StoreError& error) {
      if (error.kind() == StoreError::Kind::no_node) continue;
      throw;
    }
    written_to(std::move(path));
    break;
  }
  uncertain_ = false;
  co_return !path_.empty();
}

}  // namespace nodepool::model
