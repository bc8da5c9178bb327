#include "builder/build_log.h"

#include <algorithm>
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

[[noreturn]] void log_failed(const std::string& doing, const fs::path& path,
                             const std::error_code& error) {
  throw std::runtime_error(doing + " " + path.string() + ": " + error.message());
}

bool is_log_of(const fs::path& path, const std::string& image) {
  const auto key = parse_build_name(path.stem().string());
  return key && key->first == image && path.filename() == model::build_log_name(image, key->second);
}

void delete_old_logs(const BuildLog::Settings& settings, const std::string& image) {
  if (settings.retention < 0) return;
  const auto kept = static_cast<std::size_t>(std::max<std::int64_t>(settings.retention, 1));
  std::vector<std::pair<fs::file_time_type, fs::path>> logs;
  for (const fs::directory_entry& entry : fs::directory_iterator(settings.directory)) {
    std::error_code gone;  // another builder may have deleted it
    const auto time = entry.last_write_time(gone);
    if (!gone && is_log_of(entry.path(), image)) logs.emplace_back(time, entry.path());
  }
  std::ranges::sort(logs, std::greater());
  for (std::size_t i = kept; i < logs.size(); ++i) fs::remove(logs[i].second);
}

}  // namespace

BuildLog::BuildLog(const Settings& settings, const std::string& image, const std::string& build_id)
    : path_(settings.directory / model::build_log_name(image, build_id)) {
  std::error_code error;
  fs::create_directories(settings.directory, error);
  if (error) log_failed("cannot create the directory", settings.directory, error);
  delete_old_logs(settings, image);
  try {
    file_ = std::make_shared<BoundedFile>(path_, settings.limit);
  } catch (const std::system_error& failure) {
    log_failed("cannot write", path_, failure.code());
  }
}

void BuildLog::write_line(const std::string& line) const {
  file_->write_end();
  file_->write(line + "\n");
  file_->write_end();
}

}  // namespace nodepool::builder
