#include "program/background.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

namespace nodepool::program {

namespace {

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

void fork_and_leave() {
  const pid_t child = ::fork();
  if (child < 0) fail("going to the background");
  if (child > 0) ::_exit(EXIT_SUCCESS);
}

}  // namespace

void PidFile::require_free(const std::string& path) {
  std::ifstream file(path);
  pid_t pid = 0;
  if (!(file >> pid) || pid <= 0) return;
  if (::kill(pid, 0) == 0 || errno == EPERM) {
    throw std::runtime_error("already running as process " + std::to_string(pid) + " (" + path +
                             ")");
  }
}

PidFile::PidFile(std::string path) : path_(std::move(path)) {
  std::ofstream file(path_, std::ios::trunc);
  file << ::getpid() << '\n';
  file.close();
  if (!file) throw std::runtime_error("cannot write the pid file " + path_);
  ::chmod(path_.c_str(), 0644);
}

PidFile::~PidFile() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

void detach() {
  fork_and_leave();
  if (::setsid() < 0) fail("making a session");
  fork_and_leave();
  if (::chdir("/") < 0) fail("changing to /");
  ::umask(0);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) fail("opening /dev/null");
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null, stream);
  ::close(null);
}

}  // namespace nodepool::program
