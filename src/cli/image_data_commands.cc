#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/atomic_file.h"
#include "cli/commands.h"
#include "cli/image_data.h"
#include "config/yaml.h"
#include "coordination/path.h"
#include "coordination/sequence.h"
#include "coordination/tree.h"
#include "coordination/tree_copy.h"
#include "model/image_paths.h"
#include "model/paths.h"

namespace nodepool::cli {

namespace {

using coordination::Store;

constexpr std::string_view kLock = "lock";
constexpr std::size_t kLargestFile = std::size_t{64} << 20;  // bytes

// The children but for the lock; none if the node does not exist.
Task<std::vector<std::string>> children(Store& store, std::string path) {
  std::vector<std::string> names = co_await coordination::find_children(store, std::move(path));
  std::erase(names, kLock);
  co_return names;
}

// Reads the records without parsing them, so also invalid ones.
class Export {
 public:
  Export(Store& store, telemetry::Logger log) : store_(store), log_(std::move(log)) {}

  Task<ImageData> run() {
    const std::vector<std::string> images =
        co_await children(store_, std::string(model::kImagesRoot));
    for (const std::string& image : images) {
      co_await add(model::image_pause_path(image));
      const std::vector<std::string> builds = co_await children(store_, model::builds_path(image));
      for (const std::string& build : builds) co_await add_build(image, build);
    }
    co_return std::move(data_);
  }

 private:
  Task<> add_build(std::string image, std::string build) {
    co_await add(model::build_path(image, build));
    const std::vector<std::string> providers =
        co_await children(store_, model::build_providers_path(image, build));
    for (const std::string& provider : providers) {
      const std::vector<std::string> uploads =
          co_await children(store_, model::uploads_path(image, build, provider));
      for (const std::string& upload : uploads) {
        co_await add(model::upload_path(image, build, provider, upload));
      }
    }
  }

  // Adds the record, if it exists.
  Task<> add(std::string path) {
    std::optional<coordination::Entry> entry = co_await coordination::find(store_, path);
    if (!entry) co_return;
    if (is_utf8(entry->data)) {
      data_.emplace_back(std::move(path), std::move(entry->data));
    } else {
      log_.warning("Omitting the record {}: it is not UTF-8", path);
    }
  }

  Store& store_;
  telemetry::Logger log_;
  ImageData data_;
};

[[noreturn]] void fail(const std::string& path) {
  throw std::system_error(errno, std::generic_category(), path);
}

// Writes to a device, a pipe, or where a link such as /dev/stdout leads to. A new file has mode
// 0600, like AtomicFile's: records contain details of clouds.
void write_in_place(const std::string& path, std::string_view content) {
  constexpr mode_t kPrivate = 0600;
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kPrivate);
  if (descriptor < 0) fail(path);
  bool written = true;
  while (written && !content.empty()) {
    const ssize_t size = ::write(descriptor, content.data(), content.size());
    written = size >= 0 || errno == EINTR;
    if (size > 0) content.remove_prefix(static_cast<std::size_t>(size));
  }
  const int error = errno;
  if (::close(descriptor) == 0 && written) return;
  if (!written) errno = error;
  fail(path);
}

// An earlier export remains if this one cannot be written completely.
void write_file(const std::string& path, std::string_view content) {
  std::error_code error;  // open() reports it
  const std::filesystem::file_type type = std::filesystem::symlink_status(path, error).type();
  const bool is_replaceable =
      type == std::filesystem::file_type::regular || type == std::filesystem::file_type::not_found;
  if (!is_replaceable) return write_in_place(path, content);
  AtomicFile file(path);
  file.write(content);
}

// Creates the record with its parents, or overwrites it.
Task<> put(Store& store, std::string path, std::string text) {
  co_await coordination::ensure_path(store, path);
  co_await store.set(std::move(path), std::move(text), coordination::kAnyVersion);
}

// The highest id of the uploads below each parent.
std::map<std::string, int> highest_uploads(const ImageData& data) {
  std::map<std::string, int> highest;
  for (const auto& [path, text] : data) {
    const auto parsed =
        model::parse_image_path(coordination::relative_path(path, model::kImagesRoot));
    if (!parsed || parsed->kind != model::ImagePath::Kind::upload) continue;
    int& number = highest[std::string(coordination::parent_path(path))];
    number = std::max(number, std::stoi(std::string(parsed->upload_id)));
  }
  return highest;
}

// The file's records, checked before any is written. An error names the file.
ImageData read_data(const std::string& path) {
  const std::string text = config::read_file(path, kLargestFile);
  try {
    return parse_image_data(text);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(path + ": " + error.what());
  }
}

// A running builder could take images for leaks whose records are not imported yet, or write the
// same records.
Task<> require_no_daemons(Store& store) {
  const auto daemon =
      co_await coordination::find_ephemeral(store, std::string(model::kComponentsRoot));
  if (!daemon) co_return;
  throw std::runtime_error("a daemon is registered as " + *daemon +
                           ". Stop all daemons first; the registration of a killed daemon expires "
                           "with its session timeout");
}

}  // namespace

Task<int> perform(Session& session, ExportImageData command) {
  Export exporting(session.store(), session.logger("nodepool.export"));
  const ImageData data = co_await exporting.run();
  write_file(command.path, image_data_text(data));
  co_return 0;
}

Task<int> perform(Session& session, ImportImageData command) {
  const ImageData data = read_data(command.path);
  co_await require_no_daemons(session.store());
  for (const auto& [path, text] : data) co_await put(session.store(), path, text);
  // Later uploads get higher ids than imported ones.
  const std::map<std::string, int> highest = highest_uploads(data);
  for (const auto& [parent, number] : highest) {
    co_await coordination::advance_sequence(session.store(), parent, number + 1);
  }
  co_return 0;
}

}  // namespace nodepool::cli
