#include "async/supervisor.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <stdexcept>
#include <string_view>

#include "async/descendants.h"

namespace nodepool::async {

namespace {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr const char* kName = "nodepool-supervisor";
constexpr int kCannotRun = 127;  // like a shell's
// The prefix of the program's variables in the supervisor's environment, so that those for the
// dynamic loader do not affect the supervisor. This process's own loader variables do.
constexpr char kProgramsVariable = '+';
constexpr std::string_view kLoadersVariables = "LD_";
// Arguments of the supervisor: what happens to processes that remain after a success.
constexpr std::string_view kSpare = "spare";
constexpr std::string_view kKill = "kill";
// A killed process that exists after this time hangs in the kernel, or belongs to another user.
constexpr auto kKillDeadline = seconds(10);
constexpr auto kKillAgain = milliseconds(10);  // a process that forks meanwhile escapes a round

bool is_main_prepared = false;  // supervise_if_asked() has returned nothing

timespec to_timespec(SteadyClock::duration duration) {
  const auto whole = std::chrono::duration_cast<seconds>(duration);
  return {whole.count(), nanoseconds(duration - whole).count()};
}

[[noreturn]] void report_and_exit(int error) {
  [[maybe_unused]] const auto sent =
      ::write(SupervisorCommand::kStartReport, &error, sizeof(error));
  ::_exit(kCannotRun);
}

class Supervisor {
 public:
  Supervisor(milliseconds grace, bool spares_background, char** program)
      : grace_(grace), spares_background_(spares_background), program_arguments_(program) {
    for (const int number : {SIGCHLD, SIGTERM, SIGQUIT}) sigaddset(&signals_, number);
  }

  // Returns the program's status from waitpid().
  int run() {
    start();
    while (!status_ && !must_kill()) {
      switch (next_signal(next_step())) {
        case SIGTERM:
          begin_shutdown();
          break;
        case SIGQUIT:
          kill_at_ = SteadyClock::now();
          break;
        default:
          break;
      }
      reap();
      if (!status_ && terminate_at_ && *terminate_at_ <= SteadyClock::now()) {
        terminate_at_.reset();
        signal_all(SIGTERM);
      }
    }
    if (!kill_at_ && status_ == 0 && spares_background_) return 0;
    if (!kill_at_ && reap()) report("killing", "the program has ended");
    kill_all();
    return status_.value_or(SIGKILL);
  }

 private:
  void start() {
    ::prctl(PR_SET_NAME, kName);
    ::signal(SIGCHLD, SIG_DFL);  // an ignored SIGCHLD would not report the end of children
    if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) report_and_exit(errno);
    const pid_t supervisor = ::getpid();
    program_ = ::fork();
    if (program_ < 0) report_and_exit(errno);
    if (program_ == 0) become_program(supervisor);
    ::close(SupervisorCommand::kStartReport);
  }

  [[noreturn]] void become_program(pid_t supervisor) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != supervisor) ::_exit(kCannotRun);  // the supervisor died before prctl()
    ::setpgid(0, 0);  // signals to its group must not reach the supervisor
    ::fcntl(SupervisorCommand::kStartReport, F_SETFD, FD_CLOEXEC);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execvp(*program_arguments_, program_arguments_);
    report_and_exit(errno);
  }

  // Signals the program first, because it may need its children to clean up: diskimage-builder dies
  // before it unmounts anything if the filter of its output dies. A shell with a trap needs the
  // opposite: it waits for its children. So signals all of them after half of the time.
  void begin_shutdown() {
    if (kill_at_) return;
    terminate_at_ = SteadyClock::now() + grace_ / 2;
    kill_at_ = SteadyClock::now() + grace_;
    ::kill(program_, SIGTERM);
  }

  bool must_kill() const { return kill_at_ && *kill_at_ <= SteadyClock::now(); }

  std::optional<SteadyClock::time_point> next_step() const {
    return terminate_at_ ? terminate_at_ : kill_at_;
  }

  // Waits for a signal at most until then; 0: none.
  int next_signal(std::optional<SteadyClock::time_point> until) {
    if (!until) return std::max(::sigwaitinfo(&signals_, nullptr), 0);
    const timespec rest =
        to_timespec(std::max(*until - SteadyClock::now(), SteadyClock::duration::zero()));
    return std::max(::sigtimedwait(&signals_, nullptr, &rest), 0);
  }

  // Reaps ended children. Returns whether children are left.
  bool reap() {
    int status = 0;
    pid_t ended = 0;
    while ((ended = ::waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
      if (ended == program_) status_ = status;
    }
    return ended == 0;
  }

  void signal_all(int number) {
    for (const ProcessEntry& process : descendants()) signal_descendant(process, number);
  }

  // An orphaned descendant becomes a child of this process, so without children none is left.
  void kill_all() {
    const SteadyClock::time_point end = SteadyClock::now() + kKillDeadline;
    while (reap()) {
      if (SteadyClock::now() > end) return report("cannot kill", "it is still running");
      signal_all(SIGKILL);
      next_signal(SteadyClock::now() + kKillAgain);
    }
  }

  // Names all descendants in the program's output.
  static void report(const char* action, const char* reason) {
    for (const ProcessEntry& process : descendants()) {
      std::fprintf(stderr, "%s: %s process %d (%s): %s\n", kName, action, process.pid,
                   process.name.c_str(), reason);
    }
  }

  milliseconds grace_;
  bool spares_background_;
  char** program_arguments_;
  sigset_t signals_{};
  pid_t program_ = -1;
  std::optional<int> status_;  // once the program has ended
  std::optional<SteadyClock::time_point> terminate_at_;
  std::optional<SteadyClock::time_point> kill_at_;
};

// Ends this process with the status of another one.
int end_as(int status) {
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  const int number = WTERMSIG(status);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);  // the program has dumped its own
  ::signal(number, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, number);
  ::raise(number);
  ::sigprocmask(SIG_UNBLOCK, &only, nullptr);
  return 128 + number;
}

}  // namespace

std::optional<int> supervise_if_asked(int argc, char** argv) {
  is_main_prepared = argc < 4 || std::string_view(argv[0]) != kName;
  if (is_main_prepared) return std::nullopt;
  char** variables = environ;
  for (char** next = environ; *next != nullptr; ++next) {
    if (**next == kProgramsVariable) *variables++ = *next + 1;
  }
  *variables = nullptr;
  Supervisor supervisor(milliseconds(std::stoll(argv[1])), argv[2] == kSpare, argv + 3);
  return end_as(supervisor.run());
}

SupervisorCommand::SupervisorCommand(const std::vector<std::string>& program,
                                     const std::vector<std::string>& program_environment,
                                     std::chrono::milliseconds grace, bool spares_background)
    : arguments{kName, std::to_string(grace.count()),
                std::string(spares_background ? kSpare : kKill)} {
  if (!is_main_prepared) throw std::logic_error("main() has not called supervise_if_asked()");
  arguments.insert(arguments.end(), program.begin(), program.end());
  for (const std::string& variable : program_environment) {
    environment.push_back(kProgramsVariable + variable);
  }
  for (char** next = environ; *next != nullptr; ++next) {
    if (std::string_view(*next).starts_with(kLoadersVariables)) environment.emplace_back(*next);
  }
}

}  // namespace nodepool::async
