#include "builder/program_run.h"

#include <csignal>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "async/deadline.h"
#include "async/finally.h"
#include "async/output_pipe.h"
#include "async/task_scope.h"

namespace nodepool::builder {

namespace {

// Directories of images must be readable by all users of the image, regardless of the daemon's
// umask.
constexpr mode_t kUmask = 0022;

using async::OutputPipe;
using async::Subprocess;
using async::Task;
using Ending = Subprocess::Ending;

// Waits for the end of the program. Returns nothing if it still runs after `timeout`.
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

Task<> end_program(Subprocess& program) {
  program.send_signal(SIGTERM);
  co_await program.wait();
}

// Number of reads in one call on a thread.
constexpr int kReads = 16;

// Moves the available output to the file. Returns false at the end of the output.
bool move_output(const OutputPipe::Reader& reader, BoundedFile& file) {
  std::string text;
  for (int i = 0; i < kReads; ++i) {
    const auto found = reader.read(text);
    if (found != OutputPipe::Reader::Found::some) {
      return found == OutputPipe::Reader::Found::nothing;
    }
    file.write(text);
  }
  return true;
}

// Moves output until all writers have closed it.
Task<> follow_output(async::ThreadPool& threads, OutputPipe& pipe,
                     std::shared_ptr<BoundedFile> file) {
  const auto move = [reader = pipe.reader(), file] { return move_output(reader, *file); };
  do {
    co_await pipe.readable();
  } while (co_await threads.run("log of a program", move));
}

// Moves the remaining output. Processes that outlive the program cannot extend this forever.
Task<> move_last_output(async::ThreadPool& threads, OutputPipe& pipe,
                        std::shared_ptr<BoundedFile> file) {
  const auto move = [reader = pipe.reader(), file] {
    move_output(reader, *file);
    file->write_end();
  };
  co_await threads.run("log of a program", move);
}

Task<> end_output(async::TaskScope& following, async::ThreadPool& threads, OutputPipe& pipe,
                  std::shared_ptr<BoundedFile> file) {
  co_await following.stop();
  co_await move_last_output(threads, pipe, std::move(file));
}

Task<std::optional<Ending>> run_to_end(async::Runtime runtime, Subprocess& program,
                                       std::optional<async::Duration> timeout) {
  std::optional<Ending> ending;
  std::exception_ptr cancelled;
  try {
    ending = co_await wait_for(runtime.clock, program, timeout);
  } catch (const async::Cancelled&) {
    cancelled = std::current_exception();
  }
  if (ending) co_return ending;
  // A separate task, because a cancelled task cannot wait.
  std::string failure;
  async::TaskScope scope(
      runtime, [&failure](const std::string&, const std::string& error) { failure = error; });
  scope.spawn("end of a program", end_program(program));
  co_await scope.join();
  if (cancelled) std::rethrow_exception(cancelled);
  co_return std::nullopt;
}

}  // namespace

Task<ProgramEnd> run_program(async::Runtime runtime, async::ThreadPool& threads,
                             Subprocess::Command command, std::shared_ptr<BoundedFile> output,
                             std::optional<async::Duration> timeout, async::Duration grace) {
  OutputPipe pipe(runtime.executor);
  command.grace = std::chrono::ceil<std::chrono::milliseconds>(grace);
  command.output = pipe.writing_end();
  command.umask = kUmask;
  Subprocess program(runtime.executor, command);
  pipe.close_writing_end();
  async::TaskScope following(runtime, [](const std::string&, const std::string&) {});
  following.spawn("output of a program", follow_output(threads, pipe, output));
  const auto end_log = [&] { return end_output(following, threads, pipe, output); };
  Task<std::optional<Ending>> running = run_to_end(runtime, program, timeout);
  const std::optional<Ending> ending = co_await async::finally(std::move(running), end_log);
  if (!ending) co_return ProgramEnd{.exit_code = 1, .timed_out = true};
  co_return ProgramEnd{ending->signal == 0 ? ending->exit_status : -ending->signal};
}

}  // namespace nodepool::builder
