#include "telemetry/log_target.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>

#include "telemetry/log_stream.h"
#include "telemetry/sanitized_text.h"

namespace nodepool::telemetry {

namespace {

// By the level, for lines in the journal. Reference: sd-daemon(3).
constexpr std::array<std::string_view, 5> kPriorities = {"<7>", "<6>", "<4>", "<3>", "<2>"};

// Whether the descriptor is a stream to systemd's journal. Reference: $JOURNAL_STREAM in
// systemd.exec(5).
bool is_journal(int descriptor) {
  const char* const journal = std::getenv("JOURNAL_STREAM");
  struct ::stat status{};
  if (journal == nullptr || ::fstat(descriptor, &status) != 0) return false;
  return fmt::format("{}:{}", status.st_dev, status.st_ino) == journal;
}

}  // namespace

LogTarget::LogTarget(const LogTargetOptions& options) : level_(options.level) {
  switch (options.kind) {
    case LogTargetOptions::Kind::file:
      open_file(options);
      break;
    case LogTargetOptions::Kind::standard_output:
      open_stream(STDOUT_FILENO, "standard output", options);
      break;
    case LogTargetOptions::Kind::standard_error:
      open_stream(STDERR_FILENO, "standard error", options);
      break;
  }
}

LogTarget::LogTarget(Put put) : put_(std::move(put)) {}

void LogTarget::open_file(const LogTargetOptions& options) {
  name_ = options.file;
  is_file_ = true;
  const auto file = std::make_shared<LogFile>(options.file, options.rotation, std::time(nullptr));
  losses_.trouble = file->opening_failure();
  put_ = [file, format = LogFormat(options.format)](const LogRecord& record) mutable {
    file->write(format.render(record, ""), std::chrono::system_clock::to_time_t(record.time));
  };
}

void LogTarget::open_stream(int descriptor, std::string name, const LogTargetOptions& options) {
  name_ = std::move(name);
  const bool has_priorities = is_journal(descriptor);
  put_ = [stream = LogStream(descriptor, options.patience), has_priorities,
          format = LogFormat(options.format)](const LogRecord& record) mutable {
    const std::string_view start =
        has_priorities ? kPriorities.at(static_cast<std::size_t>(record.level)) : "";
    stream.write(format.render(record, start));
  };
}

void LogTarget::write(const LogRecord& record) {
  retry(record.time);
  if (losses_.trouble.empty()) attempt(record);
  if (!losses_.trouble.empty()) ++losses_.messages;
}

void LogTarget::retry(std::chrono::system_clock::time_point now) {
  if (losses_.trouble.empty()) return;
  const std::string report =
      sanitized_text(fmt::format("{} message(s) could not be written to this log: {}",
                                 losses_.messages - reported_, losses_.trouble));
  attempt({LogLevel::warning, now, "nodepool.log", report});
  if (losses_.trouble.empty()) reported_ = losses_.messages;
}

void LogTarget::attempt(const LogRecord& record) {
  try {
    put_(record);
    losses_.trouble.clear();
  } catch (const std::exception& error) {
    losses_.trouble = error.what();
  }
}

}  // namespace nodepool::telemetry
