#pragma once

#include "async/runtime.h"
#include "async/subprocess.h"

namespace nodepool::builder {

// How a program has ended.
struct ProgramEnd {
  int exit_code = 0;  // negative: the signal that killed it, as Python's subprocess says it
  bool timed_out = false;
};

// Runs a program in a process group of its own, for `timeout` at most. After that, and when it is
// cancelled, the whole group is ended: with SIGTERM, and with SIGKILL after `grace`. Returns, or
// throws Cancelled, when nothing of the group is left. Throws std::system_error if the program
// cannot be run.
async::Task<ProgramEnd> run_program(async::Runtime runtime, async::Subprocess::Command command,
                                    async::Duration timeout, async::Duration grace);

}  // namespace nodepool::builder
