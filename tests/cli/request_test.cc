#include <gmock/gmock.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <nlohmann/json.hpp>

#include "coordination/tree.h"
#include "history/waits.h"
#include "model/lease.h"
#include "model/paths.h"
#include "tests/cli/cli_test.h"

namespace nodepool::cli {
namespace {

using model::NodeState;
using requestor::LauncherDouble;
using std::chrono::minutes;
using test_support::read_file;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

class RequestCommandTest : public CliTest {
 protected:
  RequestCommandTest() {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
    launcher_.adorn = [](model::Node& node, std::size_t index) {
      node.username = "ada";
      if (index == 1) node.connection_port.text = "2222";
      if (index == 2) {
        node.connection_type = "winrm";
        node.connection_port.text = "5986";
      }
    };
  }

 public:
  // On the standard error, so far.
  std::string shown() const { return err(); }
};

TEST_F(RequestCommandTest, a_lease_that_cannot_be_printed_is_released) {
  run(launcher_.add_pool("rack", {"small"}));
  out_is_full_ = true;
  EXPECT_EQ(nodepool({"request", "small", "--json"}), 1);
  EXPECT_THAT(err(), EndsWith("nodepool: lease 200-0000000000 has been released\n"
                              "nodepool: cannot write to standard output\n"));
  EXPECT_EQ(run(launcher_.node("0000000000")).state, NodeState::used);
}

TEST_F(RequestCommandTest, a_lease_whose_files_cannot_be_written_is_released_and_not_printed) {
  run(launcher_.add_pool("rack", {"small"}));
  const std::filesystem::path folder = directory_.path() / "folder";
  std::filesystem::create_directory(folder);
  launcher_.adorn = [&folder](model::Node&, std::size_t) { std::filesystem::remove_all(folder); };
  EXPECT_EQ(nodepool({"request", "small", "--json", "--ssh-config", folder / "ssh"}), 1);
  EXPECT_EQ(out(), "");
  EXPECT_EQ(err(), "nodepool: lease 200-0000000000 has been released\nnodepool: cannot write " +
                       (folder / "ssh.known_hosts").string() + ": No such file or directory\n");
  EXPECT_EQ(run(launcher_.node("0000000000")).state, NodeState::used);
}

TEST_F(RequestCommandTest, fulfilled_nodes_are_shown_with_their_logins_and_their_lease) {
  run(launcher_.add_pool("rack", {"small", "large", "windows"}));
  EXPECT_EQ(nodepool({"request", "small", "small", "windows", "--lease", "1h"}), 0);
  EXPECT_EQ(out(),
            "+---------+------------+-----------+------+----------+------------+\n"
            "| Label   | ID         | Host      | Port | Username | Connection |\n"
            "+---------+------------+-----------+------+----------+------------+\n"
            "| small   | 0000000000 | 192.0.2.1 | 22   | ada      | ssh        |\n"
            "| small   | 0000000001 | 192.0.2.2 | 2222 | ada      | ssh        |\n"
            "| windows | 0000000002 | 192.0.2.3 | 5986 | ada      | winrm      |\n"
            "+---------+------------+-----------+------+----------+------------+\n"
            "\n"
            "ssh ada@192.0.2.1    # node 0000000000\n"
            "ssh -p 2222 ada@192.0.2.2    # node 0000000001\n"
            "\n"
            "Lease 200-0000000000 until 2023-11-14 23:13:20 +0000\n"
            "Renew:        nodepool renew 200-0000000000\n"
            "Release:      nodepool release 200-0000000000\n");
  EXPECT_EQ(err(), "");
  EXPECT_THAT(run(launcher_.requests()), IsEmpty());
  const model::Node node = run(launcher_.node("0000000000"));
  EXPECT_EQ(node.state, NodeState::in_use);
  EXPECT_EQ(lease_of(node), (model::Lease{.id = "200-0000000000",
                                          .expires = clock_.wall_seconds() + 3600,
                                          .holder = "nodepool:ada@build1",
                                          .label = node.type.front(),
                                          .index = 0}));
  EXPECT_THAT(run(launcher_.lock_line("0000000000")), ElementsAre("lease 200-0000000000"));
}

TEST_F(RequestCommandTest, json_is_one_object_with_the_nodes_as_they_are_recorded) {
  run(launcher_.add_pool("rack", {"small", "large"}));
  EXPECT_EQ(nodepool({"request", "large", "small", "--json"}), 0);
  EXPECT_THAT(out(), StartsWith(R"({"lease": "200-0000000000", "expires": 1700007200, "nodes": )"
                                R"([{"id": "0000000000", "label": "large", "state": "in-use", )"));
  const auto answer = nlohmann::json::parse(out());
  ASSERT_EQ(answer.at("nodes").size(), 2U);
  const auto& second = answer.at("nodes").at(1);
  EXPECT_EQ(second.at("id"), "0000000001");
  EXPECT_EQ(second.at("label"), "small");
  EXPECT_EQ(second.at("type"), nlohmann::json::array({"small"}));
  EXPECT_EQ(second.at("interface_ip"), "192.0.2.2");
  EXPECT_EQ(second.at("connection_port"), 2222);
  EXPECT_EQ(second.at("user_data").at("nodepool_lease").at("id"), "200-0000000000");
}

TEST_F(RequestCommandTest, a_failure_names_the_pools_that_declined_and_why) {
  launcher_.react(LauncherDouble::Reaction::decline);
  run(launcher_.add_pool("rack", {"small"}));
  EXPECT_EQ(nodepool({"request", "small"}), 2);
  EXPECT_EQ(out(), "");
  EXPECT_EQ(err(),
            "nodepool: request 200-0000000000 failed: every pool declined it\n"
            "  rack-main on host: it would exceed quota\n");
  EXPECT_THAT(run(launcher_.requests()), IsEmpty());
}

TEST_F(RequestCommandTest, a_request_that_takes_too_long_is_withdrawn) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  run(launcher_.add_pool("rack", {"small"}));
  pass_time_when_requested(minutes(6));
  EXPECT_EQ(nodepool({"request", "small", "--timeout", "5m"}), 3);
  EXPECT_THAT(err(), HasSubstr("nodepool: request 200-0000000000 timed out and has been "
                               "withdrawn\n"));
  EXPECT_THAT(err(), EndsWith("  `nodepool explain small` shows the pools of the label and what "
                              "they wait for\n"));
  EXPECT_THAT(run(launcher_.requests()), IsEmpty());
}

TEST_F(RequestCommandTest, a_label_that_no_pool_offers_is_reported_at_once) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  run(launcher_.add_pool("rack", {"small"}));
  run(launcher_.add_pool("cloud", {"large"}));
  pass_time_when_requested(minutes(11));
  EXPECT_EQ(nodepool({"request", "smal", "large", "huge"}), 3);
  EXPECT_THAT(err(), StartsWith("nodepool: at present, no pool offers smal, huge; did you mean "
                                "`small`?\nnodepool: "));
  pass_time_when_requested(minutes(11));
  EXPECT_EQ(nodepool({"request", "small", "large"}), 3);
  EXPECT_THAT(err(), StartsWith("nodepool: at present, no pool offers all of these labels, and the "
                                "nodes of a request come from one pool\n"));
}

