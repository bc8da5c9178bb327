#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <thread>

#include "coordination/tree.h"
#include "history/waits.h"
#include "model/lease.h"
#include "model/paths.h"
#include "tests/launcher/launcher_fixture.h"
#include "tests/support/patience.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::launcher {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Lt;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view kHostWithHistory = R"(
labels: [{name: a}, {name: b}]
providers:
  - name: rack
    driver: static
    pools: [{name: main, nodes: [{name: host-1, labels: [a]}]}]
)";

// A launcher with a history.
class HistoryTest : public LauncherFixture {
 protected:
  HistoryTest() { journal_ = history::Journal{.directory = directory_.path()}; }

  // "EVENT [RELATED] DETAILS" for each entry.
  std::vector<std::string> lines(const std::string& id) const {
    std::vector<std::string> lines;
    for (const history::JournalEntry& entry : history::entries_of(*journal_, id)) {
      std::string line = entry.event;
      for (const std::string& other : entry.related) line += " [" + other + "]";
      if (!entry.details.empty()) line += " " + entry.details;
      lines.push_back(line);
    }
    return lines;
  }

  // The journal is written on a thread.
  void await(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + test_support::kPatience;
    while (!condition() && std::chrono::steady_clock::now() < deadline) {
      settle();
      std::this_thread::yield();
    }
    EXPECT_TRUE(condition());
  }

  test_support::TemporaryDirectory directory_;
};

TEST_F(HistoryTest, the_whole_life_of_a_request_and_its_node) {
  start(std::string(kHostWithHistory));
  const std::string first = nodes().front().id;
  const std::string served = request({"a"});
  const std::string waiting = request({"a"});
  accept(served);
  pass(std::chrono::minutes(5));
  give_back(first);
  pass(std::chrono::seconds(1));
  const std::string second = nodes().front().id;
  stop();

  EXPECT_THAT(lines(served),
              ElementsAre("requested label(s) a for test", "decision rack-main on host accepts",
                          "fulfilled [" + first + "]", "answered"));
  EXPECT_THAT(
      lines(waiting),
      ElementsAre("requested label(s) a for test", StartsWith("decision rack-main on host waits: "),
                  "decision rack-main on host accepts", "fulfilled [" + second + "]"));
  EXPECT_THAT(to_json(history::entries_of(*journal_, waiting)[1].facts),
              HasSubstr(R"("decision":"waits","reason":"nodes-not-free","subject":"a")"));
  EXPECT_THAT(history::recent_waits(*journal_).at({"a"}), ElementsAre(Lt(10), Ge(300)));
  EXPECT_THAT(lines(first),
              ElementsAre("init host-1 of rack-main, label(s) a", "ready", "locked",
                          "allocated [" + served + "]", "unlocked", "locked", "in-use", "used",
                          "unlocked", "locked", "deleting", "replaced by node " + second, "gone"));
  EXPECT_THAT(lines(second),
              ElementsAre("ready host-1 of rack-main, label(s) a, replaces node " + first, "locked",
                          "allocated [" + waiting + "]", "unlocked"));
  const auto entries = history::entries_of(*journal_, first);
  EXPECT_NEAR(entries[7].time - entries[6].time, 300, 1);
}

TEST_F(HistoryTest, a_lease_is_recorded_until_its_node_is_released) {
  start(std::string(kHostWithHistory));
  const std::string node_id = nodes().front().id;
  const std::string id = request({"a"});
  accept(id);
  const auto lease_for = [&](double seconds) {
    model::Node node = read_node(node_id);
    node.user_data = model::lease_user_data({id, clock_.wall_seconds() + seconds, "me"});
    write_node(node);
    pass(std::chrono::seconds(1));
  };
  lease_for(7200);
  pass(std::chrono::minutes(5));
  lease_for(3600);
  give_back(node_id);
  pass(std::chrono::seconds(1));
  stop();
  const std::string nodes = "[" + node_id + "]";
  EXPECT_THAT(
      lines(id),
      ElementsAre("requested label(s) a for test", "decision rack-main on host accepts",
                  "fulfilled " + nodes, "answered", "leased " + nodes + " for 2h by me",
                  "renewed " + nodes + " for 1h", "released " + nodes + " the node is used"));
}

