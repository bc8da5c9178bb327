#include "cli/atomic_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace nodepool::cli {

namespace {

[[noreturn]] void cannot_write(const std::string& path) {
  throw std::system_error(errno, std::generic_category(), "cannot write " + path);
}

// The file to replace: where links lead to. A rename would replace a device, too.
std::string target_of(const std::string& path) {
  std::error_code error;  // the creation of the temporary file reports it
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  const bool is_other = exists(status) && !is_regular_file(status);
  const std::filesystem::path target = std::filesystem::weakly_canonical(path, error);
  if (!is_other && error) return path;
  if (is_other || std::filesystem::is_symlink(target, error)) {  // it leads nowhere
    throw std::runtime_error(path + " is not a regular file");
  }
  return target;
}

}  // namespace

AtomicFile::AtomicFile(std::string path)
    : path_(std::filesystem::absolute(std::move(path)).lexically_normal()),
      target_(target_of(path_)),
      temporary_(target_ + ".XXXXXX"),
      descriptor_(::mkostemp(temporary_.data(), O_CLOEXEC)) {
  if (descriptor_ < 0) cannot_write(path_);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor_, content.data(), content.size());
    if (written < 0 && errno != EINTR) cannot_write(path_);
    if (written > 0) content.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fsync(descriptor_) != 0) cannot_write(path_);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) cannot_write(path_);
  temporary_.clear();
}

}  // namespace nodepool::cli
