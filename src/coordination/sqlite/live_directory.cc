#include "coordination/sqlite/live_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

#include "coordination/sqlite/file_error.h"

namespace nodepool::coordination::sqlite {

namespace {

// A signal may interrupt flock().
bool lock(const Descriptor& file, int operation) {
  int result = -1;
  do {
    result = ::flock(file.number(), operation);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

// Opens or creates the bell. Only a regular file is opened: a link could name a file elsewhere, and
// a pipe without a reader would block (O_NONBLOCK).
Descriptor open_bell(const std::string& path) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  Descriptor file(::open(path.c_str(), kFlags, S_IRUSR | S_IWUSR));
  struct stat status{};
  const bool is_bell =
      file.is_open() && ::fstat(file.number(), &status) == 0 && S_ISREG(status.st_mode);
  return is_bell ? std::move(file) : Descriptor();
}

}  // namespace

Descriptor::~Descriptor() {
  if (is_open()) ::close(number_);
}

Descriptor::Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

void LiveDirectory::restore() const {
  if (::mkdir(path_.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    throw file_error(
        path_,
        "create the directory (this user must be able to write to the directory of the store)",
        errno);
  }
  access().apply_to(path_);
  // The first signal creates the file "bell", so set its access.
  if (signal()) access().apply_to(path_ + '/' + kBellName);
}

FileAccess LiveDirectory::access() const {
  return FileAccess::of_directory(std::filesystem::path(path_).parent_path());
}

bool LiveDirectory::signal() const {
  // Opening a file for writing and closing it is the event. It writes nothing, so it works on a
  // full disk. Opened by name, because a removed file is not watched.
  const std::string bell = path_ + '/' + kBellName;
  if (open_bell(bell).is_open()) return true;
  // All users of the store may write to the directory. A link or pipe would silence the bell.
  struct stat status{};
  const bool is_foreign = ::lstat(bell.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
  if (!is_foreign || ::unlink(bell.c_str()) != 0 || !open_bell(bell).is_open()) return false;
  access().apply_to(bell);  // other users of the store open it, too
  return true;
}

SessionLock LiveDirectory::hold(std::int64_t session) const {
  restore();
  const std::string path = file_of(session);
  drop(session);  // of a process that died before it recorded its session
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file.is_open()) throw file_error(path, "create the session's file", errno);
  access().apply_to(path);
  // Waits for processes that are just testing the lock.
  if (!lock(file, LOCK_EX)) throw file_error(path, "lock the session's file", errno);
  return {session, std::move(file)};
}

bool LiveDirectory::is_held(std::int64_t session) const {
  const std::string path = file_of(session);
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.is_open()) {
    if (errno == ENOENT || errno == ELOOP) return false;  // hold() creates no links
    if (errno == EACCES || errno == EPERM) return true;
    throw file_error(path, "open the session's file", errno);
  }
  // A shared lock, so that concurrent tests do not see each other. The lock belongs to an open
  // file, not to a process, so the test also works for sessions of this process.
  if (lock(file, LOCK_SH | LOCK_NB)) return false;
  if (errno != EWOULDBLOCK) throw file_error(path, "test the lock of the session's file", errno);
  return true;
}

void LiveDirectory::drop(std::int64_t session) const {
  const std::string path = file_of(session);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT)
    throw file_error(path, "remove the session's file", errno);
}

std::vector<std::int64_t> LiveDirectory::sessions() const {
  std::vector<std::int64_t> found;
  std::error_code error;
  std::filesystem::directory_iterator entry(path_, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename();
    std::int64_t session = 0;
    const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), session);
    if (failure == std::errc() && end == name.data() + name.size()) found.push_back(session);
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    throw file_error(path_, "list the directory", error.value());
  }
  return found;
}

std::string LiveDirectory::file_of(std::int64_t session) const {
  return path_ + '/' + std::to_string(session);
}

}  // namespace nodepool::coordination::sqlite
