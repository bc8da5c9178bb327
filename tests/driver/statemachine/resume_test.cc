// Launchers that die, or are stopped, in the middle of a launch; another one goes on.

#include "coordination/error.h"
#include "tests/driver/statemachine/provider_test.h"

namespace nodepool::driver {
namespace {

using harness::Job;
using model::Node;
using model::NodeState;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = CloudError::Kind;

// More continuations than any launch here takes.
constexpr int kMany = 10'000;

class ResumeTest : public ProviderTest {
 protected:
  // Launches the node, and dies after `steps` continuations. Returns whether it had ended by then.
  bool launch_and_die(const std::string& id, int steps) {
    const auto job = start().launch(id);
    for (int i = 0; i < steps && !job->ended; ++i) process_->step();
    const bool ended = job->ended;
    process_.reset();
    return ended;
  }

  // Another launcher goes on with it, if it has not come to an end.
  Node finish(const std::string& id) {
    start();
    if (node(id).state != NodeState::ready) {
      const auto job = process_->launch(id);
      process_->run_until_ended(*job);
      EXPECT_EQ(job->failure(), "");
    }
    return node(id);
  }

  // As a reload does. Expects that the launch ends soon.
  void replace_provider_and_expect(LaunchError::Kind end, const Job& job, async::Duration soon) {
    const auto begun = installation_.clock.now();
    process_->replace_provider();
    EXPECT_LE(installation_.clock.now() - begun, soon);
    try {
      job.result();
      ADD_FAILURE() << "it has succeeded";
    } catch (const LaunchError& error) {
      EXPECT_EQ(error.kind(), end);
    }
  }

  // The cloud responds to the new provider, in the same process.
  Node finish_with_successor(const std::string& id) {
    cloud_->faults.clear();
    const auto job = process_->launch(id);
    process_->run_until_ended(*job);
    EXPECT_EQ(job->failure(), "");
    return node(id);
  }

  void expect_one_machine(const Node& node) {
    EXPECT_EQ(node.state, NodeState::ready);
    EXPECT_EQ(node.external_id_text(), "np" + node.id);
    EXPECT_THAT(cloud_->disks, SizeIs(1));
    EXPECT_THAT(cloud_->servers, SizeIs(1));
    EXPECT_TRUE(node.launch_journal.is_null());
  }