TEST_F(HistoryTest, the_end_of_an_expired_lease_has_its_cause) {
  start(std::string(kHostWithHistory));
  const std::string node_id = nodes().front().id;
  const std::string id = request({"a"});
  accept(id);
  model::Node node = read_node(node_id);
  node.user_data = model::lease_user_data({id, clock_.wall_seconds() + 60, "me"});
  write_node(node);
  pass(std::chrono::minutes(2));
  give_back(node_id);
  pass(std::chrono::seconds(1));
  stop();
  EXPECT_EQ(lines(id).back(), "released [" + node_id + "] the lease has expired; the node is used");
}

TEST_F(HistoryTest, a_lease_of_a_node_whose_removal_is_seen_first_is_released) {
  start(std::string(kHostWithHistory));
  const std::string node_id = nodes().front().id;
  const std::string id = request({"a"});
  accept(id);
  model::Node node = read_node(node_id);
  node.user_data = model::lease_user_data({id, clock_.wall_seconds() + 7200, "me"});
  write_node(node);
  pass(std::chrono::seconds(1));
  as_requestor(coordination::remove_tree(*requestor_, model::node_path(node_id)));
  pass(std::chrono::seconds(1));
  stop();
  const std::vector<std::string> entries = lines(id);
  EXPECT_EQ(entries.back(), "released [" + node_id + "] the node is gone");
  EXPECT_EQ(std::ranges::count_if(
                entries, [](const std::string& line) { return line.starts_with("leased"); }),
            1);
}

constexpr std::string_view kFakeSky = R"(
labels: [{name: small}]
providers:
  - name: fake-sky
    cloud: fake
    launch-retries: 2
    cloud-images: [{name: Fake Precise}]
    fake-cloud: {boot-time: 20, failures: {create-broken: FAILING}}
    pools:
      - name: main
        labels: [{name: small, cloud-image: Fake Precise, flavor-name: Fake Flavor}]
)";

std::string fake_sky(const std::string& failing) {
  std::string yaml(kFakeSky);
  return yaml.replace(yaml.find("FAILING"), 7, failing);
}

