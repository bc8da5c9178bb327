#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/task.h"

namespace nodepool::async {

// A child process, started without a shell. By default it shares the terminal, the standard streams
// and the process group of this process, so Ctrl-C and Ctrl-Z reach it directly. Signals that this
// process handles have their default effect on it.
class Subprocess {
 public:
  struct Command {
    std::vector<std::string> arguments;    // the program, looked up in PATH, and its arguments
    std::vector<std::string> environment;  // "NAME=value"; the complete environment
    // The signal to the program if this process ends before it; 0: none.
    int signal_when_orphaned = 0;
    // If set, a supervisor ensures that no descendant outlives the program (async/supervisor.h).
    // SIGTERM, and the end of this process, then end all of them within this time. The program
    // leads a process group of its own without the terminal, has an empty standard input and no
    // other descriptors of this process, and is looked up in the PATH of its own environment.
    std::optional<std::chrono::milliseconds> grace = std::nullopt;
    // With `grace`: descendants may outlive a program that ends by itself with exit status 0.
    bool spares_background = false;
    // The program's umask; none: this process's.
    std::optional<mode_t> umask = std::nullopt;
    // The descriptor for its standard output and error; -1: this process's.
    int output = -1;
    // The descriptor for its standard error; -1: the same as the output.
    int error_output = -1;
  };

  // The exit status of a program.
  struct Ending {
    int exit_status = 0;  // if no signal killed it
    int signal = 0;       // the signal that killed it, or 0

    // Like a shell's `$?`: 128 + the signal's number if one killed it.
    int shell_status() const { return signal == 0 ? exit_status : 128 + signal; }
  };

  // Starts the program. Throws std::system_error if it cannot be run (e.g. ENOENT).
  Subprocess(const Executor& executor, const Command& command);
  // Kills the program if it still runs, with `grace` also its descendants.
  ~Subprocess();
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  pid_t pid() const;

  // Sends a signal to the program; with `grace` always SIGTERM. Does nothing if it has ended.
  void send_signal(int number);

  // Waits for the end of the program, with `grace` also of its descendants. Throws Cancelled; the
  // program then continues and can be waited for again.
  Task<Ending> wait();

 private:
  struct Process;
  std::unique_ptr<Process> process_;
};

}  // namespace nodepool::async
