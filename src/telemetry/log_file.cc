#include "telemetry/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace nodepool::telemetry {

namespace fs = std::filesystem;

namespace {

constexpr int kDaysOfWeek = 7;
constexpr int kMonday = 1;  // in std::tm

std::tm broken_down(std::time_t time, bool utc) {
  std::tm parts{};
  if (utc) {
    ::gmtime_r(&time, &parts);
  } else {
    ::localtime_r(&time, &parts);
  }
  return parts;
}

// The midnight this many days after the one of `parts`.
std::time_t midnight_after(std::tm parts, int days, bool utc) {
  parts.tm_mday += days;
  parts.tm_hour = parts.tm_min = parts.tm_sec = 0;
  parts.tm_isdst = -1;
  return utc ? ::timegm(&parts) : std::mktime(&parts);
}

// The start of the period that ends at `end`.
std::time_t start_of_period(const LogRotation& rotation, std::time_t end) {
  if (rotation.period == LogRotation::Period::fixed) return end - rotation.seconds;
  const int days = rotation.period == LogRotation::Period::weekday ? kDaysOfWeek : 1;
  return midnight_after(broken_down(end, rotation.utc), -days, rotation.utc);
}

// Whether the file system or a quota is full, which may change.
bool is_no_space(const std::error_code& error) {
  return error == std::errc::no_space_on_device || error.value() == EDQUOT;
}

// "2026-11-21", optionally with a time.
bool is_date(std::string_view text) {
  constexpr std::size_t kDay = 10;
  return text.size() >= kDay && text[4] == '-' &&
         text.find_first_not_of("0123456789-_") == std::string_view::npos;
}

}  // namespace

std::time_t end_of_period(const LogRotation& rotation, std::time_t now) {
  const std::tm parts = broken_down(now, rotation.utc);
  switch (rotation.period) {
    case LogRotation::Period::none:
      return 0;
    case LogRotation::Period::fixed:
      return now + rotation.seconds;
    case LogRotation::Period::midnight:
      return midnight_after(parts, 1, rotation.utc);
    case LogRotation::Period::weekday: {
      const int last = (rotation.weekday + kMonday) % kDaysOfWeek;
      const int days = (last - parts.tm_wday + kDaysOfWeek) % kDaysOfWeek;
      return midnight_after(parts, days + 1, rotation.utc);
    }
  }
  return 0;
}

LogFile::LogFile(std::string path, LogRotation rotation, std::time_t now)
    : path_(std::move(path)), rotation_(std::move(rotation)) {
  // The period of an existing file began with its last change.
  struct stat status{};
  began_ = ::stat(path_.c_str(), &status) == 0 ? status.st_mtime : now;
  next_time_ = end_of_period(rotation_, began_);
  try {
    open(now);
  } catch (const std::system_error& error) {
    if (!is_no_space(error.code())) opening_failure_ = error.what();
  }
}

LogFile::~LogFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

// Messages may be frequent, and an attempt slow.
void LogFile::open(std::time_t now) {
  if (open_error_ && now == attempted_) std::rethrow_exception(open_error_);
  attempted_ = now;
  try {
    open_at_once();
    open_error_ = nullptr;
  } catch (const std::system_error&) {
    open_error_ = std::current_exception();
    throw;
  }
}

void LogFile::open_at_once() {
  const fs::path directory = fs::path(path_).parent_path();
  if (!directory.empty()) fs::create_directories(directory);
  const int opened = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (opened < 0) throw std::system_error(errno, std::generic_category());
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = opened;
  struct stat status{};
  ::fstat(descriptor_, &status);
  identity_ = {status.st_dev, status.st_ino};
  size_ = static_cast<std::uint64_t>(status.st_size);
  is_torn_ = false;
}

LogFile::Identity LogFile::identity_now() const {
  struct stat status{};
  if (::stat(path_.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

bool LogFile::is_due(std::size_t more, std::time_t now) const {
  const bool by_size = rotation_.max_size > 0 && rotation_.backups > 0 && size_ > 0 &&
                       size_ + more >= rotation_.max_size;
  const bool by_time = rotation_.period != LogRotation::Period::none && now >= next_time_;
  return by_size || by_time;
}

void LogFile::write(std::string_view text, std::time_t now) {
  if (is_due(text.size(), now)) rotate(now);
  if (descriptor_ < 0 || identity_now() != identity_) open(now);
  if (is_torn_) append("\n");
  append(text);
}

void LogFile::append(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      throw std::system_error(written < 0 ? errno : ENOSPC, std::generic_category());
    }
    const auto count = static_cast<std::size_t>(written);
    is_torn_ = text[count - 1] != '\n';
    size_ += count;
    text.remove_prefix(count);
  }
}

void LogFile::rotate(std::time_t now) {
  if (rotation_.period == LogRotation::Period::none) {
    shift_numbers();
  } else {
    name_by_time();
    remove_surplus();
    began_ = next_time_;
    if (end_of_period(rotation_, began_) <= now)
      began_ = now;  // nothing was logged for more than a period
    next_time_ = end_of_period(rotation_, began_);
  }
  size_ = 0;
}

void LogFile::shift_numbers() const {
  std::error_code ignored;
  const auto name = [this](int number) { return path_ + "." + std::to_string(number); };
  for (int number = rotation_.backups - 1; number > 0; --number) {
    fs::rename(name(number), name(number + 1), ignored);
  }
  fs::rename(path_, name(1), ignored);
}

void LogFile::name_by_time() const {
  const std::tm parts = broken_down(start_of_period(rotation_, next_time_), rotation_.utc);
  std::array<char, 64> suffix{};
  std::strftime(suffix.data(), suffix.size(), rotation_.suffix.c_str(), &parts);
  std::error_code ignored;
  fs::rename(path_, path_ + "." + suffix.data(), ignored);
}

// The names of rotated files sort by time.
void LogFile::remove_surplus() const {
  if (rotation_.backups <= 0) return;
  std::error_code ignored;
  const fs::path path = fs::absolute(path_);
  const std::string prefix = path.filename().string() + ".";
  std::vector<fs::path> earlier;
  for (const auto& entry : fs::directory_iterator(path.parent_path(), ignored)) {
    const std::string name = entry.path().filename();
    const bool is_rotated = name.starts_with(prefix) && is_date(name.substr(prefix.size()));
    if (is_rotated) earlier.push_back(entry.path());
  }
  std::ranges::sort(earlier);
  const auto surplus =
      std::max<std::int64_t>(0, static_cast<std::int64_t>(earlier.size()) - rotation_.backups);
  for (std::int64_t i = 0; i < surplus; ++i) {
    fs::remove(earlier[static_cast<std::size_t>(i)], ignored);
  }
}

}  // namespace nodepool::telemetry
