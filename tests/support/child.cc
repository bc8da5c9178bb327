#include "tests/support/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <thread>

namespace nodepool::test_support {

namespace {

std::system_error last_error(const std::string& what) {
  return {errno, std::system_category(), what};
}

// Output goes to memory files, so no pipe has to be read.
Descriptor memory_file() {
  Descriptor file(::memfd_create("output", MFD_CLOEXEC));
  if (file.get() < 0) throw last_error("memfd_create");
  return file;
}

std::string content_of(int file) {
  std::string content;
  char buffer[65536];
  while (true) {
    const ssize_t size = ::pread(file, buffer, sizeof buffer, static_cast<off_t>(content.size()));
    if (size <= 0) return content;
    content.append(buffer, static_cast<std::size_t>(size));
  }
}

std::vector<std::string> merged_environment(std::map<std::string, std::string> added) {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text(*entry);
    const auto equals = text.find('=');
    added.try_emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  std::vector<std::string> merged;
  for (const auto& [name, value] : added) merged.push_back(name + "=" + value);
  return merged;
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (const std::string& string : strings) result.push_back(const_cast<char*>(string.c_str()));
  result.push_back(nullptr);
  return result;
}

// The code between fork and exec, with system calls only, because the test may have threads.
struct Launch {
  char* const* arguments;
  char* const* environment;
  const char* directory;  // or null
  int output;
  int error;
  int report;  // gets errno on failure
  pid_t parent;

  [[noreturn]] void become() const {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const bool orphaned = ::getppid() != parent;
    const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    // Ignored if the tests run in the background of a shell, or by `nohup`.
    for (const int number : {SIGHUP, SIGINT, SIGQUIT}) ::signal(number, SIG_DFL);
    if (!orphaned && null >= 0 && ::dup2(null, STDIN_FILENO) >= 0 &&
        ::dup2(output, STDOUT_FILENO) >= 0 && ::dup2(error, STDERR_FILENO) >= 0 &&
        (directory == nullptr || ::chdir(directory) == 0)) {
      ::execvpe(arguments[0], arguments, environment);
    }
    const int failure = errno;
    [[maybe_unused]] const ssize_t written = ::write(report, &failure, sizeof failure);
    ::_exit(127);
  }
};

}  // namespace

Child::Child(const std::vector<std::string>& command, const ChildOptions& options)
    : output_(memory_file()), error_(memory_file()) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw last_error("pipe2");
  const Descriptor report(ends[0]);
  Descriptor reporting(ends[1]);
  const auto arguments = pointers(command);
  const auto variables = merged_environment(options.environment);
  const auto environment = pointers(variables);
  const std::string directory = options.working_directory;
  const Launch launch{
      arguments.data(), environment.data(), directory.empty() ? nullptr : directory.c_str(),
      output_.get(),    error_.get(),       reporting.get(),
      ::getpid()};
  pid_ = ::fork();
  if (pid_ == 0) launch.become();
  if (pid_ < 0) throw last_error("fork");
  handle_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));

  reporting = Descriptor();
  int failure = 0;
  if (::read(report.get(), &failure, sizeof failure) == sizeof failure) {
    ::waitpid(pid_, nullptr, 0);
    throw std::system_error(failure, std::system_category(), "running " + command[0]);
  }
}

Child::~Child() {
  signal(SIGKILL);
  wait();
}

bool Child::running() {
  return !wait_for(std::chrono::milliseconds(0));
}

void Child::signal(int number) {
  if (!status_) ::kill(pid_, number);
}

int Child::wait() {
  if (!status_) {
    int raw = 0;
    while (::waitpid(pid_, &raw, 0) < 0 && errno == EINTR) {
    }
    status_ = WIFSIGNALED(raw) ? 128 + WTERMSIG(raw) : WEXITSTATUS(raw);
  }
  return *status_;
}

std::optional<int> Child::wait_for(std::chrono::milliseconds patience) {
  if (status_) return status_;
  pollfd waiting{handle_.get(), POLLIN, 0};
  if (::poll(&waiting, 1, static_cast<int>(patience.count())) <= 0) return std::nullopt;
  return wait();
}

std::string Child::standard_output() const {
  return content_of(output_.get());
}

std::string Child::standard_error() const {
  return content_of(error_.get());
}

bool Child::error_output_shows(const std::string& text, std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (true) {
    const bool was_running = running();
    if (standard_error().contains(text)) return true;
    if (!was_running || std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

Completed run(const std::vector<std::string>& command, const ChildOptions& options) {
  Child child(command, options);
  const int status = child.wait();
  return {status, child.standard_output(), child.standard_error()};
}

}  // namespace nodepool::test_support
