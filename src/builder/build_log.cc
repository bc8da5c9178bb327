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

std::string failure_text(const std::string& problem, const fs::path& path,
                         const std::error_code& error) {
  return problem + " " + path.string() + ": " + error.message();
}

// Access of public directories and logs: the owner writes, all others read.
constexpr fs::perms kPublicLog =
    fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read | fs::perms::others_read;
constexpr fs::perms kPublicDirectory =
    kPublicLog | fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec;

// A log that others cannot read is still a log: a failure is ignored.
void make_public(const fs::path& path, fs::perms access) {
  std::error_code denied;
  fs::permissions(path, access, denied);
}

// Creates the directory and its missing parents. Existing ones keep the mode that an operator may
// have given them.
std::error_code create_public_directories(const fs::path& directory) {
  std::error_code error;
  fs::path path;
  for (const fs::path& part : directory) {
    path /= part;
    if (fs::is_directory(path, error)) continue;
    if (fs::create_directory(path, error)) make_public(path, kPublicDirectory);
    if (error) break;
  }
  return error;
}

bool is_log_of(const fs::path& path, const std::string& image) {
  const auto key = parse_build_name(path.stem().string());
  return key && key->first == image && path.filename() == model::build_log_name(image, key->second);
}

// Returns why some remain; empty: none.
std::string delete_old_logs(const BuildLog::Settings& settings, const std::string& image) {
  if (settings.retention < 0) return {};
  const auto kept = static_cast<std::size_t>(std::max<std::int64_t>(settings.retention, 1));
  std::vector<std::pair<fs::file_time_type, fs::path>> logs;
  std::error_code error;
  fs::directory_iterator entries(settings.directory, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    std::error_code gone;  // another builder may have deleted it
    const auto time = entries->last_write_time(gone);
    if (!gone && is_log_of(entries->path(), image)) logs.emplace_back(time, entries->path());
  }
  if (error) return failure_text("cannot read the directory", settings.directory, error);
  std::ranges::sort(logs, std::greater());
  std::string problem;
  for (std::size_t i = kept; i < logs.size(); ++i) {
    fs::remove(logs[i].second, error);
    if (error) problem = failure_text("cannot delete", logs[i].second, error);
  }
  return problem;
}

}  // namespace

BuildLog::BuildLog(const Settings& settings, const std::string& image, const std::string& build_id)
    : path_(settings.directory / model::build_log_name(image, build_id)) {
  const fs::path& directory = settings.directory;
  std::error_code error =
      create_public_directories(settings.is_public ? directory : directory.parent_path());
  if (!error) fs::create_directories(directory, error);
  if (error) {
    throw std::runtime_error(failure_text("cannot create the directory", directory, error));
  }
  problem_ = delete_old_logs(settings, image);
  try {
    file_ = std::make_shared<BoundedFile>(path_, settings.limit);
  } catch (const std::system_error& failure) {
    throw std::runtime_error(failure_text("cannot write", path_, failure.code()));
  }
  if (settings.is_public) make_public(path_, kPublicLog);
}

BuildLog::BuildLog(const std::string& problem)
    : path_("/dev/null"),
      problem_(problem + "; the output is discarded"),
      file_(std::make_shared<BoundedFile>(path_, 0)) {}

std::shared_ptr<const BuildLog> open_or_discard(const BuildLog::Settings& settings,
                                                const std::string& image,
                                                const std::string& build_id) {
  try {
    return std::make_shared<BuildLog>(settings, image, build_id);
  } catch (const std::runtime_error& error) {
    return std::make_shared<BuildLog>(error.what());
  }
}

void BuildLog::write_line(const std::string& line) const {
  file_->write_end();
  file_->write(line + "\n");
  file_->write_end();
}

}  // namespace nodepool::builder