TEST_F(RequestCommandTest, without_a_launcher_the_command_says_so_and_waits) {
  pass_time_when_requested(minutes(11));
  EXPECT_EQ(nodepool({"request", "small"}), 3);
  EXPECT_THAT(err(), StartsWith("nodepool: at present, no launcher serves a pool\n"));
}

TEST_F(RequestCommandTest, a_launcher_whose_provider_cannot_start_is_named_with_the_problem) {
  model::Component launcher;
  launcher.hostname = "l1";
  launcher.problems = {"provider sky is not in service: no such cloud"};
  run(coordination::ensure_path(store_, "/nodepool/components/launcher"));
  run(store_.create("/nodepool/components/launcher/l1", to_record(launcher),
                    coordination::CreateMode::ephemeral_sequential));
  pass_time_when_requested(minutes(11));
  EXPECT_EQ(nodepool({"request", "small"}), 3);
  EXPECT_THAT(err(), StartsWith("nodepool: at present, launcher on l1 serves no pool: provider sky "
                                "is not in service: no such cloud\n"));
}

// Lets time pass in steps until the reason is printed, and then longer than the timeout.
async::Task<> wait_for_reason(const RequestCommandTest& test, LauncherDouble& launcher,
                              async::VirtualClock& clock) {
  while (!test.shown().contains("waiting:")) {
    const std::vector<std::string> requests = co_await launcher.requests();
    if (!requests.empty() && clock.next_wakeup() < clock.now() + minutes(1)) {
      clock.advance_by(std::chrono::seconds(1));
    }
    co_await boost::asio::post(boost::asio::use_awaitable);
  }
  for (int turn = 0; turn < 600; ++turn) {
    if (turn % 50 == 0) clock.advance_by(minutes(1));
    co_await boost::asio::post(boost::asio::use_awaitable);
  }
}

