// Launchers and commands on ZooKeeper as users run them, and what becomes of them when connections,
// sessions, launchers and servers go.

#include <signal.h>

#include <cstring>
#include <filesystem>

#include "coordination/tree.h"
#include "tests/integration/zookeeper/site.h"

namespace nodepool::integration {
namespace {

using coordination::StoreError;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class LauncherOnZooKeeper : public ZooKeeperSite {
 protected:
  // A host that reaches ZooKeeper through the proxy only, with this session timeout in seconds, and
  // a launcher with `nodes` hosts.
  void start_behind_proxy(const std::string& timeout, int nodes) {
    host_.keep_records_in(zookeeper_keys({proxy_.port()}, timeout) + history(host_));
    host_.configure(hosts(nodes));
    host_.start_launcher();
    host_.wait_until_all_ready(static_cast<std::size_t>(nodes));
  }

  void start_directly(Installation& host, const std::string& timeout, int nodes) {
    host.keep_records_in(zookeeper_keys(timeout) + history(host));
    host.configure(hosts(nodes));
    host.start_launcher();
  }

  static std::string history(const Installation& host) {
    return "history: {directory: " + host.directory().path().string() + "}\n";
  }

  // Has a load served while `disturb` is called now and then.
  void serve_under(const std::function<void()>& disturb, int times, int requests, int clients) {
    auto options = fixture_.options();
    options.session_timeout = std::chrono::seconds(20);
    Load load(fixture_.runtime(), options, requests);
    async::TaskScope scope(fixture_.runtime(),
                           [](const std::string& name, const std::string& error) {
                             ADD_FAILURE() << name << ": " << error;
                           });
    load.start(scope, clients);
    for (int i = 1; i <= times; ++i) {
      wait_until("part " + std::to_string(i) + " of the requests",
                 [&] { return load.served() >= i * requests / (times + 1); });
      if (HasFailure()) break;
      disturb();
    }
    if (!HasFailure()) wait_until("all requests", [&] { return load.done(); });
    run(scope.stop());
    EXPECT_EQ(load.served(), requests);
    EXPECT_EQ(load.failed(), 0);
    EXPECT_EQ(load.served_twice(), 0);
    for (const std::string& trouble : load.troubles()) std::cout << "  " << trouble << "\n";
  }

  void wait_for_log(const std::string& text) {
    host_.wait_until(text, [&] { return host_.log().contains(text); });
  }

  ProxyThread proxy_{ensemble_.tls_port(0)};
  Installation host_;
};

TEST_F(LauncherOnZooKeeper, all_commands_work) {
  start_directly(host_, "10.0", 3);
  host_.wait_until_all_ready(3);
  const nlohmann::json lease = host_.json({"request", "a", "a", "--lease", "10m"});
  ASSERT_THAT(lease.at("nodes"), SizeIs(2));
  EXPECT_THAT(host_.nodes("in-use"), SizeIs(2));
  const std::string lease_id = lease.at("lease");
  EXPECT_EQ(host_.nodepool({"renew", lease_id, "--lease", "1h"}).status, 0);
  EXPECT_EQ(host_.nodepool({"run", "a", "--", "true"}).status, 0);
  EXPECT_EQ(host_.nodepool({"release", lease_id}).status, 0);
  host_.wait_until_all_ready(3);
  EXPECT_THAT(host_.json({"request-list"}), IsEmpty());
  EXPECT_THAT(host_.nodepool({"label-list"}).output, HasSubstr("a"));
  const std::string node = host_.nodes().front().at("id");
  EXPECT_EQ(host_.nodepool({"hold", node}).status, 0);
  EXPECT_THAT(host_.nodes("hold"), SizeIs(1));
  EXPECT_EQ(host_.nodepool({"delete", node}).status, 0);
  host_.wait_until_all_ready(3);
  EXPECT_THAT(host_.nodepool({"history", node}).output, HasSubstr("hold"));
  EXPECT_THAT(host_.nodepool({"info", "rack"}).output, HasSubstr("Nodes:"));
  EXPECT_EQ(host_.stop_launcher(SIGTERM), 0);
  EXPECT_THAT(components("launcher"), IsEmpty());
  EXPECT_EQ(host_.nodepool({"erase", "rack", "--force"}).status, 0);
  EXPECT_THAT(host_.nodes(), IsEmpty());
}

TEST_F(LauncherOnZooKeeper, a_chroot_that_does_not_exist_is_named) {
  std::string keys = zookeeper_keys();
  const std::string& chroot = fixture_.options().chroot;
  for (auto at = keys.find(chroot); at != std::string::npos; at = keys.find(chroot, at + 8)) {
    keys.replace(at, chroot.size(), "/nowhere");
  }
  host_.keep_records_in(keys);
  host_.configure(hosts(1));
  const Completed list = host_.nodepool({"list"});
  EXPECT_EQ(list.status, 1);
  EXPECT_THAT(list.error, HasSubstr("the chroot /nowhere does not exist"));
  host_.start_launcher();
  EXPECT_EQ(host_.wait_for_launcher(), 1);
  EXPECT_THAT(host_.log(), HasSubstr("the chroot /nowhere does not exist"));
}

TEST_F(LauncherOnZooKeeper, records_can_be_protected_by_a_password) {
  const std::string keys = zookeeper_keys() + history(host_);
  host_.keep_records_in(keys + "zookeeper-auth: {user: nodepool, password: secret}\n");
  host_.configure(hosts(1));
  host_.start_launcher();
  host_.wait_until_all_ready(1);
  EXPECT_EQ(host_.nodepool({"run", "a", "--", "true"}).status, 0);
  host_.wait_until_all_ready(1);
  try {
    run(store_->children("/nodepool/nodes"));
    FAIL() << "they can be listed without the password";
  } catch (const StoreError& error) {
    EXPECT_THAT(error.what(), HasSubstr("refuses to list the children of /nodepool/nodes"));
  }
  Installation other;
  other.keep_records_in(keys);
  other.configure(hosts(1));
  const Completed list = other.nodepool({"list"});
  EXPECT_NE(list.status, 0);
  EXPECT_THAT(list.error, HasSubstr("an access control list does not permit it (NoAuth)"));

  host_.keep_records_in(keys + "zookeeper-auth: {user: nodepool, password: other}\n");
  host_.configure(hosts(1));
  wait_for_log("Changed keys that wait for a restart: zookeeper-auth");
  EXPECT_EQ(host_.stop_launcher(SIGTERM), 0);
}

TEST_F(LauncherOnZooKeeper, a_record_that_it_may_not_read_affects_no_other) {
  host_.keep_records_in(zookeeper_keys() + history(host_));
  host_.configure(hosts(1));
  host_.start_launcher();
  host_.wait_until_all_ready(1);
  coordination::zookeeper::ZooKeeperOptions options = fixture_.options();
  options.digest = {"other", "secret"};
  const auto other = fixture_.open(options);
  std::vector<std::string> hidden;
  for (const char* path : {"/nodepool/nodes/", "/nodepool/requests/100-"}) {
    hidden.push_back(
        run(other->create(path, "{}", coordination::CreateMode::persistent_sequential)));
  }
  EXPECT_EQ(host_.nodepool({"run", "a", "--", "true"}).status, 0);
  EXPECT_EQ(host_.stop_launcher(SIGTERM), 0);
  // A launcher that starts finds them. Servers with the fix of CVE-2024-23944 have no events.
  host_.start_launcher();
  for (const std::string& path : hidden) {
    wait_for_log("Ignoring the record " + path + ": ZooKeeper refuses to read");
  }
  EXPECT_EQ(host_.nodepool({"run", "a", "--", "true"}).status, 0);
  EXPECT_EQ(host_.stop_launcher(SIGTERM), 0);
  for (const std::string& path : hidden) run(other->remove(path, coordination::kAnyVersion));
}

TEST_F(LauncherOnZooKeeper, a_server_that_reports_the_wrong_watch_path_is_rejected) {
  ProxyThread defective(ensemble_.plain_port(0));
  defective.report_changes_as_of(fixture_.options().chroot + "/nodepool");
  host_.keep_records_in(
      "zookeeper-servers: [{host: 127.0.0.1, port: " + std::to_string(defective.port()) +
      ", chroot: " + fixture_.options().chroot + "}]\nzookeeper-tls: {insecure-plaintext: true}\n" +
      history(host_));
  host_.configure(hosts(1));
  host_.start_launcher();
  EXPECT_EQ(host_.wait_for_launcher(), 1);
  EXPECT_THAT(host_.log(), HasSubstr("without the path of the changed node"));
  EXPECT_THAT(components("launcher"), IsEmpty());
}

// The servers' certificates are for 127.0.0.1.
TEST_F(LauncherOnZooKeeper, a_server_certificate_for_another_name_is_a_warning) {
  const auto configure = [this](const std::string& host, const std::string& more) {
    std::string keys = zookeeper_keys({proxy_.port()}, "10.0") + history(host_);
    keys.replace(keys.find(test_support::kLoopback), std::strlen(test_support::kLoopback), host);
    keys.replace(keys.find("{ca:"), 1, "{" + more);
    host_.keep_records_in(keys);
    host_.configure(hosts(1));
  };
  const auto warnings = [this] {
    const nlohmann::json status =
        nlohmann::json::parse(host_.nodepool({"status", "-o", "json"}).output);
    return status.at("daemons").at(0).at("problems").dump();
  };
  configure("localhost", "");
  host_.start_launcher();
  host_.wait_until_all_ready(1);
  EXPECT_THAT(warnings(), HasSubstr("is for IP Address:127.0.0.1, not for localhost"));
  const std::string logged = "not for localhost: `verify-hostname: true`";
  EXPECT_THAT(host_.log(), HasSubstr(logged));
  proxy_.cut();
  wait_for_log("Reconnected to ZooKeeper");
  EXPECT_EQ(host_.log().find(logged), host_.log().rfind(logged)) << "once for each server";

  configure("localhost", "verify-hostname: true, ");
  wait_for_log("Lost the connection to ZooKeeper: localhost:" + std::to_string(proxy_.port()) +
               ": the server's certificate is for IP Address:127.0.0.1, not for localhost");
  EXPECT_THAT(host_.nodepool({"list"}).error, HasSubstr("not for localhost"));
  configure("127.0.0.1", "verify-hostname: true, ");
  host_.wait_until("no warning", [&] { return warnings() == "[]"; });
  EXPECT_EQ(host_.stop_launcher(SIGTERM), 0);
}

TEST_F(LauncherOnZooKeeper, it_waits_for_servers_that_are_away_at_its_start) {
  proxy_.sever();
  host_.keep_records_in(zookeeper_keys({proxy_.port()}, "2.0") + history(host_));
  host_.configure(hosts(1));
  host_.start_launcher();
  host_.wait_until("a warning", [this] {
    return host_.log().find("Waiting for the store: ") != std::string::npos;
  });
  EXPECT_THAT(host_.nodepool({"list"}).error,
              HasSubstr("127.0.0.1:" + std::to_string(proxy_.port())));
  proxy_.restore();
  host_.wait_until_all_ready(1);
  // And can be told to give up.
  EXPECT_EQ(host_.stop_launcher(SIGTERM), 0);
  proxy_.sever();
  const std::size_t so_far = host_.log().size();
  host_.start_launcher();
  host_.wait_until("another warning", [this, so_far] {
    return host_.log().find("Waiting for the store: ", so_far) != std::string::npos;
  });
  EXPECT_EQ(host_.stop_launcher(SIGTERM), 0);
}

TEST_F(LauncherOnZooKeeper, it_decides_nothing_while_disconnected_and_goes_on_after) {
  start_behind_proxy("20.0", 2);
  const auto pools = components("pool");
  proxy_.sever();
  auto options = fixture_.options();
  Load load(fixture_.runtime(), options, 20);
  load.start(scope_, 4);
  wait_until("requests in the store",
             [this] { return run(store_->children("/nodepool/requests")).size() == 4; });
  EXPECT_EQ(load.served(), 0);
  proxy_.restore();
  wait_until("all requests", [&] { return load.done(); });
  EXPECT_EQ(load.failed(), 0);
  EXPECT_EQ(components("pool"), pools) << "the session has lasted";
  run(scope_.join());
  wait_until_at_rest(2);
}

TEST_F(LauncherOnZooKeeper, run_ends_as_its_command_does_although_no_server_answers) {
  start_directly(host_, "10.0", 1);
  host_.wait_until_all_ready(1);
  Installation requestor;  // reaches ZooKeeper through the proxy only
  requestor.keep_records_in(zookeeper_keys({proxy_.port()}, "2.0"));
  requestor.configure(hosts(1));
  const auto path = [&](const char* name) {
    return (requestor.directory().path() / name).string();
  };
  const auto program =
      requestor.start_nodepool({"run", "a", "--", "sh", "-c",
                                "touch " + path("started") + "; while [ ! -e " + path("severed") +
                                    " ]; do sleep 0.01; done; exit 7"});
  host_.wait_until("the command", [&] { return std::filesystem::exists(path("started")); });
  proxy_.sever();
  requestor.directory().write("severed", "");
  EXPECT_EQ(program->wait(), 7);
  EXPECT_THAT(program->standard_error(), HasSubstr("that happens when this session ends"));
  host_.wait_until_all_ready(1);
}

TEST_F(LauncherOnZooKeeper, after_its_session_has_expired_it_resumes_its_work) {
  start_behind_proxy("1.0", 4);
  const auto launchers = components("launcher");
  const auto pools = components("pool");
  ASSERT_THAT(pools, SizeIs(1));
  for (int i = 0; i < 3; ++i) {
    // In the midst of work: requests are open, nodes are locked.
    auto options = fixture_.options();
    Load load(fixture_.runtime(), options, 100);
    load.start(scope_, 8);
    wait_until("some requests", [&] { return load.served() >= 30; });
    proxy_.sever();
    wait_until("the end of the session", [this] { return components("launcher").empty(); });
    EXPECT_THAT(components("pool"), IsEmpty());
    proxy_.restore();
    wait_until("all requests", [&] { return load.done(); });
    EXPECT_EQ(load.failed(), 0);
    EXPECT_EQ(load.served_twice(), 0);
    run(scope_.join());
    wait_until_at_rest(4);
    wait_until("registrations", [this] {
      return components("launcher").size() == 1 && components("pool").size() == 1;
    });
  }
  EXPECT_NE(components("launcher"), launchers);
  EXPECT_EQ(host_.stop_launcher(SIGTERM), 0);
  EXPECT_THAT(components("launcher"), IsEmpty());
  EXPECT_THAT(components("pool"), IsEmpty());
}

TEST_F(LauncherOnZooKeeper, it_keeps_serving_after_its_root_records_are_removed) {
  host_.directory().write("clouds.yaml", "clouds: {fake: {auth: {}}}");
  host_.keep_records_in(zookeeper_keys() + history(host_));
  host_.configure(hosts(1) +
                  "  - name: sky\n    driver: fake\n    cloud: fake\n"
                  "    cloud-images: [{name: Fake Precise}]\n    pools:\n"
                  "      - name: main\n        labels:\n"
                  "          - {name: b, cloud-image: Fake Precise, flavor-name: Fake Flavor}\n");
  host_.start_launcher();
  host_.wait_until_all_ready(1);
  for (const std::string root : {"/nodepool/requests-lock", "/nodepool/nodes", "/nodepool/requests",
                                 "/nodepool/components", "/nodepool"}) {
    SCOPED_TRACE(root);
    run(coordination::remove_tree(*store_, root));
    // What is on its way to those who follow the store must not be taken for the answer.
    for (const char* label : {"a", "b"}) {
      const auto answer =
          host_.nodepool({"request", label, "--lease", "10m", "--timeout", "60", "--json"});
      ASSERT_EQ(answer.status, 0) << label << ": " << answer.error;
      const std::string lease = nlohmann::json::parse(answer.output).at("lease");
      EXPECT_EQ(host_.nodepool({"release", lease}).status, 0);
    }
  }
}

TEST_F(LauncherOnZooKeeper, connections_that_break_again_and_again_lose_nothing) {
  start_behind_proxy("10.0", 5);
  serve_under([this] { proxy_.cut(); }, 30, 600, 10);
  wait_until_at_rest(5);
  EXPECT_THAT(host_.log(), Not(HasSubstr(" ERROR "))) << "it heals itself";
  EXPECT_THAT(components("launcher"), SizeIs(1));
  EXPECT_THAT(components("pool"), SizeIs(1));
}

TEST_F(LauncherOnZooKeeper, it_says_when_zookeeper_goes_and_when_it_is_back) {
  start_behind_proxy("2.0", 2);
  const std::string server = "127.0.0.1:" + std::to_string(proxy_.port());
  proxy_.sever();
  wait_for_log("WARNING nodepool.NodePool: Lost the connection to ZooKeeper: " + server);
  proxy_.restore();
  wait_for_log("INFO nodepool.NodePool: Reconnected to ZooKeeper (" + server + ") after ");
  wait_for_log(" s with the same session");
  proxy_.sever();
  wait_until("the end of the session", [this] { return components("launcher").empty(); });
  proxy_.restore();
  wait_for_log("WARNING nodepool.NodePool: The ZooKeeper session expired after ");
  wait_for_log(" s with a new session");
  wait_until("a registration", [this] { return components("launcher").size() == 1; });
  wait_until_at_rest(2);
  EXPECT_THAT(host_.log(), Not(HasSubstr(" ERROR ")));
}

TEST_F(LauncherOnZooKeeper, it_moves_to_other_servers_and_keeps_its_session) {
  const auto server = [this](std::size_t member) {
    return std::to_string(ensemble_.tls_port(member));
  };
  host_.keep_records_in(zookeeper_keys({ensemble_.tls_port(0)}, "10.0") + history(host_));
  host_.configure(hosts(1));
  host_.start_launcher();
  host_.wait_until_all_ready(1);
  const auto launchers = components("launcher");
  host_.keep_records_in(zookeeper_keys({ensemble_.tls_port(1)}, "10.0") + history(host_));
  host_.configure(hosts(1));
  wait_for_log("Reconnected to ZooKeeper (127.0.0.1:" + server(1));
  EXPECT_THAT(host_.log(), HasSubstr(" s with the same session"));
  EXPECT_EQ(components("launcher"), launchers);
  EXPECT_EQ(host_.nodepool({"run", "a", "--", "true"}).status, 0);
}

TEST_F(LauncherOnZooKeeper, corrected_servers_are_used_while_a_reload_waits_for_the_store) {
  start_behind_proxy("2.0", 1);
  proxy_.sever();
  wait_for_log("WARNING nodepool.NodePool: Lost the connection to ZooKeeper");
  std::string spare = hosts(1);
  spare.replace(spare.find("rack"), 4, "spare");
  host_.configure(hosts(1) + spare);
  wait_for_log("Could not register");
  host_.keep_records_in(zookeeper_keys({ensemble_.tls_port(1)}, "2.0") + history(host_));
  host_.configure(hosts(1) + spare);
  wait_for_log("Reconnected to ZooKeeper (127.0.0.1:" + std::to_string(ensemble_.tls_port(1)));
  EXPECT_EQ(host_.stop_launcher(SIGTERM), 0);
}

TEST_F(LauncherOnZooKeeper, it_keeps_its_servers_when_a_reload_is_rejected) {
  host_.keep_records_in(zookeeper_keys({ensemble_.tls_port(0)}, "10.0") + history(host_));
  host_.configure(hosts(1));
  host_.start_launcher();
  host_.wait_until_all_ready(1);
  host_.keep_records_in(zookeeper_keys({ensemble_.tls_port(1)}, "10.0") + history(host_));
  host_.configure(hosts(1) +
                  "  - name: other\n    driver: static\n    pools:\n"
                  "      - {name: main, nodes: [{name: 127.0.0.1, labels: [undefined]}]}\n");
  wait_for_log("the previous one stays in effect");
  EXPECT_THAT(host_.log(), Not(HasSubstr("Now using 1 ZooKeeper servers")));
  host_.configure(hosts(1));
  wait_for_log("Now using 1 ZooKeeper servers");
  EXPECT_EQ(host_.stop_launcher(SIGTERM), 0);
}

TEST_F(LauncherOnZooKeeper, a_change_that_waits_for_a_restart_delays_only_what_belongs_to_it) {
  const auto configure = [this](std::size_t member, const std::string& chroot) {
    std::string keys = zookeeper_keys({ensemble_.tls_port(member)}, member == 0 ? "10.0" : "20.0");
    const std::string& used = fixture_.options().chroot;
    keys.replace(keys.find(used), used.size(), chroot);
    host_.keep_records_in(keys + history(host_));
    host_.configure(hosts(1));
  };
  configure(0, fixture_.options().chroot);
  host_.start_launcher();
  host_.wait_until_all_ready(1);
  configure(1, fixture_.options().chroot);
  wait_for_log("Reconnected to ZooKeeper (127.0.0.1:" + std::to_string(ensemble_.tls_port(1)));
  wait_for_log("Changed keys that wait for a restart: zookeeper-timeout");
  configure(2, "/elsewhere");
  wait_for_log(
      "Changed keys that wait for a restart: zookeeper-servers, chroot of zookeeper-servers, "
      "zookeeper-timeout");
  EXPECT_EQ(host_.stop_launcher(SIGTERM), 0);
}

TEST_F(LauncherOnZooKeeper, it_takes_up_certificates_that_are_replaced) {
  const test_support::Certificates& files = ensemble_.certificates();
  namespace fs = std::filesystem;
  const auto copy = [this](const fs::path& file, const fs::path& name) {
    fs::copy_file(file, host_.directory().path() / "next");
    fs::rename(host_.directory().path() / "next", host_.directory().path() / name);
  };
  // At first the CA is one that has signed nothing.
  const test_support::TemporaryDirectory elsewhere;
  copy(test_support::Certificates(elsewhere).ca, "ca.pem");
  std::string keys = zookeeper_keys();
  keys.replace(keys.find(files.ca.string()), files.ca.string().size(),
               (host_.directory().path() / "ca.pem").string());
  host_.keep_records_in(keys + history(host_));
  host_.configure(hosts(1));
  host_.start_launcher();
  wait_for_log("certificate verify failed");
  copy(files.ca, "ca.pem");
  host_.wait_until_all_ready(1);
}

TEST_F(LauncherOnZooKeeper, unusable_certificates_delay_no_other_change) {
  const std::filesystem::path& good_ca = ensemble_.certificates().ca;
  const std::filesystem::path ca = host_.directory().path() / "ca.pem";
  const auto write_ca = [&](const std::string& text) {
    std::filesystem::rename(host_.directory().write("next", text), ca);
  };
  write_ca(test_support::read_file(good_ca));
  std::string keys = zookeeper_keys();
  keys.replace(keys.find(good_ca.string()), good_ca.string().size(), ca.string());
  host_.keep_records_in(keys + history(host_));
  host_.configure(hosts(1));
  host_.start_launcher();
  host_.wait_until_all_ready(1);

  const std::string problem =
      "ZooKeeper keeps its previous servers and certificates: the CA certificate for ZooKeeper "
      "cannot be used: " +
      ca.string();
  const auto published = [&] {
    return run(store_->get(components("launcher").at(0))).data.contains(problem);
  };
  write_ca("no certificate");
  wait_until("the problem in the launcher's record", published);
  wait_for_log(problem);
  host_.configure(hosts(2));
  wait_until("a second host",
             [this] { return run(store_->children("/nodepool/nodes")).size() == 2; });
  EXPECT_TRUE(published());
  write_ca(test_support::read_file(good_ca));
  wait_until("no problem in the launcher's record", [&] { return !published(); });
  EXPECT_EQ(host_.log().find(problem), host_.log().rfind(problem)) << "logged once";
  EXPECT_EQ(host_.stop_launcher(SIGTERM), 0);
}

TEST_F(LauncherOnZooKeeper, of_two_launchers_one_is_killed_again_and_again) {
  Installation mortal;
  start_directly(host_, "10.0", 5);
  start_directly(mortal, "1.0", 5);
  host_.wait_until_all_ready(5);
  serve_under(
      [&mortal] {
        mortal.kill_launcher();
        mortal.start_launcher();
      },
      10, 600, 10);
  mortal.kill_launcher();
  wait_until_at_rest(5);
}

TEST_F(LauncherOnZooKeeper, the_death_of_the_leading_server_loses_nothing) {
  start_directly(host_, "10.0", 5);
  host_.wait_until_all_ready(5);
  serve_under(
      [this] {
        const std::size_t leader = ensemble_.leader();
        ensemble_.kill(leader);
        ensemble_.start(leader);
        ensemble_.wait_until_serving(leader);
      },
      3, 600, 10);
  wait_until_at_rest(5);
}

TEST_F(LauncherOnZooKeeper, it_writes_little_for_a_request) {
  start_directly(host_, "10.0", 2);
  host_.wait_until_all_ready(2);
  const auto transactions = [this] {
    return run(store_->set("/", "", coordination::kAnyVersion)).mzxid;
  };
  constexpr int kRequests = 50;
  Load load(fixture_.runtime(), fixture_.options(), kRequests);
  wait_until_at_rest(2);
  const std::int64_t before = transactions();
  load.start(scope_, 1);
  wait_until("all requests", [&] { return load.done(); });
  run(scope_.join());
  wait_until_at_rest(2);
  // The requestor's own: asks, locks the node, takes it, gives it back; and its session twice.
  constexpr int kRequestors = 4;
  const std::int64_t all = transactions() - before - 1 - 2;
  const double own = static_cast<double>(all) / kRequests - kRequestors;
  std::cout << "Transactions for a request, its node ready, used and given back: " << own
            << " by the launcher, " << kRequestors << " by the requestor\n";
  // Locks, hands out; locks, deletes, replaces. The rest is now and then: a pool that is registered
  // as paused, a clean-up of many requests' locks.
  EXPECT_LE(own, 6);
}

TEST_F(LauncherOnZooKeeper, it_stops_on_sigterm_although_no_server_answers) {
  start_behind_proxy("2.0", 2);
  proxy_.sever();
  EXPECT_EQ(host_.stop_launcher(SIGTERM), 0);
  EXPECT_THAT(host_.log(), HasSubstr("The session could not be closed"));
  wait_until("the end of the session", [this] { return components("launcher").empty(); });
}

}  // namespace
}  // namespace nodepool::integration
