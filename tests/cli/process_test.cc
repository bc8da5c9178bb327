// The program itself, with an embedded store and at a terminal.

#include <gmock/gmock.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "coordination/sqlite/sqlite_store.h"
#include "tests/requestor/launcher_double.h"
#include "tests/support/child.h"
#include "tests/support/descriptor.h"
#include "tests/support/network.h"
#include "tests/support/patience.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::cli {
namespace {

using model::NodeState;
using test_support::Child;
using test_support::read_file;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using test_support::kPatience;

// A program that has a terminal of its own.
class ProgramAtTerminal {
 public:
  explicit ProgramAtTerminal(const std::vector<std::string>& command) {
    std::vector<char*> arguments;
    for (const std::string& text : command) arguments.push_back(const_cast<char*>(text.c_str()));
    arguments.push_back(nullptr);
    int terminal = -1;
    pid_ = ::forkpty(&terminal, nullptr, nullptr, nullptr);
    if (pid_ == 0) {
      ::signal(SIGINT, SIG_DFL);  // ignored if the tests run in the background of a shell
      ::execv(arguments[0], arguments.data());
      ::_exit(127);
    }
    terminal_ = test_support::Descriptor(terminal);
  }
  ~ProgramAtTerminal() {
    if (status()) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ProgramAtTerminal(const ProgramAtTerminal&) = delete;
  ProgramAtTerminal& operator=(const ProgramAtTerminal&) = delete;

  void type(char key) const { EXPECT_EQ(::write(terminal_.get(), &key, 1), 1); }

  // Everything that it has shown so far.
  const std::string& shown() {
    std::array<char, 4096> block{};
    pollfd readable{.fd = terminal_.get(), .events = POLLIN, .revents = 0};
    while (::poll(&readable, 1, 0) > 0) {
      const ssize_t size = ::read(terminal_.get(), block.data(), block.size());
      if (size <= 0) break;
      shown_.append(block.data(), static_cast<std::size_t>(size));
    }
    return shown_;
  }

  // The exit status, once it has ended.
  std::optional<int> status() {
    int status = 0;
    if (!status_ && ::waitpid(pid_, &status, WNOHANG) == pid_) {
      status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    return status_;
  }

 private:
  pid_t pid_ = -1;
  std::optional<int> status_;
  std::string shown_;
  test_support::Descriptor terminal_;
};

class ProcessTest : public testing::Test {
 protected:
  ProcessTest() {
    ::setenv("HERE", directory_.path().c_str(), 1);
    config_ = directory_.write("nodepool.yaml", "store: sqlite://" + database() + "\n");
    coordination::sqlite::SqliteOptions options;
    options.path = database();
    store_ = loop_.run(coordination::sqlite::open_store(runtime_, std::move(options)));
    launcher_.emplace(runtime_, *store_);
    launcher_->start();
    loop_.run(launcher_->add_pool("rack", {"small"}));
  }
  ~ProcessTest() override {
    loop_.run(launcher_->stop());
    launcher_.reset();
    loop_.run(store_->close());
  }

  std::string database() const { return directory_.path() / "nodepool.db"; }
  std::vector<std::string> command(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {NODEPOOL_PROGRAM, "-c", config_});
    return arguments;
  }
  std::vector<std::string> watch_at(const std::string& terminal) const {
    std::vector<std::string> watch = command({"list", "--watch"});
    watch.insert(watch.begin(), {"/usr/bin/env", "TERM=" + terminal});
    return watch;
  }
  std::vector<std::string> run_shell(const std::string& script) const {
    return command({"run", "small", "--", "sh", "-c", script});
  }
  bool has(const std::string& name) const {
    return std::filesystem::exists(directory_.path() / name);
  }
  // Runs the launcher until the condition holds.
  template <typename Condition>
  void run_until(Condition condition) {
    auto wait = [](async::Clock& clock, Condition condition) -> async::Task<bool> {
      const auto deadline = clock.now() + kPatience;
      bool met = condition();
      while (!met && clock.now() < deadline) {
        co_await clock.sleep_for(std::chrono::milliseconds(2));
        met = condition();
      }
      co_return met;
    };
    ASSERT_TRUE(loop_.run(wait(clock_, condition)));
  }
  NodeState state() { return loop_.run(launcher_->node("0000000000")).state; }
  std::vector<std::string> lock_line() { return loop_.run(launcher_->lock_line("0000000000")); }

  test_support::TemporaryDirectory directory_;
  std::string config_;
  async::EventLoop loop_;
  async::SystemClock clock_;
  async::Random random_ = async::Random::from_system();
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  std::unique_ptr<coordination::Store> store_;
  std::optional<requestor::LauncherDouble> launcher_;
};

// Stays until it has been interrupted; notes each interruption.
constexpr const char* kCountInterruptions =
    "trap 'echo INT >> $HERE/interruptions' INT; touch $HERE/started; "
    "while [ ! -e $HERE/interruptions ]; do sleep 0.01; done; exit 5";

TEST_F(ProcessTest, ctrl_c_reaches_the_command_once_and_the_nodes_go_back) {
  ProgramAtTerminal program(run_shell(kCountInterruptions));
  run_until([this] { return has("started"); });
  EXPECT_EQ(state(), NodeState::in_use);
  program.type('\x03');
  run_until([&] { return program.status().has_value(); });
  EXPECT_EQ(program.status(), 5);
  EXPECT_EQ(read_file(directory_.path() / "interruptions"), "INT\n");
  EXPECT_EQ(state(), NodeState::used);
  EXPECT_THAT(lock_line(), IsEmpty());
}

TEST_F(ProcessTest, a_signal_from_another_process_is_passed_on_once) {
  Child program(run_shell(kCountInterruptions));
  run_until([this] { return has("started"); });
  program.signal(SIGINT);
  run_until([&] { return !program.running(); });
  EXPECT_EQ(program.wait(), 5) << program.standard_error();
  EXPECT_EQ(read_file(directory_.path() / "interruptions"), "INT\n");
  EXPECT_EQ(state(), NodeState::used);
}

TEST_F(ProcessTest, ctrl_c_while_waiting_withdraws_the_request) {
  launcher_->react(requestor::LauncherDouble::Reaction::ignore);
  ProgramAtTerminal program(command({"request", "small"}));
  while (loop_.run(launcher_->requests()).empty()) {
  }
  program.type('\x03');
  run_until([&] { return program.status().has_value(); });
  EXPECT_EQ(program.status(), 128 + SIGINT);
  EXPECT_THAT(loop_.run(launcher_->requests()), IsEmpty());
}

TEST_F(ProcessTest, when_it_is_killed_the_command_ends_and_the_nodes_are_unlocked) {
  Child program(run_shell("echo $$ > $HERE/pid; touch $HERE/started; exec sleep 1000"));
  run_until([this] { return has("started"); });
  const pid_t command = std::stoi(read_file(directory_.path() / "pid"));
  program.signal(SIGKILL);
  EXPECT_EQ(program.wait(), 128 + SIGKILL);
  run_until([command] { return ::kill(command, 0) != 0; });
  while (!lock_line().empty()) {
  }
  EXPECT_EQ(state(), NodeState::in_use);
}

TEST_F(ProcessTest, a_lease_outlives_the_program_and_another_one_ends_it) {
  Child request(command({"request", "small"}));
  run_until([&] { return !request.running(); });
  EXPECT_EQ(request.wait(), 0) << request.standard_error();
  EXPECT_THAT(request.standard_output(), HasSubstr("nodepool release 200-0000000000\n"));
  EXPECT_EQ(state(), NodeState::in_use);
  EXPECT_THAT(lock_line(), testing::ElementsAre("lease 200-0000000000"));
  Child release(command({"release", "200-0000000000"}));
  run_until([&] { return !release.running(); });
  EXPECT_EQ(release.standard_output(), "Released 0000000000\n") << release.standard_error();
  EXPECT_EQ(state(), NodeState::used);
  EXPECT_THAT(lock_line(), IsEmpty());
}

TEST_F(ProcessTest, a_lease_whose_reader_has_ended_is_released) {
  launcher_->react(requestor::LauncherDouble::Reaction::ignore);
  std::vector<std::string> piped = {"sh", "-c", "\"$@\" | { exec <&-; touch $HERE/closed; }", "sh"};
  for (std::string& argument : command({"request", "small"})) piped.push_back(std::move(argument));
  Child request(piped);
  run_until([this] { return has("closed"); });
  while (loop_.run(launcher_->requests()).empty()) {
  }
  loop_.run(launcher_->fulfil_now("200-0000000000"));
  run_until([&] { return !request.running(); });
  EXPECT_THAT(request.standard_error(),
              HasSubstr("nodepool: lease 200-0000000000 has been released\n"));
  EXPECT_EQ(state(), NodeState::used);
}

TEST_F(ProcessTest, a_listing_is_watched_until_it_is_interrupted) {
  model::Node node;
  node.type = {"small"};
  loop_.run(launcher_->add_node(node));
  Child watching(command({"list", "-o", "name", "--watch"}));
  run_until([&] { return watching.standard_output() == "0000000000\n"; });
  loop_.run(launcher_->add_node(node));
  run_until([&] { return watching.standard_output().ends_with("\n\n0000000000\n0000000001\n"); });
  watching.signal(SIGINT);
  run_until([&] { return !watching.running(); });
  EXPECT_EQ(watching.wait(), 0) << watching.standard_error();
}

TEST_F(ProcessTest, a_terminal_is_drawn_anew) {
  model::Node node;
  node.type = {"small"};
  loop_.run(launcher_->add_node(node));
  ProgramAtTerminal program(watch_at("xterm"));
  run_until([&] { return program.shown().contains("| 0000000000 |"); });
  EXPECT_THAT(program.shown(), testing::StartsWith("\x1b[H\x1b[2J+--"));
  node.type = {"large"};
  loop_.run(launcher_->add_node(node));
  run_until([&] { return program.shown().contains("| 0000000001 |"); });
  program.type('\x03');
  run_until([&] { return program.status().has_value(); });
  EXPECT_EQ(program.status(), 0);
}

TEST_F(ProcessTest, a_dumb_terminal_gets_one_table_after_the_other) {
  model::Node node;
  node.type = {"small"};
  loop_.run(launcher_->add_node(node));
  ProgramAtTerminal program(watch_at("dumb"));
  run_until([&] { return program.shown().contains("| 0000000000 |"); });
  loop_.run(launcher_->add_node(node));
  run_until([&] { return program.shown().contains("| 0000000001 |"); });
  program.type('\x03');
  run_until([&] { return program.status().has_value(); });
  EXPECT_EQ(program.status(), 0);
  EXPECT_THAT(program.shown(), AllOf(testing::StartsWith("+--"), HasSubstr("-+\r\n\r\n+--"),
                                     Not(HasSubstr("\x1b"))));
}

TEST_F(ProcessTest, zookeeper_without_certificates_is_refused_with_the_missing_keys) {
  const std::string file = directory_.write(
      "zookeeper.yaml", "zookeeper-servers: [{host: zk1}]\nzookeeper-tls: {cert: /c}\n");
  const test_support::Completed list = test_support::run({NODEPOOL_PROGRAM, "-c", file, "list"});
  EXPECT_EQ(list.status, 1);
  EXPECT_EQ(list.error,
            "nodepool: zookeeper-tls: missing `ca` and `key`: connections to ZooKeeper require "
            "TLS\n");
}

TEST_F(ProcessTest, zookeeper_servers_that_are_away_are_named_at_once_each_with_its_reason) {
  const test_support::ReservedPort one;
  const test_support::ReservedPort two;
  const std::string addresses[] = {"127.0.0.1:" + std::to_string(one.number()),
                                   "127.0.0.1:" + std::to_string(two.number())};
  const std::string file = directory_.write(
      "zookeeper.yaml",
      "zookeeper-servers: [{host: 127.0.0.1, port: " + std::to_string(one.number()) +
          "}, {host: 127.0.0.1, port: " + std::to_string(two.number()) +
          "}]\nzookeeper-tls: {insecure-plaintext: true}\n");
  const test_support::Completed list = test_support::run({NODEPOOL_PROGRAM, "-c", file, "list"});
  EXPECT_EQ(list.status, 1);
  for (const std::string& address : addresses) {
    EXPECT_THAT(list.error, HasSubstr(address + ": Connection refused"));
  }
  EXPECT_EQ(std::ranges::count(list.error, '\n'), 1);
}

TEST_F(ProcessTest, the_version_is_that_of_the_release) {
  const test_support::Completed version = test_support::run({NODEPOOL_PROGRAM, "--version"});
  EXPECT_EQ(version.status, 0);
  EXPECT_THAT(version.output,
              testing::MatchesRegex("Nodepool version: [0-9]+[.][0-9]+[.][0-9]+[^ ]*\n"));
}

}  // namespace
}  // namespace nodepool::cli
