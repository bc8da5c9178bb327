#pragma once

#include <memory>
#include <optional>

#include "async/runtime.h"
#include "async/subprocess.h"
#include "async/thread_pool.h"
#include "builder/bounded_file.h"

namespace nodepool::builder {

// The exit of a program.
struct ProgramEnd {
  int exit_code = 0;  // negative: the signal that killed it, as in Python's subprocess
  bool timed_out = false;
};

// Runs a program so that no process that it starts outlives it (async/supervisor.h), unless
// `command` spares them. After `timeout`, and on cancellation, the program gets SIGTERM; its
// descendants get SIGTERM after half of `grace`, and SIGKILL after `grace`. The output goes to
// `output`, until the program ends. Returns, or throws Cancelled, when all its processes have
// ended. Throws std::system_error if the program cannot be run. `threads` outlive the task.
async::Task<ProgramEnd> run_program(async::Runtime runtime, async::ThreadPool& threads,
                                    async::Subprocess::Command command,
                                    std::shared_ptr<BoundedFile> output,
                                    std::optional<async::Duration> timeout, async::Duration grace);

}  // namespace nodepool::builder
