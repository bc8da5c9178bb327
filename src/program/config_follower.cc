#include "program/config_follower.h"

#include <algorithm>
#include <exception>
#include <system_error>
#include <utility>

#include "async/finally.h"
#include "coordination/outage.h"
#include "telemetry/log_errors.h"

namespace nodepool::program {

using async::Task;

ConfigFollower::ConfigFollower(const async::Runtime& runtime, telemetry::Logger log, Source source,
                               Intervals intervals)
    : runtime_(runtime),
      log_(std::move(log)),
      source_(std::move(source)),
      intervals_(intervals),
      threads_(1, "configuration") {
  try {
    watch_.emplace(runtime_.executor, source_.files);
  } catch (const std::system_error& error) {
    log_.warning("Cannot watch the configuration files, polling them instead: {}", error.what());
  }
}

config::Config ConfigFollower::load() {
  for (const std::string& file : source_.files) read_.try_emplace(file);
  // Also the further files: a change of theirs must not reload an invalid file without a pause.
  for (auto& [file, stamp] : read_) stamp = async::stamp(file);
  config::Config config = source_.load();
  expect(source_.further_files(config));
  return config;
}

// Watches the further files of a configuration, which are about to be read.
void ConfigFollower::expect(const std::set<std::string>& files) {
  std::erase_if(read_, [this](const auto& entry) {
    return std::ranges::find(source_.files, entry.first) == source_.files.end();
  });
  for (const std::string& file : files) read_[file] = async::stamp(file);
  if (!watch_) return;
  std::vector<std::string> paths;
  for (const auto& [path, unused] : read_) paths.push_back(path);
  watch_->follow(std::move(paths));
}

Task<> ConfigFollower::run() {
  async::TaskScope scope(runtime_, telemetry::log_errors(log_));
  if (watch_) scope.spawn("watch of the configuration", watch());
  const auto end_watch = [&scope] { return scope.stop(); };
  Task<> following = follow(scope);
  co_await async::finally(std::move(following), end_watch);
}

Task<> ConfigFollower::watch() {
  while (true) {
    co_await watch_->changed();
    check_.set();
  }
}

Task<> ConfigFollower::follow(async::TaskScope& scope) {
  while (true) {
    const async::Duration interval = error_.empty() ? intervals_.poll : intervals_.retry;
    if (!is_outdated_ && !is_requested_) {
      co_await check_.wait_until(runtime_.clock, runtime_.clock.now() + interval);
    }
    const bool is_requested = std::exchange(is_requested_, false);
    const bool is_changed = co_await has_changed();
    if (!is_changed && !is_requested && !is_outdated_ && error_.empty()) continue;
    is_outdated_ = false;
    is_applying_ = true;
    scope.spawn("reload of the configuration", try_reload(is_requested));
    co_await until_applied();
  }
}

// Continues to check the files: applying a configuration may wait for the store, and a change may
// correct the servers of the store.
Task<> ConfigFollower::until_applied() {
  while (is_applying_) {
    co_await check_.wait_until(runtime_.clock, runtime_.clock.now() + intervals_.poll);
    if (!co_await has_changed()) continue;
    is_outdated_ = true;
    if (is_applying_) load_ahead();
  }
}

// Waits until the files do not change any more; returns whether they differ from the files read.
Task<bool> ConfigFollower::has_changed() {
  Stamps now = co_await stamps_now();
  if (now == read_) co_return false;
  while (true) {
    co_await runtime_.clock.sleep_for(intervals_.settling);
    Stamps later = co_await stamps_now();
    if (later == now) co_return later != read_;
    now = std::move(later);
  }
}

Task<ConfigFollower::Stamps> ConfigFollower::stamps_now() {
  auto stat_files = [stamps = read_]() mutable {
    for (auto& [file, stamp] : stamps) stamp = async::stamp(file);
    return stamps;
  };
  co_return co_await threads_.run("stamps of files", std::move(stat_files));
}

Task<> ConfigFollower::try_reload(bool is_requested) {
  std::string failure;
  bool is_waiting = false;
  try {
    Task<> applying = source_.apply(load());
    co_await std::move(applying);
  } catch (const async::Cancelled&) {
    throw;
  } catch (const coordination::StoreError& error) {
    failure = error.what();
    is_waiting = coordination::is_outage(error);
  } catch (const std::exception& error) {
    failure = error.what();
  }
  is_applying_ = false;
  if (is_outdated_) {
    is_requested_ |= is_requested;  // the result of the next one counts
  } else {
    reload_ended(std::move(failure), is_waiting, is_requested);
  }
  check_.set();
}

void ConfigFollower::load_ahead() {
  std::string failure;
  try {
    const config::Config config = load();
    if (source_.apply_ahead) source_.apply_ahead(config);
  } catch (const std::exception& error) {
    failure = error.what();
  }
  if (!failure.empty()) reload_ended(std::move(failure), false, false);
}

void ConfigFollower::reload_ended(std::string failure, bool is_waiting, bool is_requested) {
  report(failure, is_waiting, is_requested);
  const bool is_news = failure.empty() || failure != error_;
  error_ = std::move(failure);
  if (is_news && source_.on_result) source_.on_result(error_);
}

// Logs each error once, however often it recurs, and after each request to reload.
void ConfigFollower::report(const std::string& error, bool is_waiting, bool is_requested) {
  if (error.empty() || (error == error_ && !is_requested)) return;
  if (is_waiting) {
    log_.warning("The configuration could not be reloaded, retrying: {}", error);
  } else {
    log_.error("The configuration was not reloaded, the previous one stays in effect: {}", error);
  }
}

}  // namespace nodepool::program
