#include "program/config_follower.h"

#include <algorithm>
#include <exception>
#include <system_error>
#include <utility>

#include "async/finally.h"
#include "coordination/outage.h"

namespace nodepool::program {

using async::Task;

ConfigFollower::ConfigFollower(const async::Runtime& runtime, telemetry::Logger log, Source source,
                               Pauses pauses)
    : runtime_(runtime),
      log_(std::move(log)),
      source_(std::move(source)),
      pauses_(pauses),
      threads_(1, "configuration") {
  try {
    watch_.emplace(runtime_.executor, source_.files);
  } catch (const std::system_error& error) {
    log_.warning("Changes of the configuration are noticed late: {}", error.what());
  }
}

config::Config ConfigFollower::load() {
  for (const std::string& file : source_.files) read_[file] = config::stamp(file);
  config::Config config = source_.load();
  expect(source_.further_files(config));
  return config;
}

// Notes the files that are about to be read for a configuration beside its own.
void ConfigFollower::expect(const std::set<std::string>& files) {
  std::erase_if(read_, [this](const auto& entry) {
    return std::ranges::find(source_.files, entry.first) == source_.files.end();
  });
  for (const std::string& file : files) read_[file] = config::stamp(file);
  if (!watch_) return;
  std::vector<std::string> paths;
  for (const auto& [path, unused] : read_) paths.push_back(path);
  watch_->follow(std::move(paths));
}

Task<> ConfigFollower::run() {
  async::TaskScope scope(runtime_, [this](const std::string& name, const std::string& error) {
    log_.error("{}: {}", name, error);
  });
  if (watch_) scope.spawn("watch of the configuration", watch());
  const auto end_watch = [&scope] { return scope.stop(); };
  Task<> following = follow();
  co_await async::finally(std::move(following), end_watch);
}

Task<> ConfigFollower::watch() {
  while (true) {
    co_await watch_->changed();
    look_.set();
  }
}

Task<> ConfigFollower::follow() {
  while (true) {
    const async::Duration pause = failure_.empty() ? pauses_.between_looks : pauses_.before_retry;
    co_await look_.wait_until(runtime_.clock, runtime_.clock.now() + pause);
    const bool is_asked = std::exchange(is_asked_, false);
    const bool has_settled_anew = co_await has_changed();
    if (has_settled_anew || is_asked || !failure_.empty()) co_await try_reload(is_asked);
  }
}

// Returns when the files stand still, with what they are like then compared to what was read.
Task<bool> ConfigFollower::has_changed() {
  Stamps now = co_await stamps_now();
  if (now == read_) co_return false;
  while (true) {
    co_await runtime_.clock.sleep_for(pauses_.settling);
    Stamps later = co_await stamps_now();
    if (later == now) co_return later != read_;
    now = std::move(later);
  }
}

Task<ConfigFollower::Stamps> ConfigFollower::stamps_now() {
  auto look = [stamps = read_]() mutable {
    for (auto& [file, stamp] : stamps) stamp = config::stamp(file);
    return stamps;
  };
  co_return co_await threads_.run("stamps of files", std::move(look));
}

Task<> ConfigFollower::try_reload(bool is_asked) {
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
  report(failure, is_waiting, is_asked);
  const bool is_newer = failure.empty() || failure != failure_;
  failure_ = std::move(failure);
  if (is_newer && source_.told) source_.told(failure_);
}

// Each failure once, however often it is met; but who asks gets an answer.
void ConfigFollower::report(const std::string& failure, bool is_waiting, bool is_asked) {
  if (failure.empty() || (failure == failure_ && !is_asked)) return;
  if (is_waiting) {
    log_.warning("The configuration could not be reloaded, trying again: {}", failure);
  } else {
    log_.error("The configuration was not reloaded, the old one stays in force: {}", failure);
  }
}

}  // namespace nodepool::program
