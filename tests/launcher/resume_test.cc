// Launchers that end in the middle of a launch, at any point: another launcher completes the same
// machines for the same request.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/paths.h"
#include "tests/launcher/launcher_fixture.h"

namespace nodepool::launcher {
namespace {

using model::Node;
using model::NodeState;
using model::RequestState;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::SizeIs;
using testing::UnorderedElementsAreArray;

constexpr auto kFake = R"(
labels: [{name: small}]
providers:
  - name: fake-sky
    cloud: fake
    cloud-images: [{name: Fake Precise}]
    fake-cloud: {boot-time: 20, latency: 2, delete-time: 5}
    pools:
      - name: main
        labels: [{name: small, cloud-image: Fake Precise, flavor-name: Fake Flavor}]
)";

// More continuations than a launch takes.
constexpr std::size_t kMany = 20'000;

class ResumeTest : public LauncherFixture {
 protected:
  RequestState state(const std::string& request_id) const {
    const auto entry = server_.tree().get(model::request_path(request_id));
    return model::parse_node_request(request_id, entry).state;
  }

  // Nodes with a started launch, without those that are deleted because it never started.
  std::set<std::string> begun_nodes() {
    std::set<std::string> begun;
    for (const Node& node : nodes()) {
      const bool was_only_recorded =
          node.state == NodeState::init ||
          (node.state == NodeState::deleting && node.launch_journal.is_null());
      if (!was_only_recorded) begun.insert(node.id);
    }
    return begun;
  }

  std::set<std::string> machines() {
    std::set<std::string> ids;
    for (const auto& server : fake_clouds_->cloud("fake-sky")->servers(clock_.now())) {
      ids.insert(server.id);
    }
    return ids;
  }

  // Creates a request for two nodes and runs that many continuations of the launcher. Returns
  // whether the request was fulfilled meanwhile.
  bool request_and_run_for(std::size_t steps) {
    request_ = post_request({"small", "small"});
    for (std::size_t i = 0; i < steps; ++i) {
      if (state(request_) == RequestState::fulfilled) return true;
      step();
    }
    return false;
  }

  // Expects that the request is fulfilled with the nodes whose launches had started, if any, each
  // with its own machine, without further machines. Then releases them.
  void expect_the_same_nodes_to_be_handed_out() {
    const std::set<std::string> begun = begun_nodes();
    // No longer than needed: the leak check would delete an extra machine.
    for (int i = 0; i < 120 && state(request_) != RequestState::fulfilled; ++i) pass(seconds(1));
    ASSERT_EQ(state(request_), RequestState::fulfilled);
    EXPECT_THAT(read_request(request_).declined_by, IsEmpty());
    const std::vector<std::string> handed_out = read_request(request_).nodes;
    ASSERT_THAT(handed_out, SizeIs(2));
    EXPECT_THAT(handed_out, IsSupersetOf(begun));
    std::set<std::string> made;
    for (const std::string& id : handed_out) {
      EXPECT_EQ(read_node(id).state, NodeState::ready);
      made.insert(read_node(id).external_id_text());
    }
    EXPECT_THAT(made, SizeIs(2));
    EXPECT_EQ(machines(), made);
    EXPECT_THAT(contenders(), IsEmpty());
    accept(request_);
    for (const std::string& id : handed_out) give_back(id);
    pass(minutes(1));
    EXPECT_THAT(nodes(), IsEmpty());
    EXPECT_THAT(machines(), IsEmpty());
  }

  // Kills the launcher while it launches both nodes of a request, one of which another pool has
  // failed to launch before: that machine is still being deleted. Returns the nodes.
  std::set<std::string> interrupt_after_failed_launch(const std::string& yaml) {
    start(yaml);
    request_ = post_request({"small", "small"});
    for (std::size_t i = 0; i < kMany && begun_nodes().size() < 2; ++i) step();
    const std::set<std::string> begun = begun_nodes();
    Node failed = read_node(*begun.begin());
    failed.provider = "of-another-launcher";
    failed.launch_journal = {};
    failed.set_state(NodeState::deleting, clock_.wall_seconds());
    as_requestor(requestor_->create(model::node_path(""), to_record(failed),
                                    coordination::CreateMode::persistent_sequential));
    kill();
    return begun;
  }

