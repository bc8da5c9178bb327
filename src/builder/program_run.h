#pragma once

#include <optional>

#include "async/runtime.h"
#include "async/subprocess.h"

namespace nodepool::builder {

// How a program has ended.
struct ProgramEnd {
  int exit_code = 0;  // negative: the signal that killed it, as Python's subprocess says it
  bool timed_out = false;
};

// Runs a program in a process group of its own, for `timeout` at most, if there is one. After that,
// and when it is cancelled, it is ended: the program gets SIGTERM, the whole group after half of
// `grace`, and SIGKILL after `grace`. What is left of the group when the program ends is killed.
// Returns, or throws Cancelled, when nothing of the group is left. Throws std::system_error if the
// program cannot be run.
async::Task<ProgramEnd> run_program(async::Runtime runtime, async::Subprocess::Command command,
                                    std::optional<async::Duration> timeout, async::Duration grace);

}  // namespace nodepool::builder