  // As if nothing had been launched yet.
  void clear() {
    for (const std::string& id : installation_.nodes()) installation_.remove_node(id);
    cloud_->disks.clear();
    cloud_->servers.clear();
    cloud_->calls.clear();
    cloud_->made = 0;
  }
};

TEST_F(ResumeTest, a_launcher_may_die_anywhere) {
  cloud_->latency = seconds(2);
  cloud_->boot_time = seconds(30);
  int steps = 0;
  for (bool ended = false; !ended; clear()) {
    SCOPED_TRACE(testing::Message() << "death after " << ++steps << " steps");
    ASSERT_LT(steps, kMany);
    const std::string id = add_node();
    ended = launch_and_die(id, steps);
    expect_one_machine(finish(id));
    EXPECT_EQ(cloud_->made, 2U) << "a disk and a server";
    if (HasFailure()) return;
  }
  EXPECT_GT(steps, 15);
}

TEST_F(ResumeTest, it_may_die_anywhere_with_an_attempt_that_fails_and_again_after_that) {
  cloud_->latency = seconds(2);
  for (const int first : {5, 12, 19, 25, 32, 40}) {
    for (int second = 1; second < 60; second += 2) {
      SCOPED_TRACE(testing::Message() << "deaths after " << first << " and " << second);
      cloud_->fail("look", {Kind::failed});
      const std::string id = add_node();
      launch_and_die(id, first);
      launch_and_die(id, second);
      expect_one_machine(finish(id));
      if (HasFailure()) return;
      clear();
      cloud_->faults.clear();
    }
  }
}

TEST_F(ResumeTest, it_may_die_anywhere_while_it_deletes) {
  cloud_->latency = seconds(2);
  int steps = 0;
  for (bool ended = false; !ended;) {
    SCOPED_TRACE(testing::Message() << "death after " << ++steps << " steps");
    ASSERT_LT(steps, kMany);
    const Node node = launch_new();
    const auto job = process_->reclaim(node.id);
    for (int i = 0; i < steps && !job->ended; ++i) process_->step();
    ended = job->ended;
    start();
    if (!installation_.nodes().empty()) {
      const auto again = process_->reclaim(node.id);
      process_->run_until_ended(*again);
      EXPECT_EQ(again->failure(), "");
    }
    EXPECT_THAT(cloud_->servers, IsEmpty());
    EXPECT_THAT(cloud_->disks, IsEmpty());
    if (HasFailure()) return;
  }
  EXPECT_GT(steps, 4);
}

TEST_F(ResumeTest, a_partly_created_machine_is_reclaimed_after_a_death_anywhere) {
  cloud_->latency = seconds(2);
  int steps = 0;
  for (bool ended = false; !ended; clear()) {
    SCOPED_TRACE(testing::Message() << "death after " << ++steps << " steps");
    ASSERT_LT(steps, kMany);
    const std::string id = add_node();
    ended = launch_and_die(id, steps);
    const auto job = start().reclaim(id);
    process_->run_until_ended(*job);
    EXPECT_EQ(job->failure(), "");
    EXPECT_THAT(cloud_->servers, IsEmpty());
    if (HasFailure()) return;
  }
}

TEST_F(ResumeTest, a_save_that_fails_ends_the_launch_and_nothing_is_done_after_it) {
  // The store says no at the first, second, … write of the record: the node's lock is lost.
  for (int bad = 1;; ++bad) {
    SCOPED_TRACE(testing::Message() << "write " << bad);
    const std::string id = add_node();
    int writes = 0;
    std::size_t calls = 0;
    const auto job = start().launch(id, [&](const Node&) {
      if (++writes != bad) return;
      calls = cloud_->calls.size();
      throw coordination::StoreError(coordination::StoreError::Kind::bad_version,
                                     "the lock is lost");
    });
    process_->run_until_ended(*job);
    if (writes < bad) break;
    EXPECT_EQ(job->failure(), "the lock is lost");
    EXPECT_EQ(cloud_->calls.size(), calls);
    expect_one_machine(finish(id));
    clear();
    if (HasFailure()) return;
    ASSERT_LT(bad, 20);
  }
}

TEST_F(ResumeTest, an_orderly_stop_leaves_a_launch_to_resume) {
  cloud_->boot_time = minutes(5);
  const std::string id = add_node();
  const auto job = start().launch(id);
  process_->pass(minutes(1));
  process_->cancel();
  EXPECT_TRUE(job->ended);
  EXPECT_THROW(job->result(), async::Cancelled);
  EXPECT_THAT(cloud_->servers, SizeIs(1)) << "it is neither undone nor given up";
  expect_one_machine(finish(id));
  EXPECT_EQ(cloud_->count("make server"), 1U);
  EXPECT_EQ(cloud_->count("remove"), 0U);
}

// A reload corrects the credentials or the cloud's address.
TEST_F(ResumeTest, a_launch_that_searches_in_vain_is_left_to_the_successor_of_its_provider) {
  for (const Kind kind : {Kind::auth, Kind::transient}) {
    cloud_->fail("make server", {.kind = Kind::unknown_outcome, .is_done = true});
    cloud_->fail("find server", {kind}, kMany);
    const std::string id = add_node();
    const auto job = start().launch(id);
    process_->pass(minutes(2));
    ASSERT_FALSE(job->ended);
    replace_provider_and_expect(LaunchError::Kind::replaced, *job, seconds(5));
    expect_one_machine(finish_with_successor(id));
    EXPECT_EQ(cloud_->count("make server"), 1U);
    clear();
  }
}

TEST_F(ResumeTest, a_launch_that_cannot_poll_is_left_to_the_successor_of_its_provider) {
  cloud_->boot_time = minutes(10);
  cloud_->unlisted = "HTTP 401: expired";
  const std::string id = add_node();
  const auto job = start().launch(id);
  process_->pass(minutes(2));
  replace_provider_and_expect(LaunchError::Kind::replaced, *job, seconds(30));
  cloud_->unlisted.clear();
  expect_one_machine(finish_with_successor(id));
  EXPECT_EQ(cloud_->count("make server"), 1U);
}

TEST_F(ResumeTest, a_launch_that_cannot_delete_is_left_to_the_successor_of_its_provider) {
  cloud_->fail("look", {Kind::failed});
  cloud_->fail("remove", {Kind::auth}, kMany);
  const std::string id = add_node();
  const auto job = start().launch(id);
  process_->pass(minutes(2));
  replace_provider_and_expect(LaunchError::Kind::replaced, *job, seconds(10));
  expect_one_machine(finish_with_successor(id));
  EXPECT_EQ(cloud_->count("make server"), 2U);
}

TEST_F(ResumeTest, a_launch_whose_attempts_are_refused_is_left_to_the_successor_of_its_provider) {
  cloud_->fail("make disk", {Kind::auth}, kMany);
  const std::string id = add_node();
  const auto job = start().launch(id);
  process_->pass(seconds(1));
  replace_provider_and_expect(LaunchError::Kind::replaced, *job, seconds(15));
  expect_one_machine(finish_with_successor(id));
}

TEST_F(ResumeTest, a_launch_that_gets_responses_continues_with_a_replaced_provider) {
  cloud_->fail("make server", {.kind = Kind::unknown_outcome, .is_done = true});
  cloud_->fail("find server", {Kind::transient}, 20);  // for less than half a minute
  cloud_->boot_time = minutes(5);
  const std::string id = add_node();
  const auto job = start().launch(id);
  process_->pass(seconds(5));
  process_->replace_provider();
  EXPECT_EQ(job->failure(), "");
  expect_one_machine(node(id));
}

TEST_F(ResumeTest, a_deletion_that_cannot_poll_is_left_to_the_successor_of_its_provider) {
  const Node node = launch_new();
  cloud_->unlisted = "HTTP 401: expired";
  const auto job = process_->reclaim(node.id);
  process_->pass(minutes(1));
  ASSERT_FALSE(job->ended);
  const auto begun = installation_.clock.now();
  process_->replace_provider();
  EXPECT_LE(installation_.clock.now() - begun, seconds(10));
  EXPECT_EQ(job->failure(), "could not poll servers: HTTP 401: expired");
  cloud_->unlisted.clear();
  const auto next = process_->reclaim(node.id);
  process_->run_until_ended(*next);
  EXPECT_EQ(next->failure(), "");
  EXPECT_THAT(installation_.nodes(), IsEmpty());
}

TEST_F(ResumeTest, attempts_are_counted_over_deaths) {
  config_->launch_retries_ = 2;
  cloud_->boots = false;
  cloud_->boot_time = minutes(1);
  const std::string id = add_node();
  const auto first = start().launch(id);
  process_->pass(seconds(90));  // the second attempt has begun
  ASSERT_EQ(cloud_->count("make server"), 2U);
  const auto second = start().launch(id);
  process_->run_until_ended(*second);
  EXPECT_EQ(second->failure(), "the server does not come up");
  EXPECT_EQ(cloud_->count("make server"), 2U);
}

TEST_F(ResumeTest, what_a_launcher_without_a_journal_has_begun_is_made_anew) {
  cloud_->boot_time = minutes(1);
  const std::string id = add_node();
  start().launch(id);
  process_->pass(seconds(30));
  process_.reset();
  Node begun = node(id);
  ASSERT_EQ(begun.external_id_text(), "np" + id);
  begun.launch_journal = {};
  installation_.write(begun);
  expect_one_machine(finish(id));
  EXPECT_EQ(cloud_->count("remove"), 1U);
  EXPECT_EQ(cloud_->count("make server"), 2U);
}

TEST_F(ResumeTest, a_launch_keeps_to_its_image_as_long_as_that_is_there) {
  const std::string old = add_upload("b1", 10);
  cloud_->latency = minutes(1);
  const std::string first = add_node("built");
  const std::string second = add_node("built");
  for (const std::string& id : {first, second}) {
    start().launch(id);
    process_->pass(seconds(10));  // the disk is being made
  }
  process_.reset();
  add_upload("b2", 20);
  EXPECT_EQ(finish(first).image_id,
            "/nodepool/images/trixie/builds/b1/providers/cloud/images/" + old);
  EXPECT_EQ(cloud_->servers.back().image, "image-of-b1");
  installation_.remove_upload("trixie", "b1", "cloud", old);
  finish(second);
  EXPECT_EQ(cloud_->servers.back().image, "image-of-b2");
}

TEST_F(ResumeTest, a_clock_change_does_not_change_the_consistency_delay) {
  for (const double jump : {-86400.0, 0.0, 86400.0}) {
    cloud_->latency = minutes(1);
    const std::string id = add_node();
    auto job = start().launch(id);
    process_->pass(seconds(10));  // the disk is being made
    process_.reset();
    installation_.clock.shift_wall_clock(jump);
    cloud_->latency = seconds(0);
    const auto begun = installation_.clock.now();
    expect_one_machine(finish(id));
    EXPECT_EQ(installation_.clock.now() - begun, seconds(30)) << jump;
    clear();
  }
}

}  // namespace
}  // namespace nodepool::driver
