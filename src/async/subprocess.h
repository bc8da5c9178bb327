#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/task.h"

namespace nodepool::async {

// A program that runs beside this one, started without a shell. Unless told otherwise it shares the
// terminal, the standard streams and the process group of this process, so what is typed (Ctrl-C,
// Ctrl-Z) reaches it directly; signals that this process handles have their usual effect on it.
class Subprocess {
 public:
  struct Command {
    std::vector<std::string> arguments;    // the program, looked up in PATH, and its arguments
    std::vector<std::string> environment;  // "NAME=value"; all that the program sees
    // Sent to the program when this process ends without having waited for it; 0: none.
    int signal_when_orphaned = 0;
    // Set: nothing that it starts outlives it (async/supervisor.h). SIGTERM then ends all of them,
    // with so much patience; so does the end of this process. The program leads a process group of
    // its own, away from the terminal, has nothing to read from its standard input, no other
    // descriptors of this process, and is looked up in the PATH of its own environment.
    std::optional<std::chrono::milliseconds> grace = std::nullopt;
    // The program's umask; nothing: that of this process.
    std::optional<mode_t> umask = std::nullopt;
    // Descriptor that takes its standard output and error; -1: those of this process.
    int output = -1;
    // Descriptor that takes its standard error alone; -1: it goes where the output goes.
    int error_output = -1;
  };

  // How a program has ended.
  struct Ending {
    int exit_status = 0;  // unless a signal killed it
    int signal = 0;       // that killed it, or 0

    // As a shell's `$?`: 128 + the signal's number if one killed it.
    int shell_status() const { return signal == 0 ? exit_status : 128 + signal; }
  };

  // Starts the program. Throws std::system_error if it cannot be run (e.g. ENOENT).
  Subprocess(const Executor& executor, const Command& command);
  // Kills the program if it still runs, and with `grace` all that it has started.
  ~Subprocess();
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  pid_t pid() const;

  // Sends a signal to the program; SIGTERM to one with `grace`. Harmless once it has ended.
  void send_signal(int number);

  // Returns when the program has ended, and with `grace` all that it has started, at once if they
  // had. Throws Cancelled; the program then runs on and can be waited for again.
  Task<Ending> wait();

 private:
  struct Process;
  std::unique_ptr<Process> process_;
};

}  // namespace nodepool::async
