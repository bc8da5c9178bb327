#include "telemetry/log_target.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

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

void write_to_stream(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw std::system_error(errno, std::generic_category());
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

LogTarget::LogTarget(const LogTargetOptions& options) : level_(options.level) {
  switch (options.kind) {
    case LogTargetOptions::Kind::file:
      open_file(options);
      break;
    case LogTargetOptions::Kind::standard_output:
      open_stream(STDOUT_FILENO, "standard output", options.format);
      break;
    case LogTargetOptions::Kind::standard_error:
      open_stream(STDERR_FILENO, "standard error", options.format);
      break;
  }
}

LogTarget::LogTarget(Put put) : put_(std::move(put)) {}

void LogTarget::open_file(const LogTargetOptions& options) {
  name_ = options.file;
  const auto file = std::make_shared<LogFile>(options.file, options.rotation, std::time(nullptr));
  losses_.trouble = file->opening_failure();
  put_ = [file, format = LogFormat(options.format)](const LogRecord& record) {
    file->write(format.render(record, ""), std::chrono::system_clock::to_time_t(record.time));
  };
}

void LogTarget::open_stream(int descriptor, std::string name, const LogFormatOptions& options) {
  name_ = std::move(name);
  const bool has_priorities = is_journal(descriptor);
  put_ = [descriptor, has_priorities, format = LogFormat(options)](const LogRecord& record) {
    const std::string_view start =
        has_priorities ? kPriorities.at(static_cast<std::size_t>(record.level)) : "";
    write_to_stream(descriptor, format.render(record, start));
  };
}

void LogTarget::write(const LogRecord& record) {
  try {
    const std::uint64_t unreported = losses_.messages - reported_;
    if (unreported > 0) {
      const std::string report = fmt::format("{} message(s) could not be written to this log: {}",
                                             unreported, losses_.trouble);
      put_({LogLevel::warning, record.time, "nodepool.log", report});
      reported_ = losses_.messages;
    }
    put_(record);
    losses_.trouble.clear();
  } catch (const std::exception& error) {
    ++losses_.messages;
    losses_.trouble = error.what();
  }
}

}  // namespace nodepool::telemetry
