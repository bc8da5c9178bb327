#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "coordination/tree.h"
#include "model/paths.h"
#include "tests/cli/cli_test.h"

namespace nodepool::cli {
namespace {

using model::NodeState;
using requestor::LauncherDouble;
using std::chrono::minutes;
using test_support::read_file;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

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

TEST_F(RunCommandTest, the_records_are_not_followed_meanwhile) {
  const std::string followed(model::kComponentsRoot);
  auto change = [](LauncherDouble& launcher, std::vector<std::string>& reads, std::string followed,
                   const test_support::TemporaryDirectory& directory) -> async::Task<> {
    EXPECT_THAT(reads, Contains(StartsWith(followed)));
    reads.clear();
    co_await launcher.add_pool("cloud", {"large"});
    for (int turn = 0; turn < 50; ++turn) co_await launcher.requests();
    EXPECT_THAT(reads, Not(Contains(StartsWith(followed))));
    directory.write("seen", "");
  };
  when_made("started",
            [&] { scope_.spawn("change", change(launcher_, reads_, followed, directory_)); });
  EXPECT_EQ(run_shell("touch $HERE/started; while [ ! -e $HERE/seen ]; do sleep 0.01; done"), 0);
  EXPECT_TRUE(has("seen"));
  expect_given_back();
}

TEST_F(RunCommandTest, a_command_killed_by_a_signal_has_its_number_in_the_status) {
  EXPECT_EQ(run_shell("kill -KILL $$"), 128 + SIGKILL);
  expect_given_back();
}

TEST_F(RunCommandTest, signals_are_passed_on_and_the_nodes_released) {
  for (const int signal : {SIGTERM, SIGHUP}) {
    std::filesystem::remove(directory_.path() / "started");
    when_made("started", [signal] { std::raise(signal); });
    EXPECT_EQ(
        run_shell("trap 'exit 9' TERM HUP; touch $HERE/started; while :; do sleep 0.01; done"), 9);
  }
  expect_given_back();
}

TEST_F(RunCommandTest, signals_that_are_ignored_from_the_start_stay_ignored) {
  const std::vector<int> ignored = {SIGHUP, SIGINT, SIGQUIT};  // by `nohup … &` in a script
  for (const int signal : ignored) std::signal(signal, SIG_IGN);
  EXPECT_EQ(run_shell("for s in HUP INT QUIT; do kill -$s $PPID; kill -$s $$; done; exit 9"), 9);
  for (const int signal : ignored) std::signal(signal, SIG_DFL);
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
  EXPECT_THAT(err(), HasSubstr("failed: every pool declined it"));
  launcher_.react(LauncherDouble::Reaction::ignore);
  pass_time_when_requested(minutes(11));
  EXPECT_EQ(run_shell("touch $HERE/started"), 125);
  EXPECT_THAT(err(), HasSubstr("timed out"));
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
  EXPECT_THAT(err(), HasSubstr("cannot create a directory in /no/such/directory"));
  EXPECT_EQ(run(launcher_.node("0000000000")).state, NodeState::used);
}

TEST_F(RunCommandTest, failures_of_run_have_an_exit_status_of_their_own) {
  EXPECT_EQ(nodepool_bare({"-c", "/no/such/file", "run", "small", "--", "true"}), 125);
  EXPECT_THAT(err(), HasSubstr("/no/such/file"));
  store_failure_ = "no store today";
  EXPECT_EQ(run_shell("true"), 125);
  EXPECT_EQ(err(), "nodepool: no store today\n");
  EXPECT_EQ(nodepool({"list"}), 1);
}

TEST_F(RunCommandTest, what_has_failed_is_held_on_demand) {
  EXPECT_EQ(nodepool({"run", "small", "--hold-on-failure", "--", "sh", "-c", "exit 3"}), 3);
  EXPECT_EQ(
      err(),
      "nodepool: the command exited with status 3; 0000000000 held: log in with `nodepool ssh "
      "ID`, release with `nodepool release ID`\n");
  const model::Node held = run(launcher_.node("0000000000"));
  EXPECT_EQ(held.state, NodeState::hold);
  EXPECT_EQ(held.comment, "the command of nodepool:ada@build1 exited with status 3");
  EXPECT_THAT(run(launcher_.lock_line("0000000000")), IsEmpty());
  // Not what has succeeded, nor what has not begun.
  EXPECT_EQ(nodepool({"run", "small", "--hold-on-failure", "--", "true"}), 0);
  EXPECT_EQ(run(launcher_.node("0000000001")).state, NodeState::used);
  EXPECT_EQ(nodepool({"run", "small", "--hold-on-failure", "--", "no-such-program"}), 127);
  EXPECT_EQ(run(launcher_.node("0000000002")).state, NodeState::used);
}

TEST_F(RunCommandTest, a_command_whose_nodes_are_lost_is_stopped_and_no_hold_is_claimed) {
  when_made("started", [this] { command_store_->expire_for_tests(); });
  EXPECT_EQ(nodepool({"run", "small", "--hold-on-failure", "--", "sh", "-c",
                      "trap 'exit 9' TERM; touch $HERE/started; for i in $(seq 3000); do "
                      "sleep 0.01; done; exit 3"}),
            9);
  EXPECT_EQ(err(),
            "nodepool: the session with the store has expired: the nodes are lost, and the command "
            "is stopped\n"
            "nodepool: the command exited with status 9; 0000000000 lost, and not held\n");
  EXPECT_EQ(run(launcher_.node("0000000000")).state, NodeState::in_use);
}

// Lets the command run without time passing.
async::Task<> settle() {
  for (int turn = 0; turn < 50; ++turn) co_await boost::asio::post(boost::asio::use_awaitable);
}

// Once the file `started` is there, cuts the command off from the store for ten seconds, as long as
// its session lasts at least; then makes the file `seen`.
async::Task<> cut_off(coordination::MemoryStore*& store, async::VirtualClock& clock,
                      const test_support::TemporaryDirectory& directory) {
  while (!std::filesystem::exists(directory.path() / "started")) co_await settle();
  store->suspend_for_tests();
  for (int second = 0; second < 10; ++second) {
    co_await settle();
    clock.advance_by(std::chrono::seconds(1));
  }
  co_await settle();
  store->resume_for_tests();
  co_await settle();
  directory.write("seen", "");
}

TEST_F(RunCommandTest, an_outage_as_long_as_a_session_may_last_is_reported) {
  const std::string embedded = config_;
  const std::string script = "touch $HERE/started; while [ ! -e $HERE/seen ]; do sleep 0.01; done";
  coordination::MemoryStore zookeeper(other_server_, runtime_);
  LauncherDouble launcher(runtime_, zookeeper);
  launcher.start();
  run(launcher.add_pool("rack", {"small"}));
  config_ =
      "labels: [{name: small}]\nproviders: []\nzookeeper-servers: [{host: zk1}]\n"
      "zookeeper-tls: {insecure-plaintext: true}\n";
  scope_.spawn("cut off", cut_off(command_store_, clock_, directory_));
  EXPECT_EQ(run_shell(script), 0);
  EXPECT_EQ(err(), "nodepool: the store has been unreachable for 10 s: the nodes may be lost\n");
  EXPECT_EQ(run(launcher.node("0000000000")).state, NodeState::used);
  run(launcher.stop());
  // A session with the embedded store does not time out.
  for (const char* file : {"started", "seen"}) std::filesystem::remove(directory_.path() / file);
  config_ = embedded;
  scope_.spawn("cut off", cut_off(command_store_, clock_, directory_));
  EXPECT_EQ(run_shell(script), 0);
  EXPECT_EQ(err(), "");
}

TEST_F(RunCommandTest, the_other_nodes_are_held_if_one_is_gone) {
  auto remove = [](coordination::Store& store, std::filesystem::path file) -> async::Task<> {
    co_await coordination::remove_tree(store, model::node_path("0000000000"));
    std::filesystem::remove(file);
  };
  when_made("started", [this, remove] {
    scope_.spawn("remove", remove(store_, directory_.path() / "started"));
  });
  EXPECT_EQ(
      nodepool({"run", "small", "large", "--hold-on-failure", "--", "sh", "-c",
                "touch $HERE/started; while [ -e $HERE/started ]; do sleep 0.01; done; exit 3"}),
      3);
  EXPECT_EQ(err(),
            "nodepool: the command exited with status 3; 0000000001 held: log in with `nodepool "
            "ssh ID`, release with `nodepool release ID`\n"
            "nodepool: 0000000000 lost, and not held\n");
  EXPECT_EQ(run(launcher_.node("0000000001")).state, NodeState::hold);
}

class ShellCommandTest : public RunCommandTest {
 protected:
  ShellCommandTest() {
    // Stands for ssh: notes what it is called with.
    const std::string bin = directory_.path() / "bin";
    std::filesystem::create_directory(bin);
    directory_.write("bin/ssh",
                     "#!/bin/sh\nprintf '%s|' \"$@\" > $HERE/args\ncat \"$2\" > $HERE/config\n"
                     "cp $(dirname \"$2\")/known_hosts $HERE/keys\nexit 17\n");
    std::filesystem::permissions(bin + "/ssh", std::filesystem::perms(0755));
    for (auto& [name, value] : environment_) {
      if (name == "PATH") value = bin + ":" + value;
    }
    path_ = ::getenv("PATH");
    ::setenv("PATH", (bin + ":" + path_).c_str(), 1);
  }
  ~ShellCommandTest() override { ::setenv("PATH", path_.c_str(), 1); }