TEST_F(RequestCommandTest, the_reason_to_wait_is_printed_once_and_again_after_a_timeout) {
  config_ = "store: sqlite://" + (directory_.path() / "nodepool.db").string() + R"(
labels: [{name: small}]
providers:
  - {name: rack, driver: static, pools: [{name: main, nodes: [{name: h1, labels: [small]}]}]}
)";
  launcher_.react(LauncherDouble::Reaction::ignore);
  run(launcher_.add_pool("rack", {"small"}));
  scope_.spawn("pass time", wait_for_reason(*this, launcher_, clock_));
  EXPECT_EQ(nodepool({"request", "small"}), 3);
  const std::string reason =
      "rack-main on host waits: 0 of 1 nodes with label small are free (until a node becomes free "
      "or is deleted)\n";
  EXPECT_EQ(err(), "nodepool: waiting: " + reason +
                       "nodepool: position 1 of 1 waiting requests; 0 requests ahead want the same "
                       "label\n"
                       "nodepool: request 200-0000000000 timed out and has been withdrawn\n"
                       "  last reason: " +
                       reason +
                       "  what helps: release leases that are not needed (`nodepool lease-list`), "
                       "raise the limit, or add hosts\n"
                       "  `nodepool explain small` shows the pools of the label and what they wait "
                       "for\n");
}

// Like on a host without the launcher: it has neither the decisions of clouds nor their history.
TEST_F(RequestCommandTest, without_known_decisions_the_pool_that_may_serve_is_named) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  run(launcher_.add_pool("rack", {"small"}));
  scope_.spawn("pass time", wait_for_reason(*this, launcher_, clock_));
  EXPECT_EQ(nodepool({"request", "small"}), 3);
  const std::string reason =
      "rack-main on host may serve it; its decisions are known on host: use --url\n";
  EXPECT_THAT(err(), StartsWith("nodepool: waiting: " + reason));
  EXPECT_THAT(err(), HasSubstr("\n  last reason: " + reason));
}

// Lets time pass to the explanation at half of a timeout of 3 s, and then to the timeout, each
// after what is under way.
async::Task<> pass_three_seconds(LauncherDouble& launcher, async::VirtualClock& clock) {
  while ((co_await launcher.requests()).empty()) {
    co_await boost::asio::post(boost::asio::use_awaitable);
  }
  for (int turn = 1; turn <= 600; ++turn) {
    co_await boost::asio::post(boost::asio::use_awaitable);
    if (turn % 300 == 0) clock.advance_by(std::chrono::seconds(2));
  }
}

TEST_F(RequestCommandTest, a_short_timeout_comes_with_the_reason_as_well) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  scope_.spawn("pass time", pass_three_seconds(launcher_, clock_));
  EXPECT_EQ(nodepool({"request", "small", "--timeout", "3"}), 3);
  EXPECT_THAT(err(), HasSubstr("  last reason: no launcher serves a pool\n"));
}

TEST_F(RequestCommandTest, a_timeout_without_a_launcher_says_that_one_must_be_started) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  scope_.spawn("pass time", wait_for_reason(*this, launcher_, clock_));
  EXPECT_EQ(nodepool({"request", "small"}), 3);
  EXPECT_THAT(err(), HasSubstr("  last reason: no launcher serves a pool\n"
                               "  what helps: start a launcher whose configuration has a pool for "
                               "the label\n"));
}

TEST_F(RequestCommandTest,
       a_timeout_with_a_label_that_no_pool_offers_says_where_labels_are_listed) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  run(launcher_.add_pool("rack", {"large"}));
  scope_.spawn("pass time", wait_for_reason(*this, launcher_, clock_));
  EXPECT_EQ(nodepool({"request", "small"}), 3);
  EXPECT_THAT(err(), HasSubstr("  last reason: no registered pool offers all of its labels\n"
                               "  what helps: add them to one pool, or request labels that "
                               "`nodepool label-list` shows\n"));
}

TEST_F(RequestCommandTest, the_position_in_the_queue_is_printed_with_the_reason) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  run(launcher_.add_pool("rack", {"small"}));
  run(coordination::ensure_path(store_, "/nodepool/requests"));
  model::NodeRequest other;
  other.node_types = {"small"};
  run(store_.create(model::request_path("100-"), to_record(other),
                    coordination::CreateMode::persistent_sequential));
  scope_.spawn("pass time", wait_for_reason(*this, launcher_, clock_));
  EXPECT_EQ(nodepool({"request", "small"}), 3);
  EXPECT_THAT(err(),
              HasSubstr("\nnodepool: position 2 of 2 waiting requests; 1 request ahead wants "
                        "the same label\nnodepool: request "));
}

