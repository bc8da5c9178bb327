#include "telemetry/log.h"

#include <spdlog/details/os.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "telemetry/sanitized_text.h"

namespace nodepool::telemetry {

namespace {

constexpr std::array<std::string_view, 6> kLevelNames = {"DEBUG", "INFO",     "WARNING",
                                                         "ERROR", "CRITICAL", "OFF"};

// By the level, for lines in the journal. Reference: sd-daemon(3).
constexpr std::array<std::string_view, 5> kPriorities = {"<7>", "<6>", "<4>", "<3>", "<2>"};

std::string line_prefix(std::string_view logger, LogLevel level) {
  const auto now = std::chrono::system_clock::now();
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  const std::tm local = spdlog::details::os::localtime(std::chrono::system_clock::to_time_t(now));
  std::array<char, 24> date{};
  std::strftime(date.data(), date.size(), "%Y-%m-%d %H:%M:%S", &local);
  return fmt::format("{},{:03} {} {}: ", date.data(), milliseconds,
                     kLevelNames.at(static_cast<std::size_t>(level)), logger);
}

// Whether the descriptor is a stream to systemd's journal. Reference: $JOURNAL_STREAM in
// systemd.exec(5).
bool is_journal(int descriptor) {
  const char* const journal = std::getenv("JOURNAL_STREAM");
  struct ::stat status{};
  if (journal == nullptr || ::fstat(descriptor, &status) != 0) return false;
  return fmt::format("{}:{}", status.st_dev, status.st_ino) == journal;
}

std::string render(std::string_view logger, LogLevel level, std::string_view message,
                   bool has_priority) {
  std::string prefix = line_prefix(logger, level);
  if (has_priority) prefix.insert(0, kPriorities.at(static_cast<std::size_t>(level)));
  std::string text;
  for (std::size_t start = 0; start <= message.size();) {
    const std::size_t end = std::min(message.find('\n', start), message.size());
    text += prefix;
    if (start > 0) text += "  ";
    text += message.substr(start, end - start);
    text += '\n';
    start = end + 1;
  }
  return text;
}

void write_to_stream(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw std::system_error(errno, std::generic_category());
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

std::optional<LogLevel> parse_log_level(std::string_view name) {
  std::string upper(name);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
  if (upper == "WARN") return LogLevel::warning;
  if (upper == "FATAL") return LogLevel::critical;
  const auto* found = std::ranges::find(kLevelNames, upper);
  if (found == kLevelNames.end()) return std::nullopt;
  return static_cast<LogLevel>(found - kLevelNames.begin());
}

struct Log::Output {
  std::mutex mutex;  // worker threads log too
  std::optional<LogFile> file;
  int stream = STDERR_FILENO;  // without a file
  bool is_journal = false;     // the stream
  Losses losses;
  std::uint64_t reported = 0;  // of the dropped messages
};

Log::Log(LogOptions options) : Log(std::move(options), nullptr) {}

Log::Log(LogOptions options, Consumer consume)
    : options_(std::move(options)),
      consume_(std::move(consume)),
      output_(std::make_unique<Output>()) {
  if (options_.target != LogOptions::Target::file) {
    const bool is_output = options_.target == LogOptions::Target::standard_output;
    output_->stream = is_output ? STDOUT_FILENO : STDERR_FILENO;
    output_->is_journal = is_journal(output_->stream);
    return;
  }
  try {
    output_->file.emplace(options_.file, options_.rotation, std::time(nullptr));
  } catch (const std::exception& error) {
    throw std::runtime_error("cannot write the log file " + options_.file + ": " + error.what());
  }
}

Log::~Log() = default;

std::shared_ptr<Log> Log::to_consumer(Consumer consume, LogLevel level) {
  LogOptions options;
  options.levels = {{"", level}};
  return std::shared_ptr<Log>(new Log(std::move(options), std::move(consume)));
}

bool Log::enabled(std::string_view logger, LogLevel level) const {
  for (std::string_view name = logger;;) {
    const auto found = options_.levels.find(name);
    if (found != options_.levels.end()) return level >= found->second;
    if (name.empty()) return level >= LogLevel::info;
    const std::size_t dot = name.rfind('.');
    name = dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
  }
}

void Log::write(std::string_view logger, LogLevel level, std::string_view message) {
  const std::lock_guard lock(output_->mutex);
  Losses& losses = output_->losses;
  try {
    const std::uint64_t unreported = losses.messages - output_->reported;
    if (unreported > 0) {
      put("nodepool.log", LogLevel::warning,
          fmt::format("{} message(s) could not be written to this log: {}", unreported,
                      losses.trouble));
      output_->reported = losses.messages;
    }
    put(logger, level, message);
    losses.trouble.clear();
  } catch (const std::exception& error) {
    ++losses.messages;
    losses.trouble = error.what();
  }
}

void Log::put(std::string_view logger, LogLevel level, std::string_view message) {
  if (consume_) return consume_(level, logger, message);
  const std::string harmless = sanitized_text(render(logger, level, message, output_->is_journal));
  if (output_->file) {
    output_->file->write(harmless, std::time(nullptr));
    return;
  }
  write_to_stream(output_->stream, harmless);
}

Log::Losses Log::losses() const {
  const std::lock_guard lock(output_->mutex);
  return output_->losses;
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