  std::string path_;
};

TEST_F(ShellCommandTest, ssh_gets_the_recorded_keys_and_its_status_is_returned) {
  EXPECT_EQ(nodepool({"request", "small"}), 0);
  for (const char* id : {"0000000000", "200-0000000000"}) {
    EXPECT_EQ(nodepool({"ssh", id, "-i", "key file", "--", "ls", "-l", "a b"}), 17) << err();
    EXPECT_THAT(written("args"), testing::MatchesRegex("-F\\|.*/ssh_config\\|-i\\|key file\\|--\\|"
                                                       "0000000000\\|ls\\|-l\\|a b\\|"));
    EXPECT_THAT(written("config"),
                HasSubstr("Host small small-1 0000000000\n    HostName 192.0.2.1\n"));
    EXPECT_THAT(written("config"), HasSubstr("    StrictHostKeyChecking yes\n"));
    EXPECT_EQ(written("keys"), "192.0.2.1 ssh-ed25519 AAAA\n");
    EXPECT_EQ(err(), "");
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path() / "tmp"));
}

TEST_F(ShellCommandTest, a_single_node_must_be_selected) {
  EXPECT_EQ(nodepool({"request", "small", "large"}), 0);
  EXPECT_EQ(nodepool({"ssh", "200-0000000000"}), 255);
  EXPECT_EQ(err(),
            "nodepool: lease 200-0000000000 has 2 nodes, choose one: 0000000000, 0000000001\n");
  EXPECT_EQ(nodepool({"ssh", "0000000009"}), 255);
  EXPECT_EQ(err(), "nodepool: there is no node or lease 0000000009\n");
  EXPECT_EQ(nodepool({"ssh", "0000000001"}), 17);
  EXPECT_EQ(nodepool({"ssh", "0000000001", "ls"}), 2);
  EXPECT_THAT(err(), HasSubstr("; write -- before the command\n"));
  EXPECT_EQ(nodepool({"renew", "200-0000000000", "--oops"}), 2);
  EXPECT_THAT(err(), testing::Not(HasSubstr("write --")));
}

TEST_F(ShellCommandTest, a_node_without_ssh_is_reported) {
  model::Node node = make_node("windows");
  node.connection_type = "winrm";
  const std::string id = run(launcher_.add_node(node));
  EXPECT_EQ(nodepool({"ssh", id}), 255);
  EXPECT_EQ(err(), "nodepool: node " + id + " is not reached by SSH (connection type winrm)\n");
  model::Node evil = make_node("small");
  evil.interface_ip = "-oProxyCommand=evil";
  const std::string evil_id = run(launcher_.add_node(evil));
  EXPECT_EQ(nodepool({"ssh", evil_id}), 255);
  EXPECT_FALSE(has("args"));
  model::Node young = make_node("small");
  young.state = NodeState::building;
  young.interface_ip = young.public_ipv4 = std::nullopt;
  const std::string young_id = run(launcher_.add_node(young));
  EXPECT_EQ(nodepool({"ssh", young_id}), 255);
  EXPECT_EQ(err(), "nodepool: node " + young_id + " is building and has no address\n");
}

TEST_F(ShellCommandTest, a_node_without_known_keys_is_used_with_a_warning) {
  const std::string id = run(launcher_.add_node(make_node("small")));
  EXPECT_EQ(nodepool({"ssh", id}), 17);
  EXPECT_THAT(err(), HasSubstr("node " + id + " has no recorded host keys"));
}

}  // namespace
}  // namespace nodepool::cli
