#include "builder/program_run.h"

#include <csignal>
#include <exception>
#include <optional>
#include <utility>

#include "async/deadline.h"
#include "async/task_scope.h"

namespace nodepool::builder {

namespace {

using async::Subprocess;
using async::Task;
using Ending = Subprocess::Ending;

// The program's ending; nothing if it still runs after `timeout`.
Task<std::optional<Ending>> wait_for(async::Clock& clock, Subprocess& program,
                                     std::optional<async::Duration> timeout) {
  Task<Ending> waiting = program.wait();
  if (!timeout) co_return co_await std::move(waiting);
  try {
    co_return co_await async::with_deadline(clock, clock.now() + *timeout, std::move(waiting),
                                            "end of a program");
  } catch (const async::DeadlineExceeded&) {
  }
  co_return std::nullopt;
}

// The program comes first, because it may need its children to clean up: diskimage-builder dies
// before it has unmounted anything when the filter of its output does. A shell that has a trap
// needs the opposite: it waits for what it has started.
Task<> end_group(async::Clock& clock, Subprocess& program, async::Duration grace) {
  program.send_signal_to_leader(SIGTERM);
  std::optional<Ending> ending = co_await wait_for(clock, program, grace / 2);
  if (ending) co_return;
  program.send_signal(SIGTERM);
  ending = co_await wait_for(clock, program, grace / 2);
  if (ending) co_return;
  program.send_signal(SIGKILL);
  co_await program.wait();
}

}  // namespace

Task<ProgramEnd> run_program(async::Runtime runtime, Subprocess::Command command,
                             std::optional<async::Duration> timeout, async::Duration grace) {
  command.own_group = true;
  command.signal_when_orphaned = SIGTERM;
  Subprocess program(runtime.executor, command);
  std::optional<Ending> ending;
  std::exception_ptr cancelled;
  try {
    ending = co_await wait_for(runtime.clock, program, timeout);
  } catch (const async::Cancelled&) {
    cancelled = std::current_exception();
  }
  if (ending) co_return ProgramEnd{ending->signal == 0 ? ending->exit_status : -ending->signal};
  // A task of its own, because nothing waits in one that has been cancelled.
  std::string failure;
  async::TaskScope scope(
      runtime, [&failure](const std::string&, const std::string& error) { failure = error; });
  scope.spawn("end of a program", end_group(runtime.clock, program, grace));
  co_await scope.join();
  if (cancelled) std::rethrow_exception(cancelled);
  co_return ProgramEnd{.exit_code = 1, .timed_out = true};
}

}  // namespace nodepool::builder
