// Supervised programs, in real time.

#include "async/supervisor.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>

#include "async/event_loop.h"
#include "async/subprocess.h"

namespace nodepool::async {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using testing::HasSubstr;

class SupervisorTest : public testing::Test {
 protected:
  ~SupervisorTest() override { ::close(reading_); }

  // A shell script with captured output.
  std::unique_ptr<Subprocess> start(const std::string& script,
                                    milliseconds grace = milliseconds(200)) {
    return start_program({{"sh", "-c", script}, {"PATH=/usr/bin:/bin"}}, grace);
  }
  std::unique_ptr<Subprocess> start_program(Subprocess::Command command, milliseconds grace) {
    command.grace = grace;
    command.output = open_output();
    auto program = std::make_unique<Subprocess>(loop_.executor(), command);
    ::close(command.output);
    return program;
  }

  Subprocess::Ending end_of(Subprocess& program) { return loop_.run(program.wait()); }

  std::string read_line() {
    std::string line;
    for (char next = 0; next != '\n'; line += next) {
      if (::read(reading_, &next, 1) != 1) throw std::runtime_error("after " + line + ": no more");
    }
    return line.substr(0, line.size() - 1);
  }

  // Waits for the end of all writers.
  std::string rest_of_output() const {
    std::string rest;
    for (char next = 0; ::read(reading_, &next, 1) == 1;) rest += next;
    return rest;
  }

  EventLoop loop_;

 private:
  int open_output() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    if (reading_ >= 0) ::close(reading_);
    reading_ = ends[0];
    return ends[1];
  }

  int reading_ = -1;
};

// Starts a daemonized process, which reports when it runs. It has the standard output, so the end
// of the output shows its end.
constexpr char kAway[] = R"(
  setsid sh -c '(trap "" TERM; echo away; sleep 1000) &' &
  wait
)";

TEST_F(SupervisorTest, a_program_ends_as_without_one) {
  EXPECT_EQ(end_of(*start("exit 7")).exit_status, 7);
  EXPECT_EQ(end_of(*start("kill -TERM $$")).signal, SIGTERM);
  EXPECT_EQ(end_of(*start("kill -KILL $$")).signal, SIGKILL);
  EXPECT_EQ(end_of(*start("ulimit -c 0; kill -SEGV $$")).signal, SIGSEGV);
}

TEST_F(SupervisorTest, a_program_that_cannot_be_run_is_an_error) {
  Subprocess::Command command{{"no-such-program"}, {"PATH=/usr/bin"}};
  command.grace = milliseconds(0);
  try {
    const Subprocess program(loop_.executor(), command);
    FAIL();
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code(), std::errc::no_such_file_or_directory);
    EXPECT_THAT(error.what(), HasSubstr("no-such-program"));
  }
}

TEST_F(SupervisorTest, a_program_has_its_environment_and_no_more) {
  ::setenv("LD_OF_THIS_PROCESS", "1", 1);
  const auto program = start_program(
      {{"env"}, {"PATH=/usr/bin:/bin", "LD_LIBRARY_PATH=/no/such", "+D=e"}}, milliseconds(0));
  EXPECT_EQ(read_line(), "PATH=/usr/bin:/bin");
  EXPECT_EQ(read_line(), "LD_LIBRARY_PATH=/no/such");
  EXPECT_EQ(read_line(), "+D=e");
  EXPECT_EQ(rest_of_output(), "");
  EXPECT_EQ(end_of(*program).exit_status, 0);
  ::unsetenv("LD_OF_THIS_PROCESS");
}

TEST_F(SupervisorTest, a_program_has_no_signals_blocked_and_none_of_others_descriptors) {
  const auto program = start("grep SigBlk /proc/self/status; ls /proc/$$/fd; echo that is all");
  EXPECT_EQ(read_line(), "SigBlk:\t0000000000000000");
  // No pipeline: the shell has descriptors of its own while it starts one.
  for (const char* line : {"0", "1", "2", "that is all"}) EXPECT_EQ(read_line(), line);
  EXPECT_EQ(end_of(*program).exit_status, 0);
}

TEST_F(SupervisorTest, what_a_program_sends_to_its_group_stays_there) {
  EXPECT_EQ(end_of(*start("sleep 1000 & kill -TERM 0")).signal, SIGTERM);
}

TEST_F(SupervisorTest, nothing_outlives_a_program_that_ends) {
  const auto program = start("trap 'exit 3' USR1; echo $$;" + std::string(kAway) +
                             "sleep 1000 & while :; do sleep 0.01; done");
  const std::string pid = read_line();
  EXPECT_EQ(read_line(), "away");
  ::kill(std::stoi(pid), SIGUSR1);
  EXPECT_EQ(end_of(*program).exit_status, 3);
  EXPECT_THAT(rest_of_output(), HasSubstr(": the program has ended\n"));
}

