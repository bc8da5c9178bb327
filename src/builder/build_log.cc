#include "builder/build_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "builder/image_store.h"
#include "model/image_build.h"

namespace nodepool::builder {

namespace fs = std::filesystem;

namespace {

constexpr mode_t kMode = 0644;

[[noreturn]] void log_failed(const std::string& doing, const fs::path& path,
                             const std::error_code& error) {
  throw std::runtime_error(doing + " " + path.string() + ": " + error.message());
}

bool is_log_of(const fs::path& path, const std::string& image) {
  const auto key = parse_build_name(path.stem().string());
  return key && key->first == image && path.filename() == model::build_log_name(image, key->second);
}

void delete_old_logs(const BuildLog::Place& place, const std::string& image) {
  if (place.retention < 0) return;
  const auto kept = static_cast<std::size_t>(std::max<std::int64_t>(place.retention, 1));
  std::vector<std::pair<fs::file_time_type, fs::path>> logs;
  for (const fs::directory_entry& entry : fs::directory_iterator(place.directory)) {
    std::error_code gone;  // another builder may have deleted it
    const auto time = entry.last_write_time(gone);
    if (!gone && is_log_of(entry.path(), image)) logs.emplace_back(time, entry.path());
  }
  std::ranges::sort(logs, std::greater());
  for (std::size_t i = kept; i < logs.size(); ++i) fs::remove(logs[i].second);
}

}  // namespace

BuildLog::BuildLog(const Place& place, const std::string& image, const std::string& build_id)
    : path_(place.directory / model::build_log_name(image, build_id)) {
  std::error_code error;
  fs::create_directories(place.directory, error);
  if (error) log_failed("cannot make the directory", place.directory, error);
  delete_old_logs(place, image);
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kMode);
  if (descriptor_ < 0)
    log_failed("cannot write", path_, std::error_code(errno, std::generic_category()));
}

BuildLog::~BuildLog() {
  ::close(descriptor_);
}

void BuildLog::write_line(const std::string& line) const {
  const std::string text = line + "\n";
  [[maybe_unused]] const auto written = ::write(descriptor_, text.data(), text.size());
}

}  // namespace nodepool::builder