  std::string request_;
};

TEST_F(ResumeTest, a_launcher_may_die_anywhere_and_be_started_again) {
  bool ended = false;
  for (std::size_t steps = 1; !ended; ++steps) {
    SCOPED_TRACE(testing::Message() << "death after " << steps << " continuations");
    ASSERT_LT(steps, kMany);
    start(kFake);
    ended = request_and_run_for(steps);
    kill();
    start(kFake);
    expect_the_same_nodes_to_be_handed_out();
    if (HasFailure()) return;
    stop();
  }
}

TEST_F(ResumeTest, a_launcher_may_be_stopped_anywhere_and_started_again) {
  bool ended = false;
  for (std::size_t steps = 1; !ended; ++steps) {
    SCOPED_TRACE(testing::Message() << "stop after " << steps << " continuations");
    ASSERT_LT(steps, kMany);
    start(kFake);
    ended = request_and_run_for(steps);
    stop();
    start(kFake);
    expect_the_same_nodes_to_be_handed_out();
    if (HasFailure()) return;
    stop();
  }
}

TEST_F(ResumeTest, a_launcher_may_die_anywhere_and_another_one_takes_over) {
  start_another(kFake);
  bool ended = false;
  for (std::size_t steps = 1; !ended; ++steps) {
    SCOPED_TRACE(testing::Message() << "death after " << steps << " continuations");
    ASSERT_LT(steps, kMany);
    start(kFake);
    pass(seconds(10));  // until the quota is known; then each takes half of the requests
    ended = request_and_run_for(steps);
    kill();
    expect_the_same_nodes_to_be_handed_out();
    if (HasFailure()) return;
  }
}

TEST_F(ResumeTest, the_connection_to_the_store_may_break_anywhere) {
  bool ended = false;
  for (std::size_t steps = 1; !ended; ++steps) {
    SCOPED_TRACE(testing::Message() << "an outage after " << steps << " continuations");
    ASSERT_LT(steps, kMany);
    start(kFake);
    ended = request_and_run_for(steps);
    process_store().suspend_for_tests();
    pass(seconds(7));
    process_store().resume_for_tests();
    expect_the_same_nodes_to_be_handed_out();
    if (HasFailure()) return;
    stop();
  }
}

TEST_F(ResumeTest, the_session_may_end_anywhere) {
  bool ended = false;
  for (std::size_t steps = 1; !ended; ++steps) {
    SCOPED_TRACE(testing::Message() << "the session ends after " << steps << " continuations");
    ASSERT_LT(steps, kMany);
    start(kFake);
    ended = request_and_run_for(steps);
    process_store().expire_for_tests();
    expect_the_same_nodes_to_be_handed_out();
    if (HasFailure()) return;
    stop();
  }
}

TEST_F(ResumeTest, a_store_that_is_away_for_longer_than_a_launch_may_take_fails_none) {
  start(std::string(kFake) + "    launch-timeout: 60\n    launch-retries: 1\n");
  ASSERT_FALSE(request_and_run_for(80));
  ASSERT_THAT(begun_nodes(), SizeIs(2));
  process_store().suspend_for_tests();
  pass(minutes(30));
  process_store().resume_for_tests();
  expect_the_same_nodes_to_be_handed_out();
}

// Another provider, whose launcher does not know the machines.
constexpr auto kRack = R"(
labels: [{name: rack}]
providers:
  - name: rack
    driver: static
    pools: [{name: main, nodes: [{name: host-1, labels: [rack]}]}]
)";

