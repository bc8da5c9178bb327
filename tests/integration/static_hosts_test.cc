// The main job with real SSH servers, the embedded store and the programs as users run them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/integration/installation.h"
#include "tests/support/network.h"
#include "tests/support/sshd.h"

namespace nodepool::integration {
namespace {

using test_support::run;
using test_support::Sshd;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// One host of the configuration.
std::string host(const Sshd& sshd, const std::string& labels, const std::string& more = {}) {
  return "          - {name: " + sshd.address() +
         ", connection-port: " + std::to_string(sshd.port()) + ", username: " + Sshd::user() +
         ", labels: [" + labels + "], timeout: 3" + more + "}\n";
}

std::string provider(const std::vector<std::string>& hosts) {
  std::string text =
      "  - name: rack\n    driver: static\n    pools:\n      - name: main\n        nodes:\n";
  for (const std::string& host : hosts) text += host;
  return text;
}

class StaticHostsTest : public testing::Test {
 protected:
  // Runs a command on a node by its record, its host key checked against the recorded ones.
  std::string on_node(const nlohmann::json& node, const Sshd& sshd, const std::string& command) {
    std::string known_hosts;
    for (const std::string key : node.at("host_keys")) {
      known_hosts += "[" + node.at("interface_ip").get<std::string>() +
                     "]:" + std::to_string(node.at("connection_port").get<int>()) + " " + key +
                     "\n";
    }
    const auto file = site_.directory().write("known_hosts", known_hosts);
    const Completed done = run(
        {"ssh", "-F", "none", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o",
         "UserKnownHostsFile=" + file.string(), "-o", "GlobalKnownHostsFile=/dev/null", "-i",
         sshd.client_key(), "-p", std::to_string(node.at("connection_port").get<int>()),
         node.at("username").get<std::string>() + "@" + node.at("interface_ip").get<std::string>(),
         command});
    EXPECT_EQ(done.status, 0) << done.error;
    return done.output;
  }

  // A launcher with two hosts, of label `a` and of label `b`.
  void start_with(const Sshd& a, const Sshd& b) {
    site_.configure(provider({host(a, "a"), host(b, "b")}));
    site_.start_launcher();
    site_.wait_until_all_ready(2);
  }