TEST_F(SupervisorTest, spared_processes_outlive_a_success_only) {
  Subprocess::Command command{{}, {"PATH=/usr/bin:/bin"}};
  command.spares_background = true;
  command.arguments = {"sh", "-c", R"(
    setsid sh -c 'trap "echo late; exit" USR1; echo $$; while :; do sleep 0.01; done' &)"};
  const auto successful = start_program(command, hours(1));
  const std::string pid = read_line();
  EXPECT_EQ(end_of(*successful).exit_status, 0);
  ::kill(std::stoi(pid), SIGUSR1);
  EXPECT_EQ(read_line(), "late");

  command.arguments = {"sh", "-c", "sleep 1000 & exit 1"};
  const auto failed = start_program(command, hours(1));
  EXPECT_EQ(end_of(*failed).exit_status, 1);
  EXPECT_THAT(rest_of_output(), HasSubstr(": the program has ended\n"));

  command.arguments = {"sh", "-c",
                       "trap 'exit 0' TERM;" + std::string(kAway) + "while :; do sleep 0.01; done"};
  const auto stopped = start_program(command, hours(1));
  EXPECT_EQ(read_line(), "away");
  stopped->send_signal(SIGTERM);
  EXPECT_EQ(end_of(*stopped).exit_status, 0);
  EXPECT_EQ(rest_of_output(), "");
}

TEST_F(SupervisorTest, long_chains_of_processes_end_too) {
  const auto program = start(R"(
    chain() { if [ $1 = 0 ]; then echo away; sleep 1000; else (chain $(($1 - 1))) & wait; fi; }
    echo $$; chain 50)");
  const std::string pid = read_line();
  EXPECT_EQ(read_line(), "away");
  ::kill(std::stoi(pid), SIGKILL);
  EXPECT_EQ(end_of(*program).signal, SIGKILL);
  EXPECT_THAT(rest_of_output(), HasSubstr(": the program has ended\n"));
}

// Each of these processes is a new shell, because a shell limits the recursion of a function and
// reports it in its output.
TEST_F(SupervisorTest, processes_that_fork_while_they_are_killed_end) {
  const auto program = start(R"(
    export next='sleep 0.002; sh -c "$next" & exit'
    echo $$; setsid sh -c 'echo away; eval "$next"' & wait; sleep 1000)");
  const std::string pid = read_line();
  EXPECT_EQ(read_line(), "away");
  ::kill(std::stoi(pid), SIGKILL);
  EXPECT_EQ(end_of(*program).signal, SIGKILL);
  EXPECT_THAT(rest_of_output(), HasSubstr(": the program has ended\n"));
}

TEST_F(SupervisorTest, sigterm_is_first_for_the_program_alone) {
  const auto program = start(R"(
    trap 'echo asked; kill -TERM $!; wait $!; exit 5' TERM
    sh -c 'trap "echo the child has been asked; exit" TERM; echo ready; while :; do sleep 0.01; done' &
    while :; do sleep 0.01; done)",
                             hours(1));
  EXPECT_EQ(read_line(), "ready");
  program->send_signal(SIGTERM);
  EXPECT_EQ(read_line(), "asked");
  EXPECT_EQ(read_line(), "the child has been asked");
  EXPECT_EQ(end_of(*program).exit_status, 5);
}

TEST_F(SupervisorTest, sigterm_then_goes_to_all_descendants) {
  // The program waits for its child, like a shell with a trap.
  const auto program = start(R"(
    exec 2> /dev/null  # what a shell has to say about children that are killed
    trap 'exit 6' TERM
    setsid sh -c 'trap "echo asked; exit" TERM; echo ready; while :; do sleep 0.01; done')",
                             milliseconds(2000));
  EXPECT_EQ(read_line(), "ready");
  program->send_signal(SIGTERM);
  EXPECT_EQ(read_line(), "asked");
  EXPECT_EQ(end_of(*program).exit_status, 6);
}

TEST_F(SupervisorTest, descendants_are_killed_after_the_grace_time) {
  const auto program = start("trap '' TERM;" + std::string(kAway) + "while :; do sleep 1; done");
  EXPECT_EQ(read_line(), "away");
  program->send_signal(SIGTERM);
  EXPECT_EQ(end_of(*program).signal, SIGKILL);
  EXPECT_EQ(rest_of_output(), "");
}

TEST_F(SupervisorTest, no_process_outlives_a_destroyed_program) {
  auto program = start("trap '' TERM;" + std::string(kAway) + "sleep 1000", hours(1));
  EXPECT_EQ(read_line(), "away");
  program.reset();
  EXPECT_EQ(rest_of_output(), "");
}

TEST_F(SupervisorTest, names_of_processes_do_not_confuse) {
  // The name looks like the rest of a line of /proc/PID/stat.
  const auto program = start(R"(
    directory=$(mktemp -d); cp /bin/sleep "$directory/a) R 1 ("
    setsid "$directory/a) R 1 (" 1000 &
    while ! grep -q '^a) R 1 ($' /proc/$!/comm; do sleep 0.01; done; rm -r $directory; exit 8)");
  EXPECT_EQ(end_of(*program).exit_status, 8);
  EXPECT_THAT(rest_of_output(), HasSubstr("(a) R 1 (): the program has ended\n"));
}

}  // namespace
}  // namespace nodepool::async
