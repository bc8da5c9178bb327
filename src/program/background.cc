#include "program/background.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "telemetry/sanitized_text.h"

namespace nodepool::program {

namespace {

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// The first character of a report.
constexpr char kContinues = '0';
constexpr char kFailed = '1';

constexpr mode_t kPidFileMode = 0644;

// Of files that a daemon in the background and its children write.
constexpr mode_t kUmask = 0027;

// Forks. Returns whether this is the child.
bool fork_off() {
  const pid_t child = ::fork();
  if (child < 0) fail("going to the background");
  return child == 0;
}

// Reads until the writer has closed the pipe. Returns nothing after the timeout.
std::optional<std::string> read_report(int pipe, std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  std::string report;
  std::array<char, 4096> buffer{};
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd waiting{.fd = pipe, .events = POLLIN, .revents = 0};
    const int ready =
        ::poll(&waiting, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return std::nullopt;
    const ssize_t size = ::read(pipe, buffer.data(), buffer.size());
    if (size <= 0) return report;
    report.append(buffer.data(), static_cast<std::size_t>(size));
  }
}

[[noreturn]] void wait_for_report(int pipe, const std::string& name,
                                  std::chrono::milliseconds timeout) {
  const std::optional<std::string> report = read_report(pipe, timeout);
  if (!report) {
    std::cerr << name << ": still starting; see its log" << std::endl;
    ::_exit(EXIT_SUCCESS);
  }
  if (report->empty()) {
    std::cerr << name << ": exited during its start; see its log" << std::endl;
    ::_exit(EXIT_FAILURE);
  }
  if (report->size() > 1) {
    std::cerr << name << ": " << telemetry::sanitized_text(report->substr(1)) << std::endl;
  }
  ::_exit(report->front() == kContinues ? EXIT_SUCCESS : EXIT_FAILURE);
}

// Whether the process may be a daemon of Nodepool (C++ or Python), and not another program that has
// got the process id since. True if its command line cannot be read.
bool may_be_daemon(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline");
  const std::string command{std::istreambuf_iterator<char>(file), {}};
  return command.empty() || command.contains("nodepool");
}

bool is_disk_full(int error) {
  return error == ENOSPC || error == EDQUOT;
}

// Between attempts to get a PID file that another daemon has.
constexpr auto kPidFileInterval = std::chrono::milliseconds(50);

// Another daemon has the PID file.
class PidFileInUse : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws PidFileInUse if the file names a running daemon.
void require_free(const std::string& path) {
  std::ifstream file(path);
  pid_t pid = 0;
  if (!(file >> pid) || pid <= 0) return;
  if (pid == ::getpid()) return;  // in a container, of the one before
  if ((::kill(pid, 0) == 0 || errno == EPERM) && may_be_daemon(pid)) {
    throw PidFileInUse("already running as process " + std::to_string(pid) + " (PID file " + path +
                       ")");
  }
}

// Two daemons that start at the same moment both find the file free. Only one gets its lock.
void lock_pid_file(int file, const std::string& path) {
  struct stat opened{};
  struct stat named{};
  const bool is_locked = ::flock(file, LOCK_EX | LOCK_NB) == 0;
  const bool is_same = ::fstat(file, &opened) == 0 && ::stat(path.c_str(), &named) == 0 &&
                       opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
  if (!is_locked || !is_same) {
    throw PidFileInUse("another daemon is starting or ending (PID file " + path + ")");
  }
}

}  // namespace

PidFile::PidFile(std::string path, std::chrono::milliseconds patience,
                 const std::function<void(const std::string&)>& on_waiting)
    : path_(std::move(path)) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  bool is_waiting = false;
  while (true) {
    try {
      acquire();
      return;
    } catch (const PidFileInUse& error) {
      if (std::chrono::steady_clock::now() >= deadline) throw;
      if (!std::exchange(is_waiting, true)) on_waiting(error.what());
    }
    std::this_thread::sleep_for(kPidFileInterval);
  }
}

void PidFile::acquire() {
  require_free(path_);
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, kPidFileMode);
  if (file_ < 0) {
    handle_error();
    return;
  }
  try {
    lock_pid_file(file_, path_);
  } catch (...) {
    ::close(std::exchange(file_, -1));
    throw;
  }
}

void PidFile::write() {
  if (file_ < 0) return;
  const std::string text = std::to_string(::getpid()) + "\n";
  const bool is_empty = ::ftruncate(file_, 0) == 0 || errno == EINVAL;  // EINVAL: no usual file
  if (!is_empty || ::write(file_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    handle_error();
  }
  ::fchmod(file_, kPidFileMode);
}

// By errno.
void PidFile::handle_error() {
  const std::string reason = std::generic_category().message(errno);
  if (!is_disk_full(errno)) {
    throw std::runtime_error("cannot write the PID file " + path_ + ": " + reason);
  }
  problem_ = "the PID file " + path_ + " could not be written: " + reason;
}

PidFile::~PidFile() {
  if (file_ < 0) return;
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
  ::close(file_);
}

StartReport::~StartReport() {
  if (pipe_ >= 0) ::close(pipe_);
}

StartReport::StartReport(StartReport&& other) noexcept : pipe_(std::exchange(other.pipe_, -1)) {}

StartReport& StartReport::operator=(StartReport&& other) noexcept {
  std::swap(pipe_, other.pipe_);
  return *this;
}

void StartReport::serving() {
  send(kContinues, {});
}

void StartReport::waiting(const std::string& what) {
  send(kContinues, what);
}

void StartReport::failed(const std::string& error) {
  send(kFailed, error);
}

// The waiting process may have exited: then the report is dropped.
void StartReport::send(char status, const std::string& text) {
  if (pipe_ < 0) return;
  const std::string report = status + text;
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  for (std::size_t at = 0; at < report.size();) {
    const ssize_t size = ::write(pipe_, report.data() + at, report.size() - at);
    if (size < 0 && errno != EINTR) break;
    if (size > 0) at += static_cast<std::size_t>(size);
  }
  ::signal(SIGPIPE, before);
  ::close(std::exchange(pipe_, -1));
}

void close_descriptors_of_caller() {
  int lowest = -1;
  do {
    lowest = ::open("/dev/null", O_RDWR);
    if (lowest < 0) fail("opening /dev/null");
  } while (lowest <= STDERR_FILENO);
  ::closefrom(STDERR_FILENO + 1);
}

StartReport detach(const std::string& name, std::chrono::milliseconds timeout) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) < 0) fail("creating a pipe");
  if (!fork_off()) {
    ::close(pipe[1]);
    wait_for_report(pipe[0], name, timeout);
  }
  ::close(pipe[0]);
  StartReport report(pipe[1]);
  if (::setsid() < 0) fail("creating a session");
  if (!fork_off()) ::_exit(EXIT_SUCCESS);
  if (::chdir("/") < 0) fail("changing to /");
  ::umask(kUmask);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) fail("opening /dev/null");
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null, stream);
  ::close(null);
  return report;
}

}  // namespace nodepool::program