// Lets time pass in steps of a second. Twenty seconds after the first reason, the requests ahead
// are gone; half a minute later, the time of the request is over.
async::Task<> let_request_advance(const RequestCommandTest& test, LauncherDouble& launcher,
                                  coordination::Store& store, std::vector<std::string> ahead,
                                  async::VirtualClock& clock) {
  int second = 0;
  while (second < 60) {
    const std::vector<std::string> requests = co_await launcher.requests();
    const bool is_asleep =
        !requests.empty() && clock.next_wakeup() < clock.now() + std::chrono::minutes(1);
    if (is_asleep) clock.advance_by(std::chrono::seconds(1));
    for (int turn = 0; turn < 20; ++turn) {
      co_await boost::asio::post(boost::asio::use_awaitable);
    }
    if (!test.shown().contains("waiting:")) continue;
    if (++second != 20) continue;
    for (const std::string& path : ahead) co_await store.remove(path, coordination::kAnyVersion);
  }
  clock.advance_by(minutes(11));
}

TEST_F(RequestCommandTest, off_a_terminal_an_advance_in_the_queue_is_printed_once) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  run(launcher_.add_pool("rack", {"small"}));
  run(coordination::ensure_path(store_, "/nodepool/requests"));
  model::NodeRequest other;
  other.node_types = {"small"};
  std::vector<std::string> ahead;
  ahead.reserve(2);
  for (int i = 0; i < 2; ++i) {
    ahead.push_back(run(store_.create(model::request_path("100-"), to_record(other),
                                      coordination::CreateMode::persistent_sequential)));
  }
  scope_.spawn("pass time", let_request_advance(*this, launcher_, store_, ahead, clock_));
  EXPECT_EQ(nodepool({"request", "small"}), 3);
  EXPECT_THAT(err(), HasSubstr("\nnodepool: position 3 of 3 waiting requests; 2 requests ahead "
                               "want the same label\n"
                               "nodepool: position 1 of 1 waiting requests; 0 requests ahead want "
                               "the same label\nnodepool: request "));
}

TEST_F(RequestCommandTest, the_end_of_the_first_lease_is_printed_with_the_reason) {
  config_ = "store: sqlite://" + (directory_.path() / "nodepool.db").string() + R"(
labels: [{name: small}]
providers:
  - {name: rack, driver: static, pools: [{name: main, nodes: [{name: h1, labels: [small]}]}]}
)";
  launcher_.react(LauncherDouble::Reaction::ignore);
  run(launcher_.add_pool("rack", {"small"}));
  model::Node node;
  node.type = {"small"};
  node.provider = "rack";
  node.pool = "main";
  node.set_state(NodeState::in_use, clock_.wall_seconds());
  node.user_data = model::lease_user_data(
      {.id = "200-0000000099", .expires = clock_.wall_seconds() + 7200, .holder = "ada"});
  run(launcher_.add_node(node));
  scope_.spawn("pass time", wait_for_reason(*this, launcher_, clock_));
  EXPECT_EQ(nodepool({"request", "small"}), 3);
  EXPECT_THAT(err(), HasSubstr("or is deleted); held by 1 lease; it ends in 1:59:"));
}

TEST_F(RequestCommandTest,
       the_usual_wait_is_printed_after_the_first_reason_instead_of_the_position) {
  config_ = "store: sqlite://" + (directory_.path() / "nodepool.db").string() + R"(
labels: [{name: small}]
providers:
  - {name: rack, driver: static, pools: [{name: main, nodes: [{name: h1, labels: [small]}]}]}
)";
  for (const double seconds : {0.2, 250.0, 41.4, 30.0, 1.0}) {
    history::append({.directory = directory_.path()},
                    history::to_line({.time = clock_.wall_seconds(),
                                      .subject = history::JournalEntry::Subject::request,
                                      .id = "200-0000000099",
                                      .event = "fulfilled",
                                      .related = {},
                                      .details = {},
                                      .facts = history::Waited{{"small"}, seconds}}));
  }
  launcher_.react(LauncherDouble::Reaction::ignore);
  run(launcher_.add_pool("rack", {"small"}));
  scope_.spawn("pass time", wait_for_reason(*this, launcher_, clock_));
  EXPECT_EQ(nodepool({"request", "small"}), 3);
  EXPECT_THAT(err(), HasSubstr("or is deleted)\nnodepool: none ahead for the same label; usually "
                               "served within 0:00:41\nnodepool: request "));
}

TEST_F(RequestCommandTest, progress_is_shown_on_a_terminal_and_wiped_in_the_end) {
  terminal_ = true;
  launcher_.react(LauncherDouble::Reaction::decline);
  run(launcher_.add_pool("rack", {"small"}));
  EXPECT_EQ(nodepool({"request", "small"}), 2);
  EXPECT_THAT(err(), HasSubstr("Request 200-0000000000 for small: requested"));
  EXPECT_THAT(err(), HasSubstr("failed, declined by 1 of 1 pools\r\x1b[Knodepool: request "));
}

