#include "async/subprocess.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <system_error>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "async/live_tasks.h"
#include "async/parking.h"
#include "async/supervisor.h"

namespace nodepool::async {

namespace asio = boost::asio;

namespace {

[[noreturn]] void fail(const std::string& doing, int error) {
  throw std::system_error(error, std::generic_category(), doing);
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// A pipe that closes when the program starts, or transfers errno if it does not.
class SpawnReport {
 public:
  SpawnReport() {
    if (::pipe2(ends_, O_CLOEXEC) != 0) fail("cannot create a pipe", errno);
  }
  ~SpawnReport() {
    ::close(ends_[0]);
    close_writing_end();
  }
  SpawnReport(const SpawnReport&) = delete;
  SpawnReport& operator=(const SpawnReport&) = delete;

  void send(int error) { [[maybe_unused]] auto sent = ::write(ends_[1], &error, sizeof(error)); }

  // In the child: makes the writing end this descriptor, which stays open across exec().
  void move_to(int descriptor) {
    if (ends_[1] == descriptor) {
      ::fcntl(descriptor, F_SETFD, 0);
    } else {
      ::dup2(ends_[1], descriptor);
      ends_[1] = descriptor;
    }
  }

  // Returns 0 if the program has started, otherwise errno.
  int receive() {
    close_writing_end();
    int error = 0;
    ssize_t size = 0;
    do {
      size = ::read(ends_[0], &error, sizeof(error));
    } while (size < 0 && errno == EINTR);
    return size == sizeof(error) ? error : 0;
  }

 private:
  void close_writing_end() {
    if (ends_[1] >= 0) ::close(std::exchange(ends_[1], -1));
  }

  int ends_[2] = {-1, -1};
};

// Blocks all signals while it exists, so that a signal between fork() and exec() does not reach the
// handlers of this process.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

  // The signal state of the program. Signals that this process ignored at its start stay ignored
  // (`nohup`), except those that daemons ignore and programs expect.
  void restore_handlers() const {
    struct sigaction usual{};
    usual.sa_handler = SIG_DFL;
    for (int number = 1; number < NSIG; ++number) {
      struct sigaction present{};
      if (sigaction(number, nullptr, &present) != 0) continue;
      const bool is_expected = number == SIGPIPE || number == SIGXFSZ;
      if (present.sa_handler != SIG_IGN || is_expected) sigaction(number, &usual, nullptr);
    }
  }
  void restore_mask() const { sigprocmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

// The following functions run in the child and must be async-signal-safe.

void connect_output(const Subprocess::Command& command) {
  const int errors = command.error_output < 0 ? command.output : command.error_output;
  if (command.output >= 0) ::dup2(command.output, STDOUT_FILENO);
  if (errors >= 0) ::dup2(errors, STDERR_FILENO);
}

void die_with(pid_t parent, int signal) {
  ::prctl(PR_SET_PDEATHSIG, signal);
  if (::getppid() != parent) ::_exit(1);  // the parent died before prctl()
}

[[noreturn]] void become_program(char* const* arguments, char* const* environment,
                                 const BlockedSignals& blocked, SpawnReport& report) {
  blocked.restore_mask();
  ::execvpe(arguments[0], arguments, environment);
  report.send(errno);
  ::_exit(127);
}

[[noreturn]] void become_supervisor(char* const* arguments, char* const* environment,
                                    SpawnReport& report) {
  ::setpgid(0, 0);
  ::dup2(::open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
  report.move_to(SupervisorCommand::kStartReport);
  ::close_range(SupervisorCommand::kStartReport + 1, ~0U, 0);
  ::execve(SupervisorCommand::kExecutable, arguments, environment);
  report.send(errno);
  ::_exit(127);
}

pid_t start(const Subprocess::Command& command) {
  if (command.arguments.empty()) fail("cannot run an empty command", EINVAL);
  std::optional<SupervisorCommand> supervisor;
  if (command.grace) {
    supervisor.emplace(command.arguments, command.environment, *command.grace,
                       command.spares_background);
  }
  const std::vector<char*> arguments =
      pointers_to(supervisor ? supervisor->arguments : command.arguments);
  const std::vector<char*> environment =
      pointers_to(supervisor ? supervisor->environment : command.environment);
  SpawnReport report;
  const pid_t parent = ::getpid();
  const BlockedSignals blocked;
  const pid_t child = ::fork();
  if (child < 0) fail("cannot start a process", errno);
  if (child == 0) {
    blocked.restore_handlers();
    const int signal = supervisor ? SIGTERM : command.signal_when_orphaned;
    if (signal != 0) die_with(parent, signal);
    connect_output(command);
    if (command.umask) ::umask(*command.umask);
    if (supervisor) become_supervisor(arguments.data(), environment.data(), report);
    become_program(arguments.data(), environment.data(), blocked, report);
  }
  const int error = report.receive();
  if (error != 0) {
    ::waitpid(child, nullptr, 0);
    fail("cannot run " + command.arguments.front(), error);
  }
  return child;
}

int open_pidfd(pid_t pid) {
  const auto descriptor = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (descriptor < 0) fail("pidfd_open", errno);
  return descriptor;
}

// Whether the process has ended and is not reaped. A readable descriptor is only a hint.
bool has_ended(pid_t pid) {
  siginfo_t info{};
  const auto id = static_cast<id_t>(pid);
  return ::waitid(P_PID, id, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

}  // namespace

struct Subprocess::Process {
  pid_t pid;
  bool is_supervised;
  asio::posix::stream_descriptor descriptor;  // readable once the program has ended
  std::optional<Ending> ending;
};

Subprocess::Subprocess(const Executor& executor, const Command& command) {
  const pid_t pid = start(command);
  const int descriptor = open_pidfd(pid);
  process_ = std::make_unique<Process>(Process{pid, command.grace.has_value(),
                                               asio::posix::stream_descriptor(executor, descriptor),
                                               std::nullopt});
}

Subprocess::~Subprocess() {
  if (process_->ending) return;
  send_signal(process_->is_supervised ? SIGQUIT : SIGKILL);
  ::waitpid(process_->pid, nullptr, 0);
}

pid_t Subprocess::pid() const {
  return process_->pid;
}

void Subprocess::send_signal(int number) {
  if (process_->ending) return;
  ::syscall(SYS_pidfd_send_signal, process_->descriptor.native_handle(), number, nullptr, 0);
}

Task<Subprocess::Ending> Subprocess::wait() {
  co_await throw_if_cancelled();
  if (!process_->ending) {
    const WaitsFor waits(co_await asio::this_coro::executor, "end of a program");
    while (!has_ended(process_->pid)) {
      co_await process_->descriptor.async_wait(asio::posix::stream_descriptor::wait_read,
                                               asio::as_tuple(asio::use_awaitable));
      co_await throw_if_cancelled();
    }
    int status = 0;
    if (::waitpid(process_->pid, &status, 0) < 0) fail("cannot wait for a process", errno);
    process_->ending =
        WIFSIGNALED(status) ? Ending{0, WTERMSIG(status)} : Ending{WEXITSTATUS(status), 0};
  }
  co_return *process_->ending;
}

}  // namespace nodepool::async
