#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace nodepool::async {

// A supervisor is a process between this one and a program of which nothing may be left: whatever
// the program starts, in however many sessions of its own, remains a descendant of it. When the
// program ends, all that is left of them is killed; when the supervisor gets SIGTERM, which it also
// does when the process above it dies, it ends them with patience: SIGTERM for the program alone,
// for all of them after half of `grace`, SIGKILL after `grace`; at SIGQUIT it kills them at once.
// Then it ends as the program has ended. It is this same executable, started anew, because a copy
// of a process with threads may do next to nothing.

// First thing in main() of an executable that uses Subprocess::Command::grace: if it was started to
// be a supervisor, it returns main()'s exit status when that is done, or ends by a signal as the
// program has; otherwise nothing.
[[nodiscard]] std::optional<int> supervise_if_asked(int argc, char** argv);

// How Subprocess starts one: by this executable with these arguments and this environment, all
// signals blocked, and kStartReport open, which closes when the program runs and takes errno if it
// cannot be run.
struct SupervisorCommand {
  static constexpr const char* kExecutable = "/proc/self/exe";
  static constexpr int kStartReport = 3;

  // For a program with these arguments and this environment. Throws std::logic_error if main() has
  // not called supervise_if_asked().
  SupervisorCommand(const std::vector<std::string>& program,
                    const std::vector<std::string>& program_environment,
                    std::chrono::milliseconds grace);

  std::vector<std::string> arguments;
  std::vector<std::string> environment;
};

}  // namespace nodepool::async
