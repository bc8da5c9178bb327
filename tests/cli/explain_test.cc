#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>

#include <nlohmann/json.hpp>

#include "coordination/lock.h"
#include "coordination/path.h"
#include "coordination/tree.h"
#include "history/journal.h"
#include "model/component.h"
#include "model/host_report.h"
#include "model/lease.h"
#include "model/paths.h"
#include "planning/decision.h"
#include "tests/cli/cli_test.h"

namespace nodepool::cli {
namespace {

using model::NodeRequest;
using model::NodeState;
using model::RequestState;
using testing::HasSubstr;
using testing::Not;

class ExplainTest : public CliTest {
 protected:
  ExplainTest() {
    config_ = "store: sqlite://" + (directory_.path() / "nodepool.db").string() +
              "\nlabels: [{name: small, min-ready: 2}, {name: large}]\nproviders: []\n";
    run(coordination::ensure_path(store_, "/nodepool/components/pool"));
    run(coordination::ensure_path(store_, "/nodepool/requests"));
    launcher_.react(requestor::LauncherDouble::Reaction::ignore);
  }

  void add_pool(const std::string& provider, std::vector<std::string> labels,
                std::int64_t priority = 100, bool paused = false, std::string version = "12.0.0") {
    model::Component pool;
    pool.version = std::move(version);
    pool.kind = model::Component::Kind::pool;
    pool.hostname = "l1";
    pool.id = "l1-PoolWorker." + provider + "-main-" + std::string(32, 'a');
    pool.name = "main";
    pool.provider_name = provider;
    pool.supported_labels = std::move(labels);
    pool.priority = priority;
    pool.paused = paused;
    run(store_.create("/nodepool/components/pool/l1", to_record(pool),
                      coordination::CreateMode::ephemeral_sequential));
  }

  // Returns the path of its record.
  std::string add_launcher_that_drops_entries() {
    model::Component launcher;
    launcher.hostname = "l1";
    launcher.problems = {"the history cannot be written: the disk is full"};
    run(coordination::ensure_path(store_, "/nodepool/components/launcher"));
    return run(store_.create("/nodepool/components/launcher/l1", to_record(launcher),
                             coordination::CreateMode::ephemeral_sequential));
  }

  std::string add_request(std::vector<std::string> labels,
                          const std::function<void(NodeRequest&)>& change = {}) {
    NodeRequest request;
    request.node_types = std::move(labels);
    request.requestor = "zuul";
    request.set_state(RequestState::requested, clock_.wall_seconds() - 65);
    if (change) change(request);
    return std::string(coordination::base_name(
        run(store_.create(model::request_path("200-"), to_record(request),
                          coordination::CreateMode::persistent_sequential))));
  }

  // By the pool before its launcher was restarted: its id had another end.
  static history::Decided decided(const std::string& provider, const std::string& reason) {
    std::string pool = "l1-PoolWorker." + provider + "-main-" + std::string(32, 'b');
    std::string json = fmt::format(R"({{"pool":"{}","reason":"{}"}})", pool, reason);
    return {.pool = std::move(pool), .json = std::move(json)};
  }

  void append(const history::JournalEntry& entry) {
    history::append({.directory = directory_.path()}, history::to_line(entry));
  }

  void add_event(const std::string& request_id, const std::string& event,
                 const std::string& details = {}, history::Facts facts = {}) {
    append({clock_.wall_seconds() - 5,
            history::JournalEntry::Subject::request,
            request_id,
            event,
            {},
            details,
            std::move(facts)});
  }

  void add_decision(const std::string& request_id, const std::string& provider,
                    const std::string& decision, const std::string& reason = {}) {
    add_event(request_id, "decision", provider + "-main on l1 " + decision,
              decided(provider, reason));
  }

  // `reason` is empty if another launcher has recorded it.
  void add_decline(const std::string& request_id, const std::string& provider,
                   const std::string& reason, const std::string& text) {
    const std::string pool = "l1-PoolWorker." + provider + "-main-" + std::string(32, 'b');
    add_event(request_id, "declined", provider + "-main on l1: " + text,
              history::Declined{pool, reason});
  }

  void add_attempt(const std::string& node_id, const std::string& request_id,
                   const std::string& failure) {
    append({clock_.wall_seconds() - 6,
            history::JournalEntry::Subject::node,
            node_id,
            "launch",
            {request_id},
            "attempt failed: " + failure,
            history::Attempted{failure, fmt::format(R"({{"failure":"{}"}})", failure)}});
  }