TEST_F(RequestCommandTest, a_dumb_terminal_gets_no_control_sequences) {
  terminal_ = true;
  environment_.emplace_back("TERM", "dumb");
  launcher_.react(LauncherDouble::Reaction::decline);
  run(launcher_.add_pool("rack", {"small"}));
  EXPECT_EQ(nodepool({"request", "small"}), 2);
  EXPECT_THAT(err(), testing::AllOf(HasSubstr("nodepool: request "), Not(HasSubstr("\x1b"))));
}

TEST_F(RequestCommandTest, an_interruption_withdraws_the_request) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  run(launcher_.add_pool("rack", {"small"}));
  auto interrupt = [](LauncherDouble& launcher) -> async::Task<> {
    while (true) {
      const std::vector<std::string> requests = co_await launcher.requests();
      if (!requests.empty()) break;
    }
    std::raise(SIGTERM);
  };
  scope_.spawn("interrupt", interrupt(launcher_));
  EXPECT_EQ(nodepool({"request", "small"}), 128 + SIGTERM);
  EXPECT_EQ(err(), "nodepool: interrupted\nnodepool: request 200-0000000000 has been withdrawn\n");
  EXPECT_THAT(run(launcher_.requests()), IsEmpty());
}

TEST_F(RequestCommandTest, a_signal_that_nohup_ignores_does_not_interrupt_the_wait) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  run(launcher_.add_pool("rack", {"small"}));
  std::signal(SIGHUP, SIG_IGN);
  auto hang_up = [](LauncherDouble& launcher) -> async::Task<> {
    std::vector<std::string> requests;
    while (requests.empty()) requests = co_await launcher.requests();
    std::raise(SIGHUP);
    co_await launcher.fulfil_now(requests.front());
  };
  scope_.spawn("hang up", hang_up(launcher_));
  EXPECT_EQ(nodepool({"request", "small"}), 0) << err();
  std::signal(SIGHUP, SIG_DFL);
  EXPECT_THAT(out(), HasSubstr("Lease 200-0000000000 until"));
}

TEST_F(RequestCommandTest, a_request_that_ended_with_its_session_is_made_again) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  run(launcher_.add_pool("rack", {"small"}));
  auto expire = [](LauncherDouble& launcher, async::VirtualClock& clock,
                   coordination::MemoryStore*& store) -> async::Task<> {
    while (clock.next_wakeup() == async::Clock::TimePoint::max()) {
      co_await boost::asio::post(boost::asio::use_awaitable);
    }
    launcher.react(LauncherDouble::Reaction::fulfil);
    store->expire_for_tests();
  };
  scope_.spawn("expire", expire(launcher_, clock_, command_store_));
  EXPECT_EQ(nodepool({"request", "small"}), 0) << err();
  EXPECT_EQ(err(), "");
  EXPECT_THAT(out(), HasSubstr("\nRelease:      nodepool release 200-"));
}

TEST_F(RequestCommandTest, a_node_that_cannot_be_taken_over_is_an_error) {
  run(launcher_.add_pool("rack", {"small"}));
  launcher_.adorn = [](model::Node& node, std::size_t) { node.allocated_to = "someone else"; };
  EXPECT_EQ(nodepool({"request", "small"}), 1);
  EXPECT_EQ(err(), "nodepool: node 0000000000 is ready and allocated to someone else\n");
  EXPECT_THAT(run(launcher_.requests()), IsEmpty());
}

TEST_F(RequestCommandTest, leases_and_single_nodes_are_released) {
  run(launcher_.add_pool("rack", {"small"}));
  EXPECT_EQ(nodepool({"request", "small", "small"}), 0);
  EXPECT_EQ(nodepool({"request", "small"}), 0);
  EXPECT_EQ(nodepool({"release", "0000000001", "200-0000000001"}), 0);
  EXPECT_EQ(out(), "Released 0000000001\nReleased 0000000002\n");
  EXPECT_EQ(run(launcher_.node("0000000000")).state, NodeState::in_use);
  EXPECT_EQ(run(launcher_.node("0000000001")).state, NodeState::used);
  EXPECT_EQ(run(launcher_.node("0000000002")).state, NodeState::used);
}

TEST_F(RequestCommandTest, what_is_not_leased_does_not_keep_the_others_from_being_released) {
  run(launcher_.add_pool("rack", {"small"}));
  run(launcher_.add_node(make_node("small")));
  EXPECT_EQ(nodepool({"request", "small"}), 0);
  EXPECT_EQ(nodepool({"release", "0000000000", "200-0000000077", "200-0000000000"}), 1);
  EXPECT_EQ(out(), "Released 0000000001\n");
  EXPECT_EQ(err(),
            "nodepool: node 0000000000 is not leased\n"
            "nodepool: there is no lease 200-0000000077: it has expired, or has been released\n");
}

