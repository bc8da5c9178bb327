// Launchers that die: whenever that happens, another one brings the same node to its end, and there
// is one machine. A launcher's tasks are run one continuation at a time, so that it dies before and
// after each write to the store and each call of the cloud, and while it waits for their answers.

#include <utility>

#include "tests/drivers/contract/contract.h"

namespace nodepool::drivers::contract {

// More moments than there are in a launch.
constexpr int kMany = 10'000;

DeathContract::DeathContract()
    : session_(installation_.server.open_session(
          [this](const std::vector<coordination::WatchEvent>& /*events*/) {
            ++records_changes_;
          })) {}

DeathContract::~DeathContract() {
  installation_.server.end_session(session_);
}

std::size_t DeathContract::changes() {
  std::vector<Machine> seen = cloud_->machines();
  if (seen != last_seen_) ++cloud_changes_;
  last_seen_ = std::move(seen);
  return records_changes_ + cloud_changes_;
}

void DeathContract::at_each_moment(const std::function<void()>& life) {
  at_change_ = at_step_ = 0;
  for (int i = 0; i < kMany; ++i) {
    SCOPED_TRACE(testing::Message()
                 << "death " << at_step_ << " continuations after change " << at_change_);
    outcome_ = Outcome::none;
    life();
    if (HasFailure() || outcome_ == Outcome::ended) return;
    if (outcome_ == Outcome::overtaken) {
      ++at_change_;
      at_step_ = 0;
    } else {
      at_step_ += 1 + at_step_ / 2;
    }
  }
  FAIL() << "no life has come to its end";
}

void DeathContract::run(const harness::Job& job) {
  Outcome outcome = Outcome::reached;
  std::size_t step = 0;
  std::size_t change = 0;
  for (std::size_t before = changes(); change < at_change_ || step < at_step_;) {
    if (job.ended) {
      outcome = Outcome::ended;
      break;
    }
    process_->step();
    ++step;
    if (const std::size_t now = changes(); now != before) {
      if (change == at_change_) {
        outcome = Outcome::overtaken;
        break;
      }
      before = now;
      ++change;
      step = 0;
    }
  }
  if (outcome_ == Outcome::none) outcome_ = outcome;
}

namespace {

using model::NodeState;
using std::chrono::minutes;
using testing::IsEmpty;
using testing::SizeIs;

TEST_P(DeathContract, another_launcher_finishes_what_a_death_anywhere_has_left) {
  at_each_moment([this] {
    const std::string id = add_node();
    run(*start().launch(id));
    start();
    if (node(id).state != NodeState::ready) EXPECT_EQ(finish(process_->launch(id))->failure(), "");
    expect_one_machine(id);
    reclaim(id);
    EXPECT_THAT(machine_ids(), IsEmpty());
  });
}

TEST_P(DeathContract, resources_left_by_a_death_anywhere_are_reclaimed) {
  at_each_moment([this] {
    const std::string id = add_node();
    run(*start().launch(id));
    start();
    reclaim(id);
    EXPECT_THAT(machine_ids(), IsEmpty());
  });
}

TEST_P(DeathContract, a_deletion_goes_on_after_a_death_anywhere) {
  at_each_moment([this] {
    const std::string id = launch_new().id;
    run(*process_->reclaim(id));
    start();
    if (is_recorded(id)) reclaim(id);
    EXPECT_THAT(machine_ids(), IsEmpty());
  });
}

TEST_P(DeathContract, attempts_that_fail_and_launchers_that_die_leave_one_machine) {
  at_each_moment([this] {
    cloud_->provoke(Trouble::broken_machine, 1);
    const std::string id = add_node();
    run(*start().launch(id));
    if (node(id).state != NodeState::ready) run(*start().launch(id));
    start();
    if (node(id).state != NodeState::ready) EXPECT_EQ(finish(process_->launch(id))->failure(), "");
    expect_one_machine(id);
    reclaim(id);
    EXPECT_THAT(machine_ids(), IsEmpty());
  });
}

TEST_P(DeathContract, a_launcher_may_die_while_a_create_has_an_unknown_outcome) {
  for (const Trouble trouble : {Trouble::response_lost, Trouble::request_lost}) {
    at_each_moment([this, trouble] {
      cloud_->provoke(trouble, 1);
      const std::string id = add_node();
      run(*start().launch(id));
      start();
      if (node(id).state != NodeState::ready) {
        EXPECT_EQ(finish(process_->launch(id))->failure(), "");
      }
      expect_one_machine(id);
      reclaim(id);
      EXPECT_THAT(machine_ids(), IsEmpty());
    });
    if (HasFailure()) return;
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