  std::string explain(const std::string& subject) {
    EXPECT_EQ(nodepool({"explain", subject}), 0) << err();
    return out();
  }
};

TEST_F(ExplainTest, a_waiting_request_has_a_place_and_a_reason_from_every_pool) {
  add_pool("rack", {"small"});
  add_pool("sky", {"small", "large"}, 10, /*paused=*/true);
  add_pool("far", {"small"}, 200);
  add_request({"large"});
  add_request({"small"});
  const std::string id = add_request({"small", "small"}, [](NodeRequest& request) {
    const std::string sky = "l1-PoolWorker.sky-main-" + std::string(32, 'a');
    request.declined_by = {sky};
    request.decline_reasons[sky] = "launch failed: no such flavor";
    request.tenant_name = "acme";
  });
  add_decision(id, "rack", "waits: 1 of 2 nodes with label small are free (until a node is free)");
  EXPECT_EQ(
      explain(id),
      "Request 200-0000000002 is requested for 0:01:05\n"
      "  wants       small, small\n"
      "  by          zuul\n"
      "  tenant      acme\n"
      "  reason      rack-main on l1 waits: 1 of 2 nodes with label small are free (until a node "
      "is free)\n"
      "  position    3 of 3 waiting requests; 1 request ahead wants the same label\n"
      "Pools\n"
      "  rack-main on l1\n"
      "    waits: 1 of 2 nodes with label small are free (until a node is free); "
      "decided 0:00:05 ago\n"
      "  sky-main on l1 (paused: at capacity)\n"
      "    declined: launch failed: no such flavor\n"
      "  far-main on l1\n"
      "    deferred to pool main of provider rack: it has a better priority "
      "(until a pool deregisters, pauses or declines)\n");
}

// Where the pool's provider is configured here, the launcher's own rules say it, for all that wait.
TEST_F(ExplainTest, a_pool_that_is_configured_here_is_decided_for) {
  config_ = "store: sqlite://" + (directory_.path() / "nodepool.db").string() + R"(
labels: [{name: small}]
providers:
  - {name: rack, driver: static, pools: [{name: main, nodes: [
      {name: h1, labels: [small]}, {name: h2, labels: [small]}]}]}
)";
  add_pool("rack", {"small"});
  model::Node node = make_node("small");
  node.provider = "rack";
  node.pool = "main";
  run(launcher_.add_node(node));
  const std::string first = add_request({"small"});
  const std::string second = add_request({"small"});
  const std::string third = add_request({"small", "small", "small"});
  add_decision(first, "rack", "waits: something that is long past");
  EXPECT_THAT(explain(first), HasSubstr("  rack-main on l1\n    accepts\n"));
  EXPECT_THAT(explain(second), HasSubstr("    waits: 0 of 1 nodes with label small are free (until "
                                         "a node becomes free or is deleted)\n"));
  EXPECT_THAT(explain(third), HasSubstr("    declines: it would exceed quota: 3 nodes with label "
                                        "small requested, the pool has 2\n"));
}

TEST_F(ExplainTest, a_full_pool_comes_with_advice) {
  add_pool("rack", {"small"});
  const std::string id = add_request({"small"});
  add_decision(id, "rack", "waits: it has 2 of 2", "pool-full");
  EXPECT_THAT(explain(id), HasSubstr("  reason      rack-main on l1 waits: it has 2 of 2\n"
                                     "  advice      release leases that are not needed"));
  model::Node held = make_node("small");
  held.state = model::NodeState::hold;
  run(launcher_.add_node(held));
  EXPECT_THAT(explain(id), HasSubstr("  advice      end holds that are not needed (`nodepool list "
                                     "--state hold`): 1 node is held; release leases that are "));
  run(launcher_.add_node(held));
  EXPECT_THAT(explain(id), HasSubstr(": 2 nodes are held; "));
  add_decision(id, "rack", "waits: it comes after another", "comes-after");
  EXPECT_THAT(explain(id), Not(HasSubstr("advice")));
}

TEST_F(ExplainTest, without_a_known_decision_the_reason_is_the_pool_that_may_serve_it) {
  add_pool("far", {"small", "large"}, 200);
  add_pool("rack", {"small"});
  add_pool("sky", {"large"}, 10, /*paused=*/true);
  EXPECT_THAT(
      explain(add_request({"small"})),
      HasSubstr("  reason      rack-main on l1 may serve it; its decisions are known on l1: "
                "use --url\n"));
  EXPECT_THAT(explain(add_request({"large"})),
              HasSubstr("  reason      far-main on l1 may serve it; its decisions are known on l1: "
                        "use --url (and 1 other pool)\n"));
  EXPECT_THAT(
      explain(add_request({"large"},
                          [](NodeRequest& request) {
                            request.declined_by = {"l1-PoolWorker.far-main-" +
                                                   std::string(32, 'a')};
                          })),
      HasSubstr("  reason      sky-main on l1 is paused: at capacity; its decisions are known on "
                "l1: use --url\n"));
  EXPECT_THAT(explain(add_request({"small", "huge"})),
              HasSubstr("  reason      no registered pool offers all of its labels\n"));
}

TEST_F(ExplainTest, the_decisions_of_a_python_launcher_are_in_its_log) {
  add_pool("rack", {"small"}, 100, /*paused=*/false, "11.0.0");
  const std::string id = add_request({"small"});
  const std::string reason =
      "  reason      rack-main on l1 may serve it; its launcher is a Python Nodepool: see its log "
      "on l1\n";
  EXPECT_THAT(explain(id), HasSubstr(reason));
  hostname_ = "l1";
  add_event("200-0000000099", "gone");  // by a launcher that served before
  clock_.advance_by(std::chrono::seconds(16));
  EXPECT_THAT(explain(id), HasSubstr(reason)) << "it does not write the history of its host";
  EXPECT_THAT(out(), HasSubstr("this host has no record of a decision by this pool"));
  EXPECT_THAT(out(), Not(HasSubstr("does not respond")));
}

TEST_F(ExplainTest, a_pool_has_not_decided_only_if_the_history_has_the_whole_request) {
  hostname_ = "l1";
  add_pool("rack", {"small"});
  const std::string id = add_request({"small"});
  add_event("200-0000000099", "gone");
  const std::string unknown =
      "  reason      rack-main on l1 may serve it; its decisions are known on l1: use --url\n";
  EXPECT_THAT(explain(id), HasSubstr(unknown)) << "its entries may have been too old";
  add_event(id, "priority");
  EXPECT_THAT(explain(id), HasSubstr(unknown)) << "rotation may have deleted the earlier ones";
  EXPECT_THAT(out(), HasSubstr("this host has no record of a decision by this pool"));
  const std::string other = add_request({"small"});
  add_event(other, "requested");
  EXPECT_THAT(explain(other), HasSubstr("  reason      rack-main on l1 has not decided about it "
                                        "yet\n"));
  EXPECT_THAT(out(), HasSubstr("it has not decided about it yet"));
  add_launcher_that_drops_entries();
  EXPECT_THAT(explain(other), HasSubstr(unknown));
}

TEST_F(ExplainTest, a_request_that_no_longer_exists_is_explained_by_the_journal) {
  add_decision("200-0000000009", "rack", "declines: it would exceed quota");
  EXPECT_EQ(explain("200-0000000009"),
            "Request 200-0000000009 no longer exists\n"
            "  decision    0:00:05 ago: rack-main on l1 declines: it would exceed quota\n"
            "  history     `nodepool history 200-0000000009` shows all events\n");
}

TEST_F(ExplainTest, a_failed_request_that_no_longer_exists_has_the_declines_that_matter) {
  const std::string id = "200-0000000009";
  add_event(id, "requested", "label(s) small");
  add_decline(id, "big", "beyond-limit-of-pool", "it would exceed quota: in this pool it needs");
  add_decline(id, "off", "pool-disabled", "pool is disabled by max_servers");
  add_attempt("0000000006", id, "creating server: refused");
  add_decline(id, "sky", "launch-failed", "launch failed: creating server: refused");
  for (int i = 0; i < 6; ++i) {
    const std::string other = fmt::format("other{}", i);
    add_decline(id, other, i == 0 ? "" : "labels-not-offered",
                "node type(s) [small] not available");
    add_decision(id, other, "waits: this pool has declined it", "declined-by-this-pool");
  }
  add_event(id, "failed");
  add_event(id, "gone");
  EXPECT_EQ(explain(id),
            "Request 200-0000000009 failed and no longer exists\n"
            "  reason      sky-main on l1: launch failed: creating server: refused\n"
            "  reason      big-main on l1: it would exceed quota: in this pool it needs\n"
            "  reason      off-main on l1: pool is disabled: max-servers is 0\n"
            "  advice      request fewer or smaller nodes, or raise the limit\n"
            "  node        0000000006 could not be launched: see `nodepool history 0000000006`\n"
            "  declined    0:00:05 ago: big-main on l1: it would exceed quota: in this pool it "
            "needs\n"
            "  declined    0:00:05 ago: off-main on l1: pool is disabled: max-servers is 0\n"
            "  declined    0:00:05 ago: sky-main on l1: launch failed: creating server: refused\n"
            "  failed      0:00:05 ago\n"
            "  gone        0:00:05 ago\n"
            "  history     `nodepool history 200-0000000009` shows all events\n");
}

TEST_F(ExplainTest, a_failed_request_that_no_pool_offered_says_so) {
  add_decline("200-0000000009", "sky", "labels-not-offered", "node type(s) [smal] not available");
  add_event("200-0000000009", "failed");
  EXPECT_THAT(explain("200-0000000009"),
              HasSubstr("  reason      no registered pool offered all of its labels\n"
                        "  advice      add them to one pool, or request labels that "));
}

TEST_F(ExplainTest, a_failed_request_without_entries_of_declines_has_those_of_its_failure) {
  const std::string id = "200-0000000009";
  add_event(id, "failed");
  EXPECT_THAT(explain(id), Not(HasSubstr("  reason "))) << "it is unknown";
  const std::string other = "200-0000000010";
  add_decline(other, "far", "labels-not-offered", "node type(s) [small] not available");
  add_event(other, "failed", "sky-main on l1: pool is disabled by max_servers; and 1 other pools",
            history::DeclinedByAll{
                .declines = {history::Declined{.pool = "sky", .reason = ""},
                             history::Declined{.pool = "big", .reason = "beyond-limit-of-pool"}}});
  EXPECT_THAT(explain(other), HasSubstr("  reason      sky-main on l1: pool is disabled: "
                                        "max-servers is 0; and 1 other pools\n"
                                        "  advice      request fewer or smaller nodes, or raise "));
  EXPECT_THAT(out(), Not(HasSubstr("no registered pool offered")));
}

TEST_F(ExplainTest, a_fulfilled_request_that_no_lease_can_answer_has_the_reason) {
  const std::string id = "200-0000000009";
  add_event(id, "fulfilled");
  add_decline(id, "sky", "", "the request has too many nodes for one lease");
  add_event(id, "failed");
  EXPECT_THAT(explain(id),
              HasSubstr("  reason      sky-main on l1: the request has too many nodes for one "
                        "lease\n"));
}

TEST_F(ExplainTest, a_request_that_was_served_after_a_failed_launch_has_no_reason) {
  add_attempt("0000000006", "200-0000000009", "no boot");
  add_decline("200-0000000009", "sky", "launch-failed", "launch failed: no boot");
  add_event("200-0000000009", "fulfilled");
  EXPECT_THAT(explain("200-0000000009"),
              testing::StartsWith("Request 200-0000000009 no longer exists\n  declined "));
}

TEST_F(ExplainTest, a_failed_node_that_no_longer_exists_has_the_last_failure) {
  add_attempt("0000000006", "200-0000000009", "no boot");
  add_attempt("0000000006", "200-0000000009", "no room");
  append({clock_.wall_seconds() - 5,
          history::JournalEntry::Subject::node,
          "0000000006",
          "failed",
          {},
          {}});
  EXPECT_THAT(explain("0000000006"),
              testing::StartsWith("Node 0000000006 failed and no longer exists\n"
                                  "  reason      attempt failed: no room\n"
                                  "  request     200-0000000009: see `nodepool explain "
                                  "200-0000000009`\n"));
}

TEST_F(ExplainTest, a_pending_request_without_its_launcher_says_what_resumes_it) {
  const std::string id =
      add_request({"small"}, [](NodeRequest& request) { request.state = RequestState::pending; });
  model::Node building = make_node("small");
  building.state = NodeState::building;
  building.allocated_to = id;
  const std::string node = run(launcher_.add_node(building));
  EXPECT_THAT(explain(id),
              HasSubstr("  reason      node " + node +
                        " is building, but its launcher is gone: the request resumes when a "
                        "launcher serves pool main of provider rack\n"
                        "  advice      start a launcher whose configuration has provider rack\n"));
  EXPECT_THAT(out(), HasSubstr("\nIts nodes:\n  node " + node + " building for 0:01:05"));
  add_pool("rack", {"small"});
  EXPECT_THAT(explain(id), HasSubstr("  reason      node " + node +
                                     " is building, but its launcher is gone or restarts: "
                                     "rack-main on l1 resumes the request\nIts nodes:\n"));
  coordination::Lock lock(store_, random_, model::node_lock_path(node));
  ASSERT_TRUE(run(lock.try_acquire()));
  EXPECT_THAT(explain(id), HasSubstr("  reason      node " + node +
                                     " is building\n"
                                     "  advice      allow more time (--timeout)"));
  EXPECT_THAT(out(), HasSubstr("\nA launcher is serving it:\n"));
}

TEST_F(ExplainTest, the_node_of_an_earlier_failed_launch_is_not_the_one_in_launch) {
  add_pool("rack", {"small"});
  const std::string id =
      add_request({"small"}, [](NodeRequest& request) { request.state = RequestState::pending; });
  model::Node earlier = make_node("small");
  earlier.provider = "removed";
  earlier.state = NodeState::deleting;
  earlier.allocated_to = id;
  run(launcher_.add_node(earlier));
  model::Node building = make_node("small");
  building.state = NodeState::building;
  building.allocated_to = id;
  const std::string node = run(launcher_.add_node(building));
  coordination::Lock lock(store_, random_, model::node_lock_path(node));
  ASSERT_TRUE(run(lock.try_acquire()));
  EXPECT_THAT(explain(id), HasSubstr("  reason      node " + node + " is building\n"));
  EXPECT_THAT(out(), HasSubstr("\nA launcher is serving it:\n"));
}

TEST_F(ExplainTest, a_launch_that_has_not_begun_is_not_interrupted) {
  add_pool("rack", {"small"});
  const std::string id =
      add_request({"small"}, [](NodeRequest& request) { request.state = RequestState::pending; });
  model::Node node = make_node("small");
  node.state = NodeState::init;
  node.allocated_to = id;
  run(launcher_.add_node(node));
  EXPECT_THAT(explain(id), Not(HasSubstr("is gone")));
}

TEST_F(ExplainTest, a_launcher_of_this_host_that_records_nothing_does_not_respond) {
  hostname_ = "l1";
  add_pool("rack", {"small"});
  add_pool("sky", {"large"}, 100, /*paused=*/true);
  add_event("200-0000000009", "gone");
  const auto fresh = [this](NodeRequest& request) { request.state_time = clock_.wall_seconds(); };
  const std::string first = add_request({"small"}, fresh);
  const std::string second = add_request({"large"}, fresh);
  EXPECT_THAT(explain(first), HasSubstr("  reason      rack-main on l1 has not decided about it "
                                        "yet\n"));
  EXPECT_THAT(explain(second), HasSubstr("  reason      sky-main on l1 is paused: at capacity\n"));
  clock_.advance_by(std::chrono::seconds(16));
  const std::string text =
      "-main on l1 does not respond: check whether its launcher on l1 hangs or is stopped\n";
  EXPECT_THAT(explain(first), HasSubstr("  reason      rack" + text));
  EXPECT_THAT(out(),
              HasSubstr("    does not respond: the history of l1 has no entry of request " + first +
                        ", which waits for 0:00:16; check whether its launcher on "
                        "l1 hangs or is stopped\n"));
  EXPECT_THAT(explain(second), HasSubstr("  reason      sky" + text));

  const std::string path = add_launcher_that_drops_entries();
  EXPECT_THAT(explain(first), Not(HasSubstr("does not respond")));
  run(store_.remove(path, coordination::kAnyVersion));
  EXPECT_THAT(explain(first), HasSubstr("does not respond"));

  hostname_ = "other";
  EXPECT_THAT(explain(first), HasSubstr("may serve it; its decisions are known on l1: use --url"));
  hostname_ = "l1";
  add_event(first, "requested");
  EXPECT_THAT(explain(first), Not(HasSubstr("does not respond")));
}

TEST_F(ExplainTest, pools_without_the_labels_are_one_line) {
  add_pool("rack", {"small"});
  add_pool("sky", {"large"});
  add_pool("far", {"large"});
  EXPECT_THAT(
      explain(add_request({"small"})),
      testing::EndsWith("    free nodes: 0 small; this host has no record of a decision by "
                        "this pool\n"
                        "  2 pool(s) without its labels: sky-main on l1, far-main on l1\n"));
}

TEST_F(ExplainTest, a_waiting_request_shows_when_the_next_lease_of_such_a_node_ends) {
  add_pool("rack", {"small"});
  model::Node node = make_node("small");
  node.provider = "rack";
  node.pool = "main";
  node.set_state(NodeState::in_use, clock_.wall_seconds() - 60);
  node.user_data = model::lease_user_data({.id = "200-0000000007",
                                           .expires = clock_.wall_seconds() + 90,
                                           .holder = "ada",
                                           .label = "small",
                                           .index = 0});
  run(launcher_.add_node(node));
  EXPECT_THAT(explain(add_request({"small"})),
              HasSubstr("    the next lease of such a node expires in 0:01:30\n"));
}

TEST_F(ExplainTest, a_waiting_request_shows_the_hosts_and_who_uses_them) {
  add_pool("rack", {"small"});
  std::vector<std::string> ids;
  for (int i = 0; i < 7; ++i) {
    model::Node node = make_node(i == 6 ? "large" : "small");
    node.hostname = fmt::format("host{}", i % 3);
    node.slot = i / 3;
    node.requestor = "zuul";
    node.set_state(NodeState::in_use, clock_.wall_seconds() - 60);
    if (i == 4) {
      node.user_data = model::lease_user_data({.id = "200-0000000007",
                                               .expires = clock_.wall_seconds() + 90,
                                               .holder = "ada",
                                               .label = "small",
                                               .index = 0});
    }
    ids.push_back(run(launcher_.add_node(node)));
  }
  const auto used = [&ids](std::size_t i) {
    return fmt::format("    node {} on host{} is in use by {} for 0:01:00", ids[i], i % 3,
                       i == 4 ? "ada" : "zuul");
  };
  const std::string id = add_request({"small"});
  EXPECT_THAT(explain(id), HasSubstr("    the next lease of such a node expires in 0:01:30\n" +
                                     used(4) + "; its lease expires in 0:01:30\n" + used(0) + "\n" +
                                     used(1) + "\n" + used(2) + "\n" + used(3) +
                                     "\n    … and 1 more nodes are in use\n"
                                     "    hosts     host0, host1, host2\n"));
  EXPECT_THAT(explain("small"), HasSubstr("    hosts     host0, host1, host2\n"));
}

TEST_F(ExplainTest, without_a_journal_the_records_have_to_do) {
  add_pool("rack", {"small"});
  run(launcher_.add_node(make_node("small")));
  EXPECT_THAT(explain(add_request({"small", "small"})),
              HasSubstr("free nodes: 1 small; this host has no record of a decision by this pool"));
}

TEST_F(ExplainTest, a_journal_that_cannot_be_read_is_like_none) {
  std::filesystem::create_symlink("history.jsonl", directory_.path() / "history.jsonl");
  add_pool("rack", {"small"});
  EXPECT_THAT(explain(add_request({"small"})),
              HasSubstr("this host has no record of a decision by this pool"));
  EXPECT_EQ(nodepool({"explain", "nix"}), 1);
  EXPECT_THAT(err(), HasSubstr("the history of this host cannot be read: "));
}

TEST_F(ExplainTest, a_request_that_all_have_declined_waits_for_a_pool_that_may_be_back) {
  add_pool("rack", {"large"});
  const std::string id = add_request({"small"}, [](NodeRequest& request) {
    const std::string rack = "l1-PoolWorker.rack-main-" + std::string(32, 'a');
    request.declined_by = {rack};
    request.decline_reasons[rack] = "node type(s) [small] not available";
  });
  EXPECT_THAT(
      explain(id),
      HasSubstr("declined it: it fails, unless a pool that offers its labels deregistered"));
  EXPECT_THAT(explain("small"), HasSubstr("No registered pool offers it: requests for it fail.\n"));
  model::Node node = make_node("small");
  node.provider = "sky";
  node.pool = "main";
  run(launcher_.add_node(node));
  EXPECT_THAT(explain(id),
              HasSubstr("Every registered pool has declined it: it waits for pool sky-main, which "
                        "is not registered now, until 0:02:00 after it deregistered "
                        "(pool-timeout); then it fails.\n"));
  EXPECT_THAT(out(), HasSubstr("  reason      every registered pool has declined it: it waits for "
                               "pool sky-main, which is not registered now, until "));
  add_decision(id, "rack", "waits: pool sky-main may return", "pool-may-be-back");
  EXPECT_THAT(explain(id), Not(HasSubstr("at most"))) << "decided before a restart";
  const std::string rack = "l1-PoolWorker.rack-main-" + std::string(32, 'a');
  add_event(id, "decision", "rack-main on l1 waits: it may return",  // 5 s ago
            {history::Decided{
                rack, fmt::format(R"({{"pool":"{}","reason":"pool-may-be-back"}})", rack)}});
  EXPECT_THAT(explain(id), HasSubstr("not registered now, for at most 0:01:55 more (pool-timeout); "
                                     "then it fails.\n"));
  EXPECT_THAT(out(), HasSubstr("  reason      every registered pool has declined it: it waits for "
                               "pool sky-main, which is not registered now, until 0:02:00 after"));
  EXPECT_THAT(explain("small"),
              HasSubstr("No registered pool offers it: requests for it wait for pool sky-main, "
                        "which is not registered now, until 0:02:00 after it deregistered "
                        "(pool-timeout); then they fail.\n"));
  config_ += "pool-timeout: 3\n";
  EXPECT_THAT(explain(id), HasSubstr("is not registered now, until 0:00:03 after it deregistered "
                                     "(pool-timeout); then it fails.\n"));
  config_ += "pool-timeout: 0\n";
  EXPECT_THAT(explain(id), HasSubstr("Every registered pool has declined it: it fails.\n"));
}

TEST_F(ExplainTest, a_request_waits_for_a_configured_pool_until_its_provider_has_started) {
  const std::string none = "providers: []";
  config_.replace(config_.find(none), none.size(), R"(
providers:
  - name: hall
    driver: fake
    cloud: far
    cloud-images: [{name: Fake Precise}]
    pools: [{name: main, labels: [{name: small, cloud-image: Fake Precise, min-ram: 8000}]}]
)");
  add_pool("rack", {"large"});
  const auto decline = [](NodeRequest& request) {
    const std::string rack = "l1-PoolWorker.rack-main-" + std::string(32, 'a');
    request.declined_by = {rack};
    request.decline_reasons[rack] = "node type(s) [small] not available";
  };
  const std::string id = add_request({"small"}, decline);
  const std::string idle = add_request({"small"}, [&decline](NodeRequest& request) {
    decline(request);
    request.requestor = planning::kMinReadyRequestor;
  });
  for (const char* timeout : {"", "pool-timeout: 0\n"}) {
    config_ += timeout;
    EXPECT_THAT(explain(id), HasSubstr("Every registered pool has declined it: it waits until the "
                                       "provider of pool hall-main has started.\n"));
    EXPECT_THAT(explain("small"),
                HasSubstr("No registered pool offers it: requests for it wait until the provider "
                          "of pool hall-main has started.\n"));
    EXPECT_THAT(explain(idle), HasSubstr("Every registered pool has declined it: it fails"));
  }
}

TEST_F(ExplainTest, a_failed_request_shows_its_reasons) {
  const std::string id = add_request({"huge"}, [](NodeRequest& request) {
    request.state = RequestState::failed;
    request.declined_by = {"pool"};
    request.decline_reasons["pool"] = "node type(s) [huge] not available";
  });
  EXPECT_THAT(explain(id), HasSubstr("    node type(s) [huge] not available\n"));
}

TEST_F(ExplainTest, nothing_of_a_record_steers_the_terminal) {
  const std::string id = add_request({"small\x1b]0;title\x07"}, [](NodeRequest& request) {
    request.requestor =
        "zuul\r\x1b[K\xc2\x9b"
        "2J";
    request.decline_reasons["pool"] = "\x1b[2Jfine";
    request.declined_by = {"pool"};
    request.state = RequestState::failed;
  });
  const std::string text = explain(id);
  EXPECT_THAT(text, HasSubstr(R"(zuul\x0d\x1b[K\x9b2J)"));
  EXPECT_THAT(text, HasSubstr(R"(small\x1b]0;title\x07)"));
  EXPECT_THAT(text, HasSubstr(R"(\x1b[2Jfine)"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_EQ(nodepool({"explain", "\x1b[2Jnobody"}), 1);
  EXPECT_THAT(err(), Not(HasSubstr("\x1b")));
}

TEST_F(ExplainTest, without_a_launcher_the_reason_is_that_no_pool_is_registered) {
  EXPECT_THAT(explain(add_request({"small"})), HasSubstr("No pool is registered"));
}

TEST_F(ExplainTest, a_node_shows_its_user_and_the_next_step) {
  add_pool("rack", {"small"});
  model::Node node = make_node("small");
  node.state = NodeState::in_use;
  node.allocated_to = "200-0000000099";
  node.requestor = "zuul";
  const std::string id = run(launcher_.add_node(node));
  EXPECT_THAT(explain(id), HasSubstr("unlocked"));
  EXPECT_THAT(out(), HasSubstr("next        it is unlocked: its provider reclaims it"));
  EXPECT_THAT(out(), HasSubstr("request     200-0000000099, which no longer exists"));
  coordination::Lock lock(store_, random_, model::node_lock_path(id));
  ASSERT_TRUE(run(lock.try_acquire()));
  EXPECT_THAT(explain(id), HasSubstr("it is reclaimed when its requestor unlocks it"));
}

TEST_F(ExplainTest, a_failed_node_shows_the_reason_and_its_history) {
  model::Node node = make_node("small");
  node.state = NodeState::building;
  const std::string id = run(launcher_.add_node(node));
  for (const auto& [ago, failure] :
       {std::pair{40, "no boot"}, std::pair{31, "no room"}, std::pair{2, ""}}) {
    history::append(
        {.directory = directory_.path()},
        history::to_line(
            {clock_.wall_seconds() - ago,
             history::JournalEntry::Subject::node,
             id,
             "launch",
             {},
             fmt::format("attempt, {} ago", ago),
             history::Attempted{failure, fmt::format(R"({{"failure":"{}"}})", failure)}}));
  }
  EXPECT_THAT(explain(id),
              HasSubstr("2 launch attempt(s) failed, the last 0:00:31 ago: attempt, 31 "
                        "ago (details: `nodepool history " +
                        id + "`)"));
}

TEST_F(ExplainTest, a_node_whose_deletion_fails_shows_the_reason_and_no_lease) {
  add_pool("rack", {"small"});
  model::Node node = make_node("small");
  node.set_state(NodeState::deleting, clock_.wall_seconds() - 600);
  node.user_data = model::lease_user_data({"200-0000000007", clock_.wall_seconds() + 90, "ada"});
  const std::string id = run(launcher_.add_node(node));
  for (const auto& [ago, failure] : {std::pair{600, "conflict"}, std::pair{60, "still in use"}}) {
    history::append({.directory = directory_.path()},
                    history::to_line({clock_.wall_seconds() - ago,
                                      history::JournalEntry::Subject::node,
                                      id,
                                      "reclaim-failed",
                                      {},
                                      failure}));
  }
  EXPECT_THAT(explain(id), HasSubstr("  its provider has failed to reclaim it for 0:10:00, and "
                                     "retries: still in use\n"));
  EXPECT_THAT(out(), Not(HasSubstr("expires")));
  const std::string waiting = add_request({"small"});
  add_decision(waiting, "rack", "waits: it has 1 of 1", "pool-full");
  EXPECT_THAT(explain(waiting), HasSubstr("  advice      check why node " + id +
                                          " is not deleted yet: `nodepool explain " + id + "`\n"));
  EXPECT_THAT(out(), HasSubstr("    node " + id + " is deleting for 0:10:00\n"));
}

TEST_F(ExplainTest, a_node_of_a_provider_without_a_launcher_is_marked) {
  EXPECT_THAT(explain(run(launcher_.add_node(make_node("small")))),
              HasSubstr("no registered launcher serves its provider"));
}

TEST_F(ExplainTest, a_held_node_shows_the_end_of_its_hold) {
  add_pool("rack", {"small"});
  model::Node node = make_node("small");
  node.state = NodeState::hold;
  node.hold_expiration = 3600;
  node.state_time = clock_.wall_seconds() - 600;
  EXPECT_THAT(explain(run(launcher_.add_node(node))), HasSubstr("kept for 0:50:00 more"));
}

TEST_F(ExplainTest, a_label_shows_its_pools_and_waiting_requests) {
  add_pool("rack", {"small"});
  run(launcher_.add_node(make_node("small")));
  add_request({"large"});
  const std::string id = add_request({"small", "small"});
  explain("small");
  EXPECT_THAT(out(), HasSubstr("Label small\n  min-ready   2\n"));
  EXPECT_THAT(out(), HasSubstr("rack-main on l1: priority 100\n"
                               "    nodes: 1 ready; 1 can be handed out now\n"));
  EXPECT_THAT(out(), testing::EndsWith("1 request(s) wait for it\n  " + id +
                                       ": rack-main on l1 may serve it; its decisions are known "
                                       "on l1: use --url\n"));
  EXPECT_THAT(explain("large"), HasSubstr("No registered pool offers it"));
}

TEST_F(ExplainTest, unhealthy_hosts_are_shown_with_the_reason_and_the_next_check) {
  add_pool("rack", {"small"});
  model::HostReport report;
  report.provider = "rack";
  report.pool = "main";
  report.host = "host7";
  report.username = "ci";
  report.port = 2222;
  report.labels = {"small"};
  report.problem = "Could not contact host7 on port 2222: Connection refused";
  report.since = clock_.wall_seconds() - 600;
  report.next_check = 60;
  report.launcher = "l1";
  run(coordination::ensure_path(store_, "/nodepool/hosts"));
  run(store_.create("/nodepool/hosts/1", to_record(report), coordination::CreateMode::ephemeral));
  run(store_.create("/nodepool/hosts/2", "garbage", coordination::CreateMode::ephemeral));
  EXPECT_THAT(
      explain("small"),
      HasSubstr("    host host7 on port 2222 is unhealthy for 0:10:00: Could not contact "
                "host7 on port 2222: Connection refused; l1 checks it again within 0:01:00\n"));
  const std::string request = add_request({"small"});
  add_decision(request, "rack", "waits: 0 of 1 nodes with label small are free", "nodes-not-free");
  EXPECT_THAT(explain(request),
              HasSubstr("    host host7 on port 2222 is unhealthy for 0:10:00: "));
  EXPECT_THAT(out(), HasSubstr("  reason      rack-main on l1 waits: 0 of 1 nodes with label small "
                               "are free; host7 is unhealthy: Could not contact host7 on port "
                               "2222: Connection refused\n"
                               "  advice      repair unhealthy hosts, release leases"));
  EXPECT_THAT(explain("large"), Not(HasSubstr("host7")));
  EXPECT_EQ(explain("host7"),
            "Host host7\n"
            "  ci on port 2222, of pool rack-main, label(s) small\n"
            "    unhealthy for 0:10:00: Could not contact host7 on port 2222: Connection "
            "refused; l1 checks it again within 0:01:00\n");
  EXPECT_EQ(nodepool({"list"}), 0);
  EXPECT_THAT(out(), Not(HasSubstr("host7")));
  EXPECT_EQ(err(), "nodepool: 1 unhealthy host(s): host7; see `nodepool explain HOST`\n");
}

TEST_F(ExplainTest, a_healthy_host_is_shown_by_its_nodes) {
  add_pool("rack", {"small"});
  model::Node node = make_node("small");
  node.hostname = "host8";
  node.slot = 1;
  const std::string id = run(launcher_.add_node(node));
  EXPECT_EQ(explain("host8"),
            "Host host8\n  node " + id + ", slot 1, of pool rack-main is ready for 0:01:05\n");
  EXPECT_EQ(nodepool({"list"}), 0);
  EXPECT_EQ(err(), "");
}

TEST_F(ExplainTest, a_pool_that_does_not_react_is_no_promise) {
  add_pool("rack", {"small"});
  const std::string node = run(launcher_.add_node(make_node("small")));
  EXPECT_THAT(explain("small"), HasSubstr("1 can be handed out now"));
  EXPECT_THAT(explain(node), HasSubstr("the next request for one of its labels may get it"));
  const std::string id = add_request({"small"});  // 65 s ago
  const std::string sign =
      "does not respond: it has not served request " + id +
      " for 0:01:05, although it could; check whether its launcher on l1 hangs";
  EXPECT_THAT(explain(id), HasSubstr("    " + sign));
  EXPECT_THAT(out(), HasSubstr("  reason      rack-main on l1 does not respond: check whether its "
                               "launcher on l1 hangs or is stopped\n"));
  EXPECT_THAT(explain("small"), HasSubstr("nodes: 1 ready; 1 are free\n    " + sign));
  EXPECT_THAT(explain(node), HasSubstr("next        probably nothing: rack-main on l1 " + sign));
}

TEST_F(ExplainTest, a_pool_need_not_react_to_what_is_not_at_its_turn) {
  add_pool("rack", {"small"});
  run(launcher_.add_node(make_node("small")));
  add_request({"small", "small"});  // comes first, and waits for a second node
  EXPECT_THAT(explain(add_request({"small"})), Not(HasSubstr("does not respond")));
  const std::string fresh = add_request(
      {"large"}, [this](NodeRequest& request) { request.state_time = clock_.wall_seconds() - 1; });
  EXPECT_THAT(explain(fresh), Not(HasSubstr("does not respond")));
}

TEST_F(ExplainTest, a_pool_that_takes_no_node_back_does_not_react) {
  add_pool("rack", {"small"});
  model::Node node = make_node("small");
  node.state = NodeState::used;
  const std::string id = run(launcher_.add_node(node));
  EXPECT_THAT(explain("small"),
              HasSubstr("does not respond: node " + id + " was released 0:01:05 ago"));
}

TEST_F(ExplainTest, without_any_launcher_ready_nodes_are_no_promise) {
  run(launcher_.add_node(make_node("small")));
  EXPECT_THAT(explain("small"),
              HasSubstr("No pool is registered: no launcher runs, or none has a provider.\n1 "
                        "node(s) are ready, but no pool hands them out.\n"));
}

TEST_F(ExplainTest, an_unknown_id_is_an_error) {
  EXPECT_EQ(nodepool({"explain", "nix"}), 1);
  EXPECT_THAT(err(), HasSubstr("the history of this host has no entry of it either"));
}

TEST_F(ExplainTest, several_are_explained_and_one_that_is_unknown_keeps_none_from_it) {
  run(launcher_.add_pool("rack", {"small"}));
  const std::string id = run(launcher_.add_node(make_node("small")));
  EXPECT_EQ(nodepool({"explain", "nix", id, "small"}), 1);
  EXPECT_THAT(out(), testing::StartsWith("Node " + id));
  EXPECT_THAT(out(), HasSubstr("\n\nLabel small\n"));
  EXPECT_THAT(err(), HasSubstr("there is no request, node, lease, label or host nix"));
}

TEST_F(ExplainTest, a_misspelled_label_gets_a_suggestion) {
  EXPECT_EQ(nodepool({"explain", "smal"}), 1);
  EXPECT_THAT(err(), HasSubstr("label or host smal; did you mean `small`?\n"));
}

TEST_F(ExplainTest, programs_get_json) {
  const std::string id = run(launcher_.add_node(make_node("small")));
  EXPECT_EQ(nodepool({"explain", id, "small", "--json"}), 0);
  const auto all = nlohmann::json::parse(out());
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].at("statements")[0].at("key"), "node");
  EXPECT_EQ(all[0].at("statements")[0].at("details")[0].at("key"), "labels");
  EXPECT_EQ(all[0].at("statements")[0].at("details")[0].at("text"), "small");
  EXPECT_EQ(all[1].at("statements")[0].at("text"), "Label small");
  EXPECT_EQ(all[1].at("omitted"), 0);
  EXPECT_EQ(nodepool({"explain", "nix", "--json"}), 1);
  EXPECT_EQ(out(), "[]\n");
}

}  // namespace
}  // namespace nodepool::cli
