// Launchers that die: whenever that happens, another one brings the same node to its end, and there
// is one machine. A launcher's tasks are run one continuation at a time, so that it dies before and
// after each write to the store and each call of the cloud, and while it waits for their answers.

#include "tests/drivers/contract/contract.h"

namespace nodepool::drivers::contract {
namespace {

using model::NodeState;
using std::chrono::minutes;
using testing::IsEmpty;
using testing::SizeIs;

// More continuations than a launch takes.
constexpr std::size_t kMany = 100'000;

TEST_P(DeathContract, another_launcher_finishes_what_a_death_anywhere_has_left) {
  bool ended = false;
  for (std::size_t steps = 1; !ended; steps += cloud_->stride()) {
    SCOPED_TRACE(testing::Message() << "death after " << steps << " continuations");
    ASSERT_LT(steps, kMany);
    const std::string id = add_node();
    ended = run_for(*start().launch(id), steps);
    start();
    if (node(id).state != NodeState::ready) EXPECT_EQ(finish(process_->launch(id))->failure(), "");
    expect_one_machine(id);
    take_back(id);
    EXPECT_THAT(machine_ids(), IsEmpty());
    if (HasFailure()) return;
  }
}

TEST_P(DeathContract, what_a_death_anywhere_has_left_is_taken_back) {
  bool ended = false;
  for (std::size_t steps = 1; !ended; steps += cloud_->stride()) {
    SCOPED_TRACE(testing::Message() << "death after " << steps << " continuations");
    ASSERT_LT(steps, kMany);
    const std::string id = add_node();
    ended = run_for(*start().launch(id), steps);
    start();
    take_back(id);
    EXPECT_THAT(machine_ids(), IsEmpty());
    if (HasFailure()) return;
  }
}

TEST_P(DeathContract, a_deletion_goes_on_after_a_death_anywhere) {
  bool ended = false;
  for (std::size_t steps = 1; !ended; steps += cloud_->stride()) {
    SCOPED_TRACE(testing::Message() << "death after " << steps << " continuations");
    ASSERT_LT(steps, kMany);
    const std::string id = launch_new().id;
    ended = run_for(*process_->take_back(id), steps);
    start();
    if (is_recorded(id)) take_back(id);
    EXPECT_THAT(machine_ids(), IsEmpty());
    if (HasFailure()) return;
  }
}

TEST_P(DeathContract, attempts_that_fail_and_launchers_that_die_leave_one_machine) {
  bool ended = false;
  for (std::size_t steps = 1; !ended; steps += cloud_->stride()) {
    SCOPED_TRACE(testing::Message() << "two deaths after " << steps << " continuations each");
    ASSERT_LT(steps, kMany);
    cloud_->provoke(Trouble::broken_machine, 1);
    const std::string id = add_node();
    ended = run_for(*start().launch(id), steps);
    if (node(id).state != NodeState::ready) run_for(*start().launch(id), steps);
    start();
    if (node(id).state != NodeState::ready) EXPECT_EQ(finish(process_->launch(id))->failure(), "");
    expect_one_machine(id);
    take_back(id);
    EXPECT_THAT(machine_ids(), IsEmpty());
    if (HasFailure()) return;
  }
}

TEST_P(DeathContract, a_launcher_dies_while_nobody_knows_whether_a_machine_was_made) {
  for (const Trouble trouble : {Trouble::answer_lost, Trouble::question_lost}) {
    bool ended = false;
    for (std::size_t steps = 1; !ended; steps += cloud_->stride()) {
      SCOPED_TRACE(testing::Message() << "death after " << steps << " continuations");
      ASSERT_LT(steps, kMany);
      cloud_->provoke(trouble, 1);
      const std::string id = add_node();
      ended = run_for(*start().launch(id), steps);
      start();
      if (node(id).state != NodeState::ready) {
        EXPECT_EQ(finish(process_->launch(id))->failure(), "");
      }
      expect_one_machine(id);
      take_back(id);
      EXPECT_THAT(machine_ids(), IsEmpty());
      if (HasFailure()) return;
    }
  }
}

TEST_P(DeathContract, a_launcher_that_is_stopped_leaves_its_launch_to_the_next) {
  cloud_->set_boot_time(minutes(10));
  const std::string id = add_node();
  const auto job = start().launch(id);
  process_->pass(minutes(5));
  process_->cancel();
  EXPECT_THROW(job->result(), async::Cancelled);
  process_->run(provider().stop());
  const auto machines = machines_of(id);
  EXPECT_THAT(machines, SizeIs(1));
  EXPECT_EQ(finish(start().launch(id))->failure(), "");
  expect_one_machine(id);
  EXPECT_EQ(machines_of(id), machines) << "the same one";
}

}  // namespace
}  // namespace nodepool::drivers::contract