TEST_F(RequestCommandTest, a_lease_is_renewed) {
  run(launcher_.add_pool("rack", {"small"}));
  EXPECT_EQ(nodepool({"request", "small", "--lease", "10m"}), 0);
  clock_.advance_by(minutes(5));
  EXPECT_EQ(nodepool({"renew", "200-0000000000", "--lease", "30m"}), 0);
  EXPECT_EQ(out(), "Lease 200-0000000000 until 2023-11-14 22:48:20 +0000\n");
  EXPECT_EQ(lease_of(run(launcher_.node("0000000000")))->expires, clock_.wall_seconds() + 1800);
  EXPECT_EQ(nodepool({"renew", "200-0000000009"}), 1);
  EXPECT_THAT(err(), MatchesRegex("nodepool: there is no lease 200-0000000009: [^\n]*\n"));
}

TEST_F(RequestCommandTest, a_renewal_that_shortens_a_lease_says_so) {
  run(launcher_.add_pool("rack", {"small"}));
  EXPECT_EQ(nodepool({"request", "small", "--lease", "2h"}), 0);
  EXPECT_EQ(nodepool({"renew", "200-0000000000", "--lease", "2h"}), 0);
  EXPECT_EQ(err(), "");
  EXPECT_EQ(nodepool({"renew", "200-0000000000", "--lease", "1h"}), 0);
  EXPECT_EQ(out(), "Lease 200-0000000000 until 2023-11-14 23:13:20 +0000\n");
  EXPECT_EQ(err(),
            "nodepool: lease 200-0000000000 expires earlier than before (2023-11-15 00:13:20 "
            "+0000): --lease counts from now\n");
}

TEST_F(RequestCommandTest, the_queue_position_is_shown_as_it_changes) {
  terminal_ = true;
  launcher_.react(LauncherDouble::Reaction::ignore);
  run(launcher_.add_pool("rack", {"small"}));
  run(coordination::ensure_path(store_, "/nodepool/requests"));
  model::NodeRequest other;
  other.node_types = {"small"};
  const auto put = [&](const char* prefix) {
    return run(store_.create(model::request_path(prefix), to_record(other),
                             coordination::CreateMode::persistent_sequential));
  };
  const std::string first = put("100-");
  put("100-");
  put("300-");
  // Once the line has been shown, the first one goes.
  auto shorten = [](coordination::Store& store, async::VirtualClock& clock, std::string path,
                    const RequestCommandTest& test) -> async::Task<> {
    while (!test.shown().contains("position 3 of 4 in the queue")) {
      clock.advance_by(std::chrono::milliseconds(200));
      co_await boost::asio::post(boost::asio::use_awaitable);
    }
    co_await store.remove(path, coordination::kAnyVersion);
    while (!test.shown().contains("position 2 of 3 in the queue")) {
      clock.advance_by(std::chrono::milliseconds(200));
      co_await boost::asio::post(boost::asio::use_awaitable);
    }
    clock.advance_by(minutes(20));
  };
  scope_.spawn("shorten", shorten(store_, clock_, first, *this));
  EXPECT_EQ(nodepool({"request", "small"}), 3);
  EXPECT_THAT(err(), HasSubstr("requested, position 3 of 4 in the queue\r\x1b[K"));
  EXPECT_THAT(err(), HasSubstr("requested, position 2 of 3 in the queue\r\x1b[K"));
}

TEST_F(RequestCommandTest, a_site_may_limit_leases) {
  run(launcher_.add_pool("rack", {"small"}));
  config_ += "max-lease: 5400\n";
  EXPECT_EQ(nodepool({"request", "small", "--lease", "2h"}), 4);
  EXPECT_EQ(err(), "nodepool: a lease of 2h is too long: at most 90m (max-lease)\n");
  EXPECT_THAT(run(launcher_.requests()), IsEmpty());
  EXPECT_EQ(nodepool({"request", "small"}), 0);
  EXPECT_EQ(lease_of(run(launcher_.node("0000000000")))->expires, clock_.wall_seconds() + 5400);
  EXPECT_EQ(nodepool({"renew", "200-0000000000", "--lease", "1d"}), 1);
  EXPECT_EQ(err(), "nodepool: a lease of 1d is too long: at most 90m (max-lease)\n");
  EXPECT_EQ(nodepool({"renew", "200-0000000000", "--lease", "30m"}), 0);
  EXPECT_EQ(nodepool({"renew", "200-0000000000"}), 0);
  EXPECT_EQ(lease_of(run(launcher_.node("0000000000")))->expires, clock_.wall_seconds() + 5400);
}