  Installation site_;
};

TEST_F(StaticHostsTest, a_node_is_requested_used_over_ssh_and_given_back) {
  const Sshd sshd({.host_keys = {"ed25519", "rsa-2048"}});
  site_.configure(provider({host(sshd, "a")}));
  site_.start_launcher();
  site_.wait_until_all_ready(1);

  const nlohmann::json lease = site_.json({"request", "a", "--lease", "10m"});
  ASSERT_THAT(lease.at("nodes"), SizeIs(1));
  const nlohmann::json& node = lease.at("nodes").at(0);
  EXPECT_EQ(node.at("label"), "a");
  EXPECT_EQ(node.at("state"), "in-use");
  EXPECT_EQ(node.at("host_keys").size(), 2U);
  EXPECT_EQ(on_node(node, sshd, "echo hello"), "hello\n");
  EXPECT_THAT(site_.nodes("in-use"), SizeIs(1));

  EXPECT_EQ(site_.nodepool({"release", lease.at("lease")}).status, 0);
  site_.wait_until_all_ready(1);
  EXPECT_THAT(site_.json({"request-list"}), IsEmpty());
  EXPECT_EQ(site_.stop_launcher(SIGINT), 0);
}

TEST_F(StaticHostsTest, ssh_goes_to_the_node_with_its_recorded_key_and_to_no_other_host) {
  Sshd sshd;
  site_.configure(provider({host(sshd, "a")}));
  site_.start_launcher();
  site_.wait_until_all_ready(1);
  const std::string file = site_.directory().path() / "ci.ssh";
  const nlohmann::json lease = site_.json({"request", "a", "--ssh-config", file});
  const std::string id = lease.at("lease");
  const std::string key = sshd.client_key();
  const Completed done =
      site_.nodepool({"ssh", id, "-i", key, "--", "printf '%s|' $HOME-$SHLVL 'a  b'; exit 7"});
  EXPECT_EQ(done.status, 7) << done.error;
  EXPECT_THAT(done.output, testing::EndsWith("|a  b|"));
  EXPECT_EQ(run({"ssh", "-F", file, "-i", key, "a", "echo hello"}).output, "hello\n");
  // Another host in its place: its key is not the recorded one.
  sshd.kill();
  sshd.replace_host_keys();
  sshd.start();
  EXPECT_EQ(site_.nodepool({"ssh", id, "-i", key, "--", "true"}).status, 255);
  EXPECT_EQ(run({"ssh", "-F", file, "-i", key, "a", "true"}).status, 255);
}

TEST_F(StaticHostsTest, several_nodes_come_in_the_order_asked_for) {
  const Sshd first;
  const Sshd second;
  const Sshd third;
  site_.configure(provider({host(first, "a"), host(second, "b"), host(third, "a, c")}));
  site_.start_launcher();
  site_.wait_until_all_ready(3);
  const nlohmann::json lease = site_.json({"request", "a", "b", "a"});
  std::vector<std::string> labels;
  for (const auto& node : lease.at("nodes")) labels.push_back(node.at("label"));
  EXPECT_THAT(labels, ElementsAre("a", "b", "a"));
  EXPECT_EQ(lease.at("nodes").at(1).at("connection_port"), second.port());
  // Any one of its nodes can be given back alone.
  EXPECT_EQ(site_.nodepool({"release", lease.at("nodes").at(1).at("id")}).status, 0);
  site_.wait_until("one ready node", [this] { return site_.nodes("ready").size() == 1; });
  EXPECT_EQ(site_.nodepool({"release", lease.at("lease")}).status, 0);
  site_.wait_until_all_ready(3);
}

TEST_F(StaticHostsTest, a_request_that_no_pool_can_serve_fails_with_the_reason) {
  const Sshd sshd;
  site_.configure(provider({host(sshd, "a")}));
  site_.start_launcher();
  site_.wait_until_all_ready(1);
  const Completed unknown = site_.nodepool({"request", "d"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.error, HasSubstr("node type(s) [d] not available"));
  const Completed too_many = site_.nodepool({"request", "a", "a"});
  EXPECT_EQ(too_many.status, 2);
  EXPECT_THAT(too_many.error, HasSubstr("2 nodes with label a requested, the pool has 1"));
}

TEST_F(StaticHostsTest, a_request_that_times_out_is_withdrawn) {
  const Sshd sshd;
  site_.configure(provider({host(sshd, "a")}));
  site_.start_launcher();
  site_.wait_until_all_ready(1);
  const nlohmann::json lease = site_.json({"request", "a"});
  EXPECT_EQ(site_.nodepool({"request", "a", "--timeout", "1s"}).status, 3);
  EXPECT_THAT(site_.json({"request-list"}), IsEmpty());
  EXPECT_EQ(site_.nodepool({"release", lease.at("lease")}).status, 0);
  site_.wait_until_all_ready(1);
}

TEST_F(StaticHostsTest, a_host_that_dies_is_taken_out_and_comes_back) {
  Sshd mortal;
  const Sshd other;
  site_.configure(provider({host(mortal, "a"), host(other, "b")}));
  site_.start_launcher();
  site_.wait_until_all_ready(2);
  // While idle: noticed when it is to be handed out.
  mortal.kill();
  const auto waiting = site_.start_nodepool({"request", "a", "--json"});
  site_.wait_until("the dead host's node is gone", [this] { return site_.nodes().size() == 1; });
  EXPECT_EQ(site_.json({"request", "b"}).at("nodes").size(), 1U) << "others are not affected";
  mortal.start();
  ASSERT_EQ(waiting->wait(), 0) << waiting->standard_error();
  const auto lease = nlohmann::json::parse(waiting->standard_output());
  // While in use: noticed when it comes back.
  mortal.kill();
  EXPECT_EQ(site_.nodepool({"release", lease.at("lease")}).status, 0);
  site_.wait_until("the dead host's node is gone", [this] { return site_.nodes().size() == 1; });
  mortal.start();
  site_.wait_until("the host is back", [this] { return site_.nodes("ready").size() == 1; });
}

TEST_F(StaticHostsTest, a_wrong_host_key_and_an_unreachable_host_are_not_served) {
  const Sshd good;
  const Sshd impostor;
  const test_support::ReservedPort unused_port;
  site_.configure(provider(
      {host(good, "a", ", host-key: '" + good.host_keys().at(0) + "'"),
       host(impostor, "b", ", host-key: '" + good.host_keys().at(0) + "'"),
       "          - {name: 127.0.0.1, connection-port: " + std::to_string(unused_port.number()) +
           ", labels: [c], timeout: 1}\n"}));
  site_.start_launcher();
  site_.wait_until("both warnings", [this, &unused_port] {
    const std::string log = site_.log();
    return log.find("host key mismatches") != std::string::npos &&
           log.find("Could not contact 127.0.0.1 on port " +
                    std::to_string(unused_port.number())) != std::string::npos;
  });
  site_.wait_until_all_ready(1);
  EXPECT_EQ(site_.json({"request", "a"}).at("nodes").size(), 1U);
  // The commands tell as well, until the host is well.
  site_.wait_until("the reports", [this] {
    return site_.nodepool({"explain", "127.0.0.1"}).output.contains("on port") &&
           site_.nodepool({"explain", "b"}).output.contains("unhealthy");
  });
  EXPECT_THAT(site_.nodepool({"explain", "b"}).output,
              HasSubstr("does not have the configured key '" + good.host_keys().at(0) +
                        "', it offers " + impostor.host_keys().at(0)));
  const std::string unreachable = site_.nodepool({"explain", "c"}).output;
  EXPECT_THAT(unreachable, HasSubstr("Connection refused; "));
  EXPECT_THAT(unreachable, HasSubstr(" checks it again within 0:0"));
  EXPECT_THAT(unreachable, testing::Not(HasSubstr("imeout")));
  EXPECT_THAT(site_.nodepool({"list"}).error, HasSubstr("1 unhealthy host(s): 127.0.0.1"));
  site_.configure(provider({host(good, "a"), host(impostor, "b")}));
  site_.wait_until("all well", [this] { return site_.nodepool({"list"}).error.empty(); });
}

TEST_F(StaticHostsTest, a_launcher_that_is_stopped_is_noticed) {
  const Sshd sshd;
  site_.configure(provider({host(sshd, "a")}));
  site_.start_launcher();
  site_.wait_until_all_ready(1);
  site_.signal_launcher(SIGSTOP);
  const auto waiting = site_.start_nodepool({"request", "a"});
  site_.wait_until("a sign", [this] {
    return site_.nodepool({"explain", "a"}).output.contains("does not respond");
  });
  site_.signal_launcher(SIGCONT);
  EXPECT_EQ(waiting->wait(), 0) << waiting->standard_error();
}

TEST_F(StaticHostsTest, a_held_node_stays_and_a_deleted_one_is_registered_anew) {
  const Sshd sshd;
  site_.configure(provider({host(sshd, "a")}));
  site_.start_launcher();
  site_.wait_until_all_ready(1);
  const std::string id = site_.nodes().at(0).at("id");
  const Completed held = site_.nodepool({"hold", id});
  EXPECT_EQ(held.status, 0);
  EXPECT_THAT(held.output, HasSubstr("| hold"));
  EXPECT_EQ(site_.nodepool({"request", "a", "--timeout", "1s"}).status, 3);
  EXPECT_EQ(site_.nodepool({"delete", id}).status, 0);
  site_.wait_until_all_ready(1);
  EXPECT_NE(site_.nodes().at(0).at("id"), id);
}

// Its configuration may be another one than the launcher's.
TEST_F(StaticHostsTest, a_command_that_deletes_a_node_leaves_other_hosts_alone) {
  const Sshd one;
  const Sshd other;
  start_with(one, other);
  EXPECT_EQ(site_.stop_launcher(SIGTERM), 0);
  const auto id_of = [this](const Sshd& sshd) -> std::string {
    for (const nlohmann::json& node : site_.nodes("ready")) {
      if (node.at("connection_port") == sshd.port()) return node.at("id");
    }
    return "none";
  };
  const std::string deleted = id_of(one);
  const std::string kept = id_of(other);
  site_.configure(provider({host(one, "a")}));
  EXPECT_EQ(site_.nodepool({"delete", "--now", deleted}).status, 0);
  EXPECT_EQ(id_of(other), kept);
  EXPECT_NE(id_of(one), deleted);
}

TEST_F(StaticHostsTest, an_expired_lease_ends_and_a_renewed_one_goes_on) {
  const Sshd first;
  const Sshd second;
  start_with(first, second);
  const nlohmann::json renewed = site_.json({"request", "b", "--lease", "10m"});
  EXPECT_EQ(site_.nodepool({"renew", renewed.at("lease"), "--lease", "1h"}).status, 0);
  EXPECT_GE(site_.json({"lease-list"}).at(0).at("expires").get<double>(),
            renewed.at("expires").get<double>() + 3000);
  site_.json({"request", "a", "--lease", "1s"});
  site_.wait_until("the short lease has ended",
                   [this] { return site_.nodes("ready").size() == 1; });
  EXPECT_THAT(site_.nodes("in-use"), SizeIs(1));
  EXPECT_EQ(site_.nodepool({"release", renewed.at("lease")}).status, 0);
  site_.wait_until_all_ready(2);
}

TEST_F(StaticHostsTest, a_reload_adds_changes_and_removes_hosts) {
  const Sshd stays;
  const Sshd leaves;
  const Sshd comes;
  site_.configure(provider({host(stays, "a"), host(leaves, "b")}));
  site_.start_launcher();
  site_.wait_until_all_ready(2);
  const nlohmann::json lease = site_.json({"request", "b"});
  site_.configure(provider({host(stays, "a, d"), host(comes, "c", ", max-parallel-jobs: 2")}));
  site_.wait_until("the new hosts", [this] { return site_.nodes("ready").size() == 3; });
  EXPECT_EQ(site_.json({"request", "d"}).at("nodes").at(0).at("connection_port"), stays.port());
  EXPECT_EQ(site_.nodepool({"release", lease.at("lease")}).status, 0);
  site_.wait_until("the removed host's node is gone", [this] { return site_.nodes().size() == 3; });
  // A mistake changes nothing.
  site_.directory().write("nodepool.yaml", "labels: [\n");
  site_.wait_until("the error is in the log", [this] {
    return site_.log().find("the previous one stays in effect") != std::string::npos;
  });
  site_.configure(provider({host(stays, "a")}));
  site_.wait_until("the file is good again", [this] { return site_.nodes("ready").empty(); });
}

TEST_F(StaticHostsTest, a_killed_launcher_is_continued_by_the_next) {
  const Sshd first;
  const Sshd second;
  const Sshd third;
  site_.configure(provider({host(first, "a"), host(second, "a"), host(third, "a")}));
  site_.start_launcher();
  site_.wait_until_all_ready(3);
  std::vector<std::unique_ptr<Child>> requestors;
  for (int i = 0; i < 12; ++i) {
    requestors.push_back(site_.start_nodepool({"run", "a", "--", "true"}));
  }
  for (int i = 0; i < 3; ++i) {
    const std::string done_before = site_.log();
    site_.wait_until("something is going on", [&] { return site_.log() != done_before; });
    site_.kill_launcher();
    site_.start_launcher();
  }
  for (auto& requestor : requestors) EXPECT_EQ(requestor->wait(), 0) << requestor->standard_error();
  site_.wait_until_all_ready(3);
  EXPECT_THAT(site_.json({"request-list"}), IsEmpty());
  EXPECT_EQ(site_.stop_launcher(SIGTERM), 0);
}

TEST_F(StaticHostsTest, a_thousand_hosts_are_checked_side_by_side_within_limits) {
  // One listener stands for all: hosts differ by their user.
  const test_support::TcpListener listener(test_support::TcpListener::Behaviour::silent);
  std::vector<std::string> hosts;
  for (int i = 0; i < 1000; ++i) {
    hosts.push_back("          - {name: 127.0.0.1, connection-type: winrm, connection-port: " +
                    std::to_string(listener.port()) + ", username: u" + std::to_string(i) +
                    ", labels: [a], timeout: 20}\n");
  }
  site_.configure(provider(hosts));
  site_.start_launcher();
  site_.wait_until("1,000 ready nodes", [this] { return site_.nodes("ready").size() == 1000; });
  EXPECT_GE(listener.accepted(), 1000U);
  const nlohmann::json lease = site_.json({"request", "a", "a", "a"});
  EXPECT_THAT(lease.at("nodes"), SizeIs(3));
}

TEST_F(StaticHostsTest, run_always_releases_the_nodes) {
  const Sshd sshd;
  site_.configure(provider({host(sshd, "a")}));
  site_.start_launcher();
  site_.wait_until_all_ready(1);
  const std::string ssh = "ssh -i " + sshd.client_key().string() + " -F $NODEPOOL_SSH_CONFIG a ";
  const Completed done = site_.nodepool({"run", "a", "--", "sh", "-c", ssh + "echo from the node"});
  EXPECT_EQ(done.status, 0) << done.error;
  EXPECT_THAT(done.output, HasSubstr("from the node"));
  site_.wait_until_all_ready(1);
  EXPECT_EQ(site_.nodepool({"run", "a", "--", "sh", "-c", "exit 7"}).status, 7);
  site_.wait_until_all_ready(1);
  const auto killed = site_.start_nodepool({"run", "a", "--", "sleep", "1000"});
  site_.wait_until("it runs", [this] { return site_.nodes("in-use").size() == 1; });
  killed->signal(SIGKILL);
  killed->wait();
  site_.wait_until_all_ready(1);
}

}  // namespace
}  // namespace nodepool::integration
