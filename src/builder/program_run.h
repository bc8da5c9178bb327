#pragma once

#include <memory>
#include <optional>

#include "async/runtime.h"
#include "async/subprocess.h"
#include "async/thread_pool.h"
#include "builder/bounded_file.h"

namespace nodepool::builder {

// How a program has ended.
struct ProgramEnd {
  int exit_code = 0;  // negative: the signal that killed it, as Python's subprocess says it
  bool timed_out = false;
};

// Runs a program, for `timeout` at most, if there is one, so that nothing that it starts outlives
// it (async/supervisor.h). After that, and when it is cancelled, it is ended: the program gets
// SIGTERM, all that it has started after half of `grace`, and SIGKILL after `grace`. What it writes
// goes to `output`. Returns, or throws Cancelled, when nothing of it is left. Throws
// std::system_error if the program cannot be run. `threads` outlive the task.
async::Task<ProgramEnd> run_program(async::Runtime runtime, async::ThreadPool& threads,
                                    async::Subprocess::Command command,
                                    std::shared_ptr<BoundedFile> output,
                                    std::optional<async::Duration> timeout, async::Duration grace);

}  // namespace nodepool::builder
