#include "async/subprocess.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <system_error>

#include "async/event_loop.h"
#include "async/output_pipe.h"
#include "async/signals.h"
#include "async/task_scope.h"

namespace nodepool::async {
namespace {

class SubprocessTest : public testing::Test {
 protected:
  Subprocess::Ending run(std::vector<std::string> arguments,
                         std::vector<std::string> environment = {"PATH=/usr/bin:/bin"}) {
    Subprocess process(loop_.executor(), {std::move(arguments), std::move(environment)});
    return loop_.run(process.wait());
  }

  EventLoop loop_;
  SystemClock clock_;
  Random random_{1};
  Runtime runtime_{loop_.executor(), clock_, random_};
};

TEST_F(SubprocessTest, the_exit_status_comes_back) {
  EXPECT_EQ(run({"true"}).shell_status(), 0);
  EXPECT_EQ(run({"sh", "-c", "exit 7"}).exit_status, 7);
}

TEST_F(SubprocessTest, a_killing_signal_comes_back) {
  const auto ending = run({"sh", "-c", "kill -TERM $$"});
  EXPECT_EQ(ending.signal, SIGTERM);
  EXPECT_EQ(ending.shell_status(), 128 + SIGTERM);
}

TEST_F(SubprocessTest, arguments_and_environment_arrive_as_they_are) {
  EXPECT_EQ(run({"sh", "-c", R"(test "$1" = 'a  "b" $c' && test "$X" = '1 2' && test -z "$HOME")",
                 "sh", R"(a  "b" $c)"},
                {"PATH=/usr/bin:/bin", "X=1 2"})
                .shell_status(),
            0);
}

TEST_F(SubprocessTest, a_program_that_cannot_be_run_is_an_error) {
  const auto code_of = [this](const char* program) {
    try {
      run({program});
    } catch (const std::system_error& error) {
      EXPECT_NE(std::string(error.what()).find(program), std::string::npos) << error.what();
      return error.code();
    }
    return std::error_code();
  };
  EXPECT_EQ(code_of("no-such-program-here"), std::errc::no_such_file_or_directory);
  EXPECT_EQ(code_of("/etc/passwd"), std::errc::permission_denied);
}

TEST_F(SubprocessTest, handled_signals_have_their_usual_effect_on_the_program) {
  const Signals signals(loop_.executor(), {SIGINT});
  EXPECT_EQ(run({"sh", "-c", "kill -INT $$; exit 3"}).signal, SIGINT);
}

TEST_F(SubprocessTest, ignored_signals_stay_ignored_but_for_those_that_programs_expect) {
  const auto hangup = std::signal(SIGHUP, SIG_IGN);
  const auto pipe = std::signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(run({"sh", "-c", "kill -HUP $$; exit 3"}).exit_status, 3);
  EXPECT_EQ(run({"sh", "-c", "kill -PIPE $$; exit 3"}).signal, SIGPIPE);
  const auto too_large = std::signal(SIGXFSZ, SIG_IGN);
  EXPECT_EQ(run({"sh", "-c", "kill -XFSZ $$; exit 3"}).signal, SIGXFSZ);
  std::signal(SIGXFSZ, too_large);
  std::signal(SIGHUP, hangup);
  std::signal(SIGPIPE, pipe);
}

TEST_F(SubprocessTest, signals_can_be_sent_and_waiting_can_be_cancelled) {
  Subprocess process(loop_.executor(), {{"sleep", "1000"}, {"PATH=/usr/bin:/bin"}});
  TaskScope scope(runtime_, [](const std::string&, const std::string& error) { FAIL() << error; });
  auto wait = [](Subprocess& process) -> Task<> { co_await process.wait(); };
  scope.spawn("wait", wait(process));
  while (loop_.poll()) {
  }
  loop_.run(scope.stop());
  process.send_signal(SIGTERM);
  EXPECT_EQ(loop_.run(process.wait()).signal, SIGTERM);
  process.send_signal(SIGTERM);
  EXPECT_EQ(loop_.run(process.wait()).signal, SIGTERM);
}

Task<std::string> all_of(OutputPipe& pipe) {
  std::string all;
  std::string part;
  while (true) {
    co_await pipe.readable();
    const auto found = pipe.reader().read(part);
    if (found == OutputPipe::Reader::Found::end) co_return all;
    if (found == OutputPipe::Reader::Found::some) all += part;
  }
}

TEST_F(SubprocessTest, the_standard_error_may_be_taken_apart_from_the_output) {
  for (const bool apart : {false, true}) {
    OutputPipe pipe(loop_.executor());
    OutputPipe errors(loop_.executor());
    Subprocess::Command command{.arguments = {"sh", "-c", "echo out; echo err >&2"},
                                .environment = {"PATH=/usr/bin:/bin"},
                                .output = pipe.writing_end(),
                                .error_output = apart ? errors.writing_end() : -1};
    Subprocess process(loop_.executor(), command);
    pipe.close_writing_end();
    errors.close_writing_end();
    EXPECT_EQ(loop_.run(all_of(pipe)), apart ? "out\n" : "out\nerr\n");
    EXPECT_EQ(loop_.run(all_of(errors)), apart ? "err\n" : "");
    EXPECT_EQ(loop_.run(process.wait()).exit_status, 0);
  }
}

TEST_F(SubprocessTest, a_program_is_killed_with_its_object) {
  pid_t pid = 0;
  {
    const Subprocess process(loop_.executor(), {{"sleep", "1000"}, {"PATH=/usr/bin:/bin"}});
    pid = process.pid();
    EXPECT_EQ(::kill(pid, 0), 0);
  }
  EXPECT_EQ(::kill(pid, 0), -1);
}

}  // namespace
}  // namespace nodepool::async