TEST_F(HistoryTest, each_attempt_of_a_failed_launch_is_recorded_with_details) {
  start(fake_sky("1"));
  const std::string id = request({"small"});
  pass(std::chrono::minutes(10));
  stop();
  const std::vector<history::JournalEntry> of_request = history::entries_of(*journal_, id);
  const auto declined = std::ranges::find(of_request, "declined", &history::JournalEntry::event);
  ASSERT_NE(declined, of_request.end());
  EXPECT_EQ(std::get<history::Declined>(declined->facts).reason, history::Declined::kLaunchFailed);
  const std::string node = "0000000000";
  std::vector<history::JournalEntry> launches = history::entries_of(*journal_, node);
  std::erase_if(launches,
                [](const history::JournalEntry& entry) { return entry.event != "launch"; });
  ASSERT_EQ(launches.size(), 2U);
  EXPECT_THAT(launches[0].related, ElementsAre(id));
  EXPECT_THAT(launches[0].details, StartsWith("attempt 1 of 2 failed after "));
  EXPECT_THAT(launches[1].details, StartsWith("attempt 2 of 2 failed after "));
  for (const history::JournalEntry& entry : launches) {
    EXPECT_THAT(to_json(entry.facts), AllOf(HasSubstr(R"("notes":[)"), HasSubstr(R"("step":")"),
                                            HasSubstr(R"("failure":")")));
  }
}

TEST_F(HistoryTest, a_successful_launch_is_one_entry_without_details) {
  start(fake_sky("0"));
  request({"small"});
  pass(std::chrono::minutes(2));
  stop();
  EXPECT_THAT(lines("0000000000"),
              testing::Contains(HasSubstr("attempt 1 of 2 succeeded after 20.")));
  for (const history::JournalEntry& entry : history::entries_of(*journal_, "0000000000")) {
    EXPECT_THAT(to_json(entry.facts), testing::Not(HasSubstr("notes")));
  }
}

TEST_F(HistoryTest, a_journal_that_cannot_be_written_keeps_no_launch_from_its_node) {
  journal_ = history::Journal{.directory = "/proc/nowhere"};
  start(fake_sky("0"));
  const std::string id = request({"small"});
  pass(std::chrono::minutes(2));
  EXPECT_EQ(read_request(id).state, model::RequestState::fulfilled);
  stop();
}

TEST_F(HistoryTest, a_request_that_no_pool_can_serve_has_the_reasons) {
  start(std::string(kHostWithHistory));
  const std::string id = request({"b"});
  stop();
  EXPECT_THAT(lines(id),
              ElementsAre("requested label(s) b for test",
                          AllOf(StartsWith("declined rack-main on host: "), HasSubstr("b")),
                          "failed rack-main on host: node type(s) [b] not available"));
}

TEST_F(HistoryTest, a_failed_request_names_the_declines_that_decided) {
  std::string two_labels = fake_sky("1");
  two_labels.replace(two_labels.find("{name: small}"), 13, "{name: small}, {name: a}");
  start(two_labels + R"(
  - name: rack
    driver: static
    pools: [{name: main, nodes: [{name: host-1, labels: [a]}]}]
)");
  const std::string id = request({"small"});
  pass(std::chrono::minutes(10));
  stop();
  const std::vector<history::JournalEntry> entries = history::entries_of(*journal_, id);
  EXPECT_EQ(std::ranges::count(entries, "declined", &history::JournalEntry::event), 2);
  const history::JournalEntry& failed = entries.back();
  EXPECT_EQ(failed.event, "failed");
  EXPECT_THAT(failed.details, AllOf(StartsWith("fake-sky-main on host: launch failed: "),
                                    Not(HasSubstr("not available"))));
  const auto& declines = std::get<history::DeclinedByAll>(failed.facts).declines;
  ASSERT_EQ(declines.size(), 1U);
  EXPECT_EQ(declines[0].reason, history::Declined::kLaunchFailed);
}

TEST_F(HistoryTest, a_request_that_failed_while_no_launcher_ran_has_the_reasons) {
  start(std::string(kHostWithHistory));
  stop();
  pass(std::chrono::seconds(10));
  const auto fail = [this](model::NodeRequest& request) {
    const std::string pool = "other-PoolWorker.rack-main-" + std::string(32, 'a');
    request.set_state(model::RequestState::failed, clock_.wall_seconds());
    request.declined_by = {pool};
    request.decline_reasons[pool] = "node type(s) [b] not available";
  };
  const std::string id = request({"b"}, fail);
  start(std::string(kHostWithHistory));
  stop();
  EXPECT_THAT(lines(id), ElementsAre("failed label(s) b for test; rack-main on other: "
                                     "node type(s) [b] not available"));
  const history::JournalEntry failed = history::entries_of(*journal_, id).at(0);
  EXPECT_EQ(std::get<history::DeclinedByAll>(failed.facts).declines.at(0).reason,
            history::Declined::kNotOffered)
      << "recognized by its sentence";
}

TEST_F(HistoryTest, the_requests_of_min_ready_that_find_a_full_pool_are_known_by_the_reason) {
  start(R"(
labels: [{name: small, min-ready: 2}]
providers:
  - name: sky
    driver: cloud
    pools: [{name: main, max-servers: 1, labels: [small]}]
)");
  pass(std::chrono::minutes(1));
  stop();
  std::vector<history::DeclinedByAll> failures;
  history::read_lines(*journal_, [&failures](std::string_view line) {
    const auto entry = history::parse_line(line);
    if (!entry || entry->event != "failed") return;
    failures.push_back(std::get<history::DeclinedByAll>(entry->facts));
  });
  ASSERT_THAT(failures, Not(IsEmpty()));
  for (const history::DeclinedByAll& failed : failures) {
    EXPECT_EQ(failed.declines.at(0).reason, history::Declined::kPoolFull);
  }
}

TEST_F(HistoryTest, a_withdrawn_request_is_gone_without_an_answer) {
  start(std::string(kHostWithHistory));
  request({"a"});
  const std::string waiting = request({"a"});
  cancel(waiting);
  const std::string failed = request({"b"});
  cancel(failed);
  stop();
  EXPECT_EQ(lines(waiting).back(), "gone withdrawn, last seen as requested");
  EXPECT_EQ(lines(failed).back(), "gone");
}

TEST_F(HistoryTest, a_pool_without_the_label_says_nothing_of_a_request_for_others) {
  start(std::string(kHostWithHistory) + R"(
  - name: hall
    driver: static
    pools: [{name: main, nodes: [{name: host-2, labels: [b]}]}]
)");
  request({"a"});
  const std::string waiting = request({"a"});
  stop();
  EXPECT_THAT(lines(waiting), ElementsAre("requested label(s) a for test",
                                          StartsWith("decision rack-main on host waits: ")));
}

TEST_F(HistoryTest, a_decline_has_its_own_reason_and_not_the_one_of_an_earlier_wait) {
  start(std::string(kHostWithHistory));
  request({"a"});
  const std::string waiting = request({"a"});
  const std::string unknown = request({"b"});
  std::string without_host(kHostWithHistory);
  reconfigure(without_host.replace(without_host.find("labels: [a]}"), 12, "labels: [b]}"));
  stop();
  const auto reason_of = [this](const std::string& id) {
    const std::vector<history::JournalEntry> entries = history::entries_of(*journal_, id);
    const auto declined = std::ranges::find(entries, "declined", &history::JournalEntry::event);
    return declined == entries.end() ? "none" : std::get<history::Declined>(declined->facts).reason;
  };
  EXPECT_EQ(reason_of(waiting), "labels-not-offered");
  EXPECT_EQ(reason_of(unknown), "labels-not-offered");
}

TEST_F(HistoryTest, held_nodes_and_changed_priorities_are_in_it) {
  start(std::string(kHostWithHistory));
  const std::string node = nodes().front().id;
  const std::string served = request({"a"});
  const std::string waiting = request({"a"});
  accept(served);
  model::NodeRequest changed = read_request(waiting);
  changed.relative_priority = 7;
  as_requestor(
      requestor_->set(model::request_path(waiting), to_record(changed), changed.stat.version));
  settle();
  model::Node held = read_node(node);
  held.comment = "look at the disk";
  held.set_state(model::NodeState::hold, clock_.wall_seconds());
  write_node(held);
  stop();
  EXPECT_THAT(lines(node), testing::Contains("hold look at the disk"));
  EXPECT_THAT(lines(waiting), testing::Contains("priority relative priority 7"));
}

TEST_F(HistoryTest, a_restart_adds_only_what_happened_meanwhile) {
  start(std::string(kHostWithHistory));
  const std::string node = nodes().front().id;
  const std::string known = request({"b"});
  stop();
  const std::vector<std::string> before = lines(known);
  const std::vector<std::string> node_before = lines(node);

  pass(std::chrono::seconds(10));
  const std::string missed =
      request({"b"}, [](model::NodeRequest& request) { request.relative_priority = 3; });
  start(std::string(kHostWithHistory));
  stop();
  EXPECT_EQ(lines(known), before);
  EXPECT_EQ(lines(node), node_before);
  EXPECT_THAT(lines(missed),
              testing::Contains("requested label(s) b for test, relative priority 3"));
}

TEST_F(HistoryTest, a_place_that_cannot_be_written_is_one_warning) {
  journal_->directory = "/proc/no/such/place";
  start(std::string(kHostWithHistory));
  for (int i = 0; i < 3; ++i) cancel(request({"b"}));
  stop();
  EXPECT_THAT(log_, ElementsAre(AllOf(StartsWith("nodepool.history: Cannot write the history, "),
                                      HasSubstr("/proc/no"))));
}

TEST_F(HistoryTest, dropped_entries_are_counted_and_reported_until_it_recovers) {
  journal_->directory = directory_.path() / "journal";
  directory_.write("journal", "in its place");
  start(std::string(kHostWithHistory));
  cancel(request({"b"}));
  pass(std::chrono::seconds(1));
  const auto problems = [this] { return launcher().health().warnings; };
  await([&] { return !problems().empty(); });
  EXPECT_THAT(problems(), ElementsAre(StartsWith("the history cannot be written: ")));
  const auto lost = [this] {
    telemetry::MetricsRegistry figures;
    launcher().add_metrics(figures);
    return figures.prometheus_text();
  };
  EXPECT_THAT(lost(), HasSubstr("nodepool_history_entries_dropped_total "));
  EXPECT_THAT(lost(), Not(HasSubstr("nodepool_history_entries_dropped_total 0\n")));
  std::filesystem::remove(directory_.path() / "journal");
  cancel(request({"b"}));
  pass(std::chrono::seconds(1));
  await([&] { return problems().empty(); });
  stop();
}

TEST_F(HistoryTest, without_a_journal_nothing_is_written) {
  journal_.reset();
  start(std::string(kHostWithHistory));
  request({"a"});
  stop();
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
  EXPECT_THAT(log_, IsEmpty());
}

}  // namespace
}  // namespace nodepool::launcher