TEST_F(ResumeTest, a_launcher_of_another_provider_leaves_it_time_to_come_back) {
  start_another(kRack);
  for (const auto absence : {seconds(15), seconds(45), seconds(100)}) {
    SCOPED_TRACE(testing::Message() << "back after " << absence.count() << " s");
    start(kFake);
    ASSERT_FALSE(request_and_run_for(150));
    ASSERT_THAT(begun_nodes(), SizeIs(3));
    kill();
    pass(absence);
    EXPECT_EQ(state(request_), RequestState::pending);
    start(kFake);
    for (int i = 0; i < 60 && state(request_) != RequestState::fulfilled; ++i) pass(seconds(1));
    ASSERT_EQ(state(request_), RequestState::fulfilled);
    EXPECT_THAT(machines(), SizeIs(2)) << "the same ones";
    accept(request_);
    for (const std::string& id : begun_nodes()) {
      if (read_node(id).state == NodeState::in_use) give_back(id);
    }
    pass(minutes(1));
    stop();
  }
}

// The same pool with another configuration, which does not know how to launch the nodes.
TEST_F(ResumeTest, a_launcher_of_the_pool_without_the_label_leaves_it_to_others) {
  std::string other = kFake;
  for (auto at = other.find("small"); at != std::string::npos; at = other.find("small", at)) {
    other.replace(at, 5, "large");
  }
  start_another(other);
  start(kFake);
  request_ = post_request({"small", "small"});
  for (std::size_t i = 0; i < kMany && begun_nodes().size() < 2; ++i) step();
  ASSERT_THAT(begun_nodes(), SizeIs(2));
  kill();
  pass(seconds(45));
  EXPECT_EQ(state(request_), RequestState::pending);
  start(kFake);
  expect_the_same_nodes_to_be_handed_out();
}

TEST_F(ResumeTest, a_node_that_the_request_had_before_does_not_prevent_it) {
  const std::set<std::string> begun = interrupt_after_failed_launch(kFake);
  ASSERT_THAT(begun, SizeIs(2));
  start(kFake);
  for (int i = 0; i < 60 && state(request_) != RequestState::fulfilled; ++i) pass(seconds(1));
  ASSERT_EQ(state(request_), RequestState::fulfilled);
  EXPECT_THAT(read_request(request_).nodes, UnorderedElementsAreArray(begun));
  EXPECT_THAT(machines(), SizeIs(2));
}

TEST_F(ResumeTest, a_node_that_the_request_had_before_does_not_count_for_max_concurrency) {
  const std::string limited = std::string(kFake) + "    max-concurrency: 3\n";
  ASSERT_THAT(interrupt_after_failed_launch(limited), SizeIs(2));
  start(limited);
  pass(seconds(5));
  const std::string other = request({"small"});
  const std::string last = request({"small"});
  pass(seconds(3));
  ASSERT_EQ(state(request_), RequestState::pending) << "two launches are under way";
  EXPECT_EQ(state(other), RequestState::pending) << "the third launch";
  EXPECT_EQ(state(last), RequestState::requested);
}

TEST_F(ResumeTest, a_request_with_pools_that_do_not_return_fails) {
  start_another(kRack);
  start(kFake);
  ASSERT_FALSE(request_and_run_for(150));
  kill();
  pass(minutes(5));
  EXPECT_EQ(state(request_), RequestState::failed);
}

TEST_F(ResumeTest, launchers_may_die_again_and_again) {
  for (std::size_t life = 20; life < 400; life += 7) {
    SCOPED_TRACE(testing::Message() << "deaths after " << life << " continuations each");
    start(kFake);
    request_and_run_for(life);
    for (int death = 0; death < 5; ++death) {
      kill();
      start(kFake);
      for (std::size_t i = 0; i < life; ++i) step();
    }
    expect_the_same_nodes_to_be_handed_out();
    if (HasFailure()) return;
    stop();
  }
}

}  // namespace
}  // namespace nodepool::launcher
