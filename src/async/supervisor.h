#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace nodepool::async {

// A supervisor is a process between this one and a program. All processes that the program starts,
// even in sessions of their own, remain descendants of the supervisor. When the program ends, it
// names the remaining ones in the program's output and kills them; with `spares_background`, not if
// the program succeeded without a SIGTERM. On SIGTERM, also sent when its parent dies, it sends
// SIGTERM to the program, to all of them after half of `grace`, and SIGKILL after `grace`. On
// SIGQUIT it kills them at once. Then it ends with the program's status. It is the same executable,
// started again, because a fork of a process with threads must not do much.

// To be called first in main() of an executable that uses Subprocess::Command::grace. In a
// supervisor process, runs the supervisor and returns main()'s exit status, or ends by the
// program's signal. Otherwise returns nothing.
[[nodiscard]] std::optional<int> supervise_if_asked(int argc, char** argv);

// The command that starts a supervisor: this executable with these arguments and this environment,
// all signals blocked, and the descriptor kStartReport, which closes when the program runs, or gets
// errno if it cannot be run.
struct SupervisorCommand {
  static constexpr const char* kExecutable = "/proc/self/exe";
  static constexpr int kStartReport = 3;

  // For a program with these arguments and this environment. Throws std::logic_error if main() has
  // not called supervise_if_asked().
  SupervisorCommand(const std::vector<std::string>& program,
                    const std::vector<std::string>& program_environment,
                    std::chrono::milliseconds grace, bool spares_background);

  std::vector<std::string> arguments;
  std::vector<std::string> environment;
};

}  // namespace nodepool::async
