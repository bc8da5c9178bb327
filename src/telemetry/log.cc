#include "telemetry/log.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "telemetry/sanitized_text.h"

namespace nodepool::telemetry {

namespace {

const LogRoute kSilence{.level = LogLevel::off, .targets = {}};

using Targets = std::map<std::size_t, LogTarget>;

Targets open_targets(const LogOptions& options) {
  Targets targets;
  for (const auto& [logger, route] : options.routes) {
    for (const std::size_t position : route.targets) {
      targets.try_emplace(position, options.targets.at(position));
    }
  }
  return targets;
}

// Throws if the route has files, but none could be opened. A stream does not replace a file: in the
// background, it leads nowhere.
void require_file(const LogRoute& route, const Targets& targets) {
  const LogTarget* failed = nullptr;
  for (const std::size_t position : route.targets) {
    const LogTarget& target = targets.at(position);
    if (!target.is_file()) continue;
    if (target.losses().trouble.empty()) return;
    if (failed == nullptr) failed = &target;
  }
  if (failed == nullptr) return;
  throw std::runtime_error("cannot write the log file " + failed->name() + ": " +
                           failed->losses().trouble);
}

}  // namespace

Log::Log(const LogOptions& options) : Log(open_targets(options), options.routes) {}

Log::Log(Targets targets, Routes routes)
    : targets_(std::move(targets)), routes_(std::move(routes)) {
  for (auto& [logger, route] : routes_) {
    require_file(route, targets_);
    LogLevel least = LogLevel::off;
    for (const std::size_t position : route.targets) {
      least = std::min(least, targets_.at(position).level());
    }
    route.level = std::max(route.level, least);
  }
}

std::shared_ptr<Log> Log::to_consumer(Consumer consume, LogLevel level) {
  Targets targets;
  targets.try_emplace(0, [consume = std::move(consume)](const LogRecord& record) {
    consume(record.level, record.logger, record.message);
  });
  return std::shared_ptr<Log>(new Log(std::move(targets), {{"", {.level = level}}}));
}

const LogRoute& Log::route_of(std::string_view logger) const {
  for (std::string_view name = logger;;) {
    const auto found = routes_.find(name);
    if (found != routes_.end()) return found->second;
    if (name.empty()) return kSilence;
    const std::size_t dot = name.rfind('.');
    name = dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
  }
}

bool Log::enabled(std::string_view logger, LogLevel level) const {
  return level >= route_of(logger).level;
}

void Log::write(std::string_view logger, LogLevel level, std::string_view message) {
  const LogRoute& route = route_of(logger);
  const std::string name = sanitized_text(logger);
  const std::string text = sanitized_text(message);
  const LogRecord record{level, std::chrono::system_clock::now(), name, text};
  const std::lock_guard lock(mutex_);
  const auto takes = [&](std::size_t position) { return level >= targets_.at(position).level(); };
  const bool is_taken = std::ranges::any_of(route.targets, takes);
  for (const std::size_t position : route.targets) {
    if (!is_taken || takes(position)) targets_.at(position).write(record);
  }
}

void Log::retry() {
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::system_clock::now();
  for (auto& [position, target] : targets_) target.retry(now);
}

LogLosses Log::losses() const {
  const std::lock_guard lock(mutex_);
  LogLosses sum;
  for (const auto& [position, target] : targets_) {
    const LogLosses& losses = target.losses();
    sum.messages += losses.messages;
    if (losses.trouble.empty()) continue;
    if (!sum.trouble.empty()) sum.trouble += "; ";
    if (!target.name().empty()) sum.trouble += target.name() + ": ";
    sum.trouble += losses.trouble;
  }
  return sum;
}

Logger Logger::child(std::string_view part) const {
  Logger logger = *this;
  logger.name_.append(".").append(part);
  return logger;
}

Logger Logger::about(std::string_view event_id, std::string_view request_id,
                     std::string_view node_id) const {
  Logger logger = *this;
  logger.prefix_.clear();
  if (!event_id.empty()) logger.prefix_ += fmt::format("[e: {}] ", event_id);
  if (!request_id.empty()) logger.prefix_ += fmt::format("[node_request: {}] ", request_id);
  if (!node_id.empty()) logger.prefix_ += fmt::format("[node: {}] ", node_id);
  return logger;
}

void Logger::requested(const std::string& message) const {
  log_->write(name_, LogLevel::info, prefix_ + message);
}

void Logger::write(LogLevel level, fmt::string_view format, fmt::format_args args) const {
  if (!log_->enabled(name_, level)) return;
  log_->write(name_, level, prefix_ + fmt::vformat(format, args));
}

}  // namespace nodepool::telemetry