TEST_F(RequestCommandTest, keys_are_known_to_the_api_only) {
  EXPECT_EQ(nodepool({"request", "small", "--key", "job 4"}), 1);
  EXPECT_EQ(err(), "nodepool: --key needs the request API (--url)\n");
  EXPECT_THAT(run(launcher_.requests()), IsEmpty());
}

TEST_F(RequestCommandTest, files_for_ssh_and_ansible_are_written) {
  run(launcher_.add_pool("rack", {"small"}));
  launcher_.adorn = [](model::Node& node, std::size_t) { node.host_keys = {"ssh-ed25519 AAAA"}; };
  const std::string ssh_config = directory_.path() / "ssh config";
  const std::string inventory = directory_.path() / "hosts.yaml";
  EXPECT_EQ(nodepool({"request", "small", "--ssh-config", ssh_config, "--inventory", inventory}), 0)
      << err();
  EXPECT_THAT(out(), HasSubstr("    # node 0000000000, small-1\n"));
  EXPECT_THAT(out(), HasSubstr("\nSSH:          ssh -F " + ssh_config + " HOST\n"));
  EXPECT_THAT(read_file(ssh_config),
              HasSubstr("UserKnownHostsFile \"" + ssh_config + ".known_hosts\""));
  EXPECT_EQ(read_file(ssh_config + ".known_hosts"), "192.0.2.1 ssh-ed25519 AAAA\n");
  EXPECT_THAT(read_file(inventory),
              HasSubstr("UserKnownHostsFile='" + ssh_config + ".known_hosts'"));
  for (const std::string& path : {ssh_config, inventory, ssh_config + ".known_hosts"}) {
    EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms(0600)) << path;
  }
  // Anew, in one piece; nothing else is left.
  EXPECT_EQ(nodepool({"request", "small", "--inventory", inventory, "--json"}), 0);
  EXPECT_THAT(read_file(inventory), HasSubstr("nodepool_node_id: \"0000000001\""));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_.path()), {}), 6);
}

TEST_F(RequestCommandTest, files_that_cannot_be_written_are_noticed_before_nodes_are_asked_for) {
  run(launcher_.add_pool("rack", {"small"}));
  EXPECT_EQ(nodepool({"request", "small", "--inventory", "/no/such/place/hosts"}), 1);
  EXPECT_EQ(err(), "nodepool: cannot write /no/such/place/hosts: No such file or directory\n");
  EXPECT_EQ(nodepool({"request", "small", "--ssh-config", directory_.path() / "100%"}), 1);
  EXPECT_THAT(err(), HasSubstr("100%: the path of the file must not contain quotes, %, $ or"));
  EXPECT_FALSE(run(store_.exists("/nodepool/nodes/0000000000")));
}

TEST_F(RequestCommandTest, only_regular_files_are_replaced_by_files_for_ssh_and_ansible) {
  run(launcher_.add_pool("rack", {"small"}));
  const std::filesystem::path folder = directory_.path();
  const std::string device = folder / "device";
  ASSERT_EQ(::mkfifo(device.c_str(), 0600), 0);
  std::filesystem::create_symlink(device, folder / "link-to-device");
  std::filesystem::create_symlink(folder / "nothing", folder / "broken-link");
  for (const char* name : {"device", "link-to-device", "broken-link"}) {
    const std::string path = folder / name;
    EXPECT_EQ(nodepool({"request", "small", "--inventory", path}), 1);
    EXPECT_EQ(err(), "nodepool: " + path + " is not a regular file\n");
  }
  EXPECT_TRUE(std::filesystem::is_fifo(device));
  const std::string same = folder / "same";
  std::filesystem::create_symlink(same, folder / "link-to-same");
  directory_.write("same", "kept");
  for (const std::string other : {"same", "link-to-same"}) {
    EXPECT_EQ(nodepool({"request", "small", "--ssh-config", same, "--inventory", folder / other}),
              1);
    EXPECT_THAT(err(), HasSubstr(other + ": two files cannot have the same path\n"));
  }
  EXPECT_EQ(read_file(same), "kept");
  EXPECT_FALSE(run(store_.exists("/nodepool/nodes/0000000000"))) << "nothing was requested";
}

TEST_F(RequestCommandTest, a_link_to_a_file_remains_and_its_target_is_replaced) {
  run(launcher_.add_pool("rack", {"small"}));
  launcher_.adorn = [](model::Node& node, std::size_t) { node.host_keys = {"ssh-ed25519 AAAA"}; };
  const std::string link = directory_.path() / "link";
  const std::string target = directory_.write("target", "old");
  std::filesystem::create_symlink(target, link);
  EXPECT_EQ(nodepool({"request", "small", "--ssh-config", link}), 0) << err();
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_THAT(read_file(target), HasSubstr(link + ".known_hosts"));
}

