#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>

#include "tests/cli/cli_test.h"

namespace nodepool::cli {
namespace {

using model::NodeState;
using requestor::LauncherDouble;
using std::chrono::minutes;
using test_support::read_file;
using testing::HasSubstr;
using testing::IsEmpty;

class RunCommandTest : public CliTest {
 protected:
  RunCommandTest() {
    run(launcher_.add_pool("rack", {"small", "large"}));
    environment_.emplace_back("TMPDIR", directory_.path() / "tmp");
    environment_.emplace_back("HERE", directory_.path());
    std::filesystem::create_directory(directory_.path() / "tmp");
    launcher_.adorn = [](model::Node& node, std::size_t) { node.host_keys = {"ssh-ed25519 AAAA"}; };
  }

  int run_shell(const std::string& script) {
    return nodepool({"run", "small", "--", "sh", "-c", script});
  }
  std::string written(const std::string& name) const { return read_file(directory_.path() / name); }
  bool has(const std::string& name) const {
    return std::filesystem::exists(directory_.path() / name);
  }
  // Node 0000000000 has been given back, and nothing is left of its use.
  void expect_given_back() {
    EXPECT_EQ(run(launcher_.node("0000000000")).state, NodeState::used);
    EXPECT_THAT(run(launcher_.lock_line("0000000000")), IsEmpty());
    EXPECT_THAT(run(launcher_.requests()), IsEmpty());
    EXPECT_TRUE(std::filesystem::is_empty(directory_.path() / "tmp"));
  }
  // Calls `act` once the script has made the file `name`.
  void when_made(const std::string& name, std::function<void()> act) {
    auto watch = [](LauncherDouble& launcher, std::filesystem::path path,
                    std::function<void()> act) -> async::Task<> {
      while (!std::filesystem::exists(path)) co_await launcher.requests();
      act();
    };
    scope_.spawn("when " + name, watch(launcher_, directory_.path() / name, std::move(act)));
  }
};

TEST_F(RunCommandTest, the_command_finds_its_nodes_and_its_status_is_returned) {
  EXPECT_EQ(run_shell("env > $HERE/env; cp $NODEPOOL_SSH_CONFIG $NODEPOOL_KNOWN_HOSTS "
                      "$NODEPOOL_INVENTORY $HERE; stat -c %a $(dirname $NODEPOOL_INVENTORY) > "
                      "$HERE/mode; exit 7"),
            7);
  EXPECT_THAT(written("env"), HasSubstr("NODEPOOL_NODE_1_HOST=192.0.2.1\n"));
  EXPECT_THAT(written("env"), HasSubstr("NODEPOOL_NODES=0000000000\n"));
  EXPECT_THAT(written("ssh_config"), HasSubstr("Host small small-1 0000000000\n"));
  EXPECT_EQ(written("known_hosts"), "192.0.2.1 ssh-ed25519 AAAA\n");
  EXPECT_THAT(written("inventory.yaml"), HasSubstr("ansible_host: \"192.0.2.1\""));
  EXPECT_EQ(written("mode"), "700\n");
  EXPECT_EQ(out() + err(), "");
  expect_given_back();
}

TEST_F(RunCommandTest, arguments_arrive_without_a_shell) {
  EXPECT_EQ(nodepool({"run", "small", "--", "sh", "-c", "printf '%s|' \"$@\" > $HERE/args", "sh",
                      "a b", "$HOME", "--", "*"}),
            0);
  EXPECT_EQ(written("args"), "a b|$HOME|--|*|");
  expect_given_back();
}

TEST_F(RunCommandTest, the_nodes_are_in_use_meanwhile) {
  NodeState state = NodeState::init;
  auto look = [](LauncherDouble& launcher, NodeState& out,
                 const test_support::TemporaryDirectory& directory) -> async::Task<> {
    const model::Node node = co_await launcher.node("0000000000");
    out = node.state;
    directory.write("seen", "");
  };
  when_made("started", [&] { scope_.spawn("look", look(launcher_, state, directory_)); });
  EXPECT_EQ(run_shell("touch $HERE/started; while [ ! -e $HERE/seen ]; do sleep 0.01; done"), 0);
  EXPECT_EQ(state, NodeState::in_use);
  expect_given_back();
}

TEST_F(RunCommandTest, a_command_killed_by_a_signal_has_its_number_in_the_status) {
  EXPECT_EQ(run_shell("kill -KILL $$"), 128 + SIGKILL);
  expect_given_back();
}

TEST_F(RunCommandTest, signals_are_passed_on_and_the_nodes_given_back) {
  for (const int signal : {SIGTERM, SIGHUP}) {
    std::filesystem::remove(directory_.path() / "started");
    when_made("started", [signal] { std::raise(signal); });
    EXPECT_EQ(
        run_shell("trap 'exit 9' TERM HUP; touch $HERE/started; while :; do sleep 0.01; done"), 9);
  }
  expect_given_back();
}

TEST_F(RunCommandTest, a_command_that_does_not_exist_or_cannot_be_run) {
  EXPECT_EQ(nodepool({"run", "small", "--", "no-such-program"}), 127);
  EXPECT_EQ(err(), "nodepool: cannot run no-such-program: No such file or directory\n");
  expect_given_back();
  EXPECT_EQ(nodepool({"run", "small", "--", "/etc/passwd"}), 126);
  EXPECT_EQ(err(), "nodepool: cannot run /etc/passwd: Permission denied\n");
}

TEST_F(RunCommandTest, without_nodes_the_command_is_not_run) {
  launcher_.react(LauncherDouble::Reaction::decline);
  EXPECT_EQ(run_shell("touch $HERE/started"), 125);
  EXPECT_THAT(err(), HasSubstr("failed: every pool has declined it"));
  launcher_.react(LauncherDouble::Reaction::ignore);
  pass_time_when_requested(minutes(11));
  EXPECT_EQ(run_shell("touch $HERE/started"), 125);
  EXPECT_THAT(err(), HasSubstr("was not fulfilled in time"));
  EXPECT_FALSE(has("started"));
  EXPECT_THAT(run(launcher_.requests()), IsEmpty());
}

TEST_F(RunCommandTest, an_interruption_while_waiting_withdraws_the_request) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  auto interrupt = [](LauncherDouble& launcher) -> async::Task<> {
    while (true) {
      const std::vector<std::string> requests = co_await launcher.requests();
      if (!requests.empty()) break;
    }
    std::raise(SIGINT);
  };
  scope_.spawn("interrupt", interrupt(launcher_));
  EXPECT_EQ(run_shell("touch $HERE/started"), 128 + SIGINT);
  EXPECT_FALSE(has("started"));
  EXPECT_THAT(run(launcher_.requests()), IsEmpty());
}

TEST_F(RunCommandTest, files_need_a_directory) {
  environment_ = {{"PATH", "/usr/bin:/bin"}, {"TMPDIR", "/no/such/directory"}};
  EXPECT_EQ(run_shell("true"), 125);
  EXPECT_THAT(err(), HasSubstr("cannot make a directory in /no/such/directory"));
  EXPECT_EQ(run(launcher_.node("0000000000")).state, NodeState::used);
}

TEST_F(RunCommandTest, whatever_keeps_the_command_from_being_run_is_told_from_its_own_status) {
  EXPECT_EQ(nodepool_bare({"-c", "/no/such/file", "run", "small", "--", "true"}), 125);
  EXPECT_THAT(err(), HasSubstr("/no/such/file"));
  store_failure_ = "no store today";
  EXPECT_EQ(run_shell("true"), 125);
  EXPECT_EQ(err(), "nodepool: no store today\n");
  EXPECT_EQ(nodepool({"list"}), 1);
}

}  // namespace
}  // namespace nodepool::cli