TEST_F(RequestCommandTest, leases_are_listed) {
  run(launcher_.add_pool("rack", {"small", "large"}));
  EXPECT_EQ(nodepool({"lease-list", "-o", "json"}), 0);
  EXPECT_EQ(out(), "[]\n");
  EXPECT_EQ(nodepool({"request", "small", "large", "--lease", "1h"}), 0);
  EXPECT_EQ(nodepool({"request", "small"}), 0);
  EXPECT_EQ(nodepool({"lease-list"}), 0);
  EXPECT_EQ(
      out(),
      "+----------------+---------------------+-------------------------------+-------------+-"
      "----------------------+\n"
      "| Lease          | Holder              | Expires                       | Labels      | "
      "Nodes                 |\n"
      "+----------------+---------------------+-------------------------------+-------------+-"
      "----------------------+\n"
      "| 200-0000000000 | nodepool:ada@build1 | 2023-11-14 23:13:20.000 +0000 | small,large | "
      "0000000000,0000000001 |\n"
      "| 200-0000000001 | nodepool:ada@build1 | 2023-11-15 00:13:20.000 +0000 | small       | "
      "0000000002            |\n"
      "+----------------+---------------------+-------------------------------+-------------+-"
      "----------------------+\n");
  EXPECT_EQ(nodepool({"lease-list", "-o", "name", "--label", "large"}), 0);
  EXPECT_EQ(out(), "200-0000000000\n");
  EXPECT_EQ(nodepool({"lease-list", "-o", "yaml", "--label", "large"}), 0);
  EXPECT_THAT(out(), HasSubstr("  expires: 1700003600.000\n"));
  EXPECT_EQ(nodepool({"lease-list", "--json"}), 0);
  const auto listed = nlohmann::json::parse(out());
  EXPECT_EQ(listed.at(1).at("id"), "200-0000000001");
  EXPECT_EQ(listed.at(1).at("lease"), "200-0000000001") << "as in the output of `request`";
  EXPECT_EQ(nodepool({"explain", "200-0000000001"}), 0);
  EXPECT_THAT(out(), StartsWith("Lease 200-0000000001 expires in 2:00:00\n"));
  EXPECT_THAT(out(), HasSubstr("0000000002 (small) is in-use for 0:00:00\n"));
}

TEST_F(RequestCommandTest, all_leases_or_all_own_ones_are_released) {
  run(launcher_.add_pool("rack", {"small"}));
  EXPECT_EQ(nodepool({"release", "--mine"}), 0);
  EXPECT_EQ(out(), "There are no leases to release\n");
  EXPECT_EQ(nodepool({"request", "small"}), 0);
  EXPECT_EQ(nodepool({"request", "small"}), 0);
  identity_ = "bob@build1";
  EXPECT_EQ(nodepool({"request", "small"}), 0);
  identity_ = "ada@build1";
  EXPECT_EQ(nodepool({"release", "--mine"}), 0);
  EXPECT_EQ(out(), "Released 0000000000\nReleased 0000000001\n");
  EXPECT_EQ(run(launcher_.node("0000000002")).state, NodeState::in_use);
  EXPECT_EQ(nodepool({"release", "--all"}), 0);
  EXPECT_EQ(out(), "Released 0000000002\n");
  for (const auto& wrong : {std::vector<std::string>{"release"},
                            {"release", "--all", "--mine"},
                            {"release", "--all", "0000000001"}}) {
    EXPECT_EQ(nodepool(wrong), 2);
    EXPECT_THAT(err(), HasSubstr("give either IDs, or --mine, or --all"));
  }
}

TEST_F(RequestCommandTest, what_is_released_can_be_held) {
  run(launcher_.add_pool("rack", {"small"}));
  EXPECT_EQ(nodepool({"request", "small", "small"}), 0);
  EXPECT_EQ(nodepool({"release", "200-0000000000", "--hold", "kernel panic"}), 0);
  EXPECT_EQ(out(), "Held 0000000000, 0000000001\n");
  for (const char* id : {"0000000000", "0000000001"}) {
    const model::Node node = run(launcher_.node(id));
    EXPECT_EQ(node.state, NodeState::hold);
    EXPECT_EQ(node.comment, "kernel panic");
    EXPECT_THAT(run(launcher_.lock_line(id)), IsEmpty());
  }
  EXPECT_EQ(nodepool({"lease-list", "-o", "name"}), 0);
  EXPECT_EQ(out(), "");
}

}  // namespace
}  // namespace nodepool::cli
