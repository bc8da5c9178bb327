// Two launchers with the same provider are restarted one after the other, in order, while nodes
// come and go: no backing node is lost to them, and none stays behind.

#include "tests/drivers/metastatic/metastatic_fixture.h"

namespace nodepool::drivers::metastatic {
namespace {

using model::Node;
using model::NodeState;
using testing::ElementsAre;
using testing::IsEmpty;

class MetastaticRollingRestartTest : public MetastaticTest {
 protected:
  MetastaticRollingRestartTest() {
    rules = "max-parallel-jobs: 1";
    first_ = new_process();
    second_ = new_process();
  }

  // As the launcher's stop does it: what it has begun is cancelled and ends, then its provider.
  void restart(std::unique_ptr<Process>& launcher) {
    launcher->cancel();
    launcher->run(launcher->provider().stop());
    launcher.reset();
    launcher = new_process();
  }

  // One launcher runs for so many continuations, the other one alongside.
  static void run(Process& launcher, Process& other, std::size_t steps) {
    for (std::size_t step = 0; step < steps; ++step) {
      if (!launcher.step()) return;
      other.settle();
    }
  }

  // The launcher makes the node, or goes on with it, until it is ready.
  void make_ready(Process& launcher, Process& other, const std::string& id) {
    if (installation_.node(id).state == NodeState::ready) return;
    const JobPointer job = launcher.launch(id);
    for (std::size_t step = 0; !job->ended; ++step) {
      ASSERT_LT(step, kMany);
      ASSERT_TRUE(launcher.step());
      other.settle();
    }
    EXPECT_EQ(job->failure(), "");
  }

  // Each of the nodes has a backing node of its own, which the provider has locked.
  void expect_places(const std::vector<std::string>& ids) {
    for (const std::string& id : ids) {
      const std::optional<Slot> place = slot_of(installation_.node(id));
      ASSERT_TRUE(place);
      const Node on = installation_.node(place->backing_node);
      EXPECT_EQ(on.state, NodeState::in_use);
      EXPECT_THAT(launchers_.lock_holders(on.id), ElementsAre(owner_of(kProvider)));
      EXPECT_THAT(record_of(on).tenants,
                  ElementsAre(testing::Pair(0, testing::Field(&Tenant::external_id, id))));
    }
  }

  void search_for_minutes(int minutes) {
    for (int minute = 0; minute < minutes; ++minute) {
      first_->pass(std::chrono::minutes(1));
      for (const auto& launcher : {first_.get(), second_.get()}) {
        launcher->settle();
        launcher->run(launcher->provider().launching()->remove_leaks());
      }
    }
  }

  // What was made for a request that has been withdrawn is ready, for others to use.
  void expect_all_given_back() {
    EXPECT_THAT(launchers_.requests(), IsEmpty());
    for (const Node& node : launchers_.nodes()) {
      EXPECT_TRUE(node.state == NodeState::used || node.state == NodeState::ready)
          << node.id << " is " << to_string(node.state);
      EXPECT_THAT(launchers_.lock_holders(node.id), IsEmpty());
      launchers_.lose(node.id);
    }
  }

  std::unique_ptr<Process> first_;
  std::unique_ptr<Process> second_;
};

// The first launcher is stopped at any moment of a launch, the second one as long after that.
TEST_F(MetastaticRollingRestartTest, loses_no_backing_node_while_nodes_are_launched) {
  bool ended = false;
  for (std::size_t steps = 1; !ended; ++steps) {
    SCOPED_TRACE(testing::Message() << "restarts after " << steps << " continuations");
    ASSERT_LT(steps, kMany);
    const std::vector<std::string> ids{add_node(), add_node(), add_node()};
    make_ready(*first_, *second_, ids[0]);
    const JobPointer of_first = first_->launch(ids[1]);
    const JobPointer of_second = second_->launch(ids[2]);
    run(*first_, *second_, steps);
    ended = of_first->ended;
    restart(first_);
    run(*second_, *first_, steps);
    restart(second_);
    // The other one takes over what each has left.
    make_ready(*second_, *first_, ids[1]);
    make_ready(*first_, *second_, ids[2]);
    search_for_minutes(3);
    expect_places(ids);
    for (const std::string& id : ids) second_->run_until_ended(*second_->reclaim(id));
    search_for_minutes(3);
    expect_all_given_back();
    if (HasFailure()) return;
  }
}

// A backing node that is taken while its launcher is stopped is known to the others.
TEST_F(MetastaticRollingRestartTest, leaves_backing_nodes_to_the_launchers_that_stay) {
  const std::string of_first = add_node();
  const std::string of_second = add_node();
  make_ready(*first_, *second_, of_first);
  make_ready(*second_, *first_, of_second);
  restart(first_);
  restart(second_);
  expect_places({of_first, of_second});
  const std::string on = slot_of(installation_.node(of_first))->backing_node;
  second_->run_until_ended(*second_->reclaim(of_first));
  const std::string next = add_node();
  make_ready(*first_, *second_, next);
  EXPECT_EQ(slot_of(installation_.node(next))->backing_node, on) << "its place is free again";
  for (const std::string& id : {of_second, next}) {
    first_->run_until_ended(*first_->reclaim(id));
  }
  search_for_minutes(3);
  expect_all_given_back();
}

// While a backing node is given back, by either launcher.
TEST_F(MetastaticRollingRestartTest, gives_a_backing_node_back_once) {
  const auto is_in_use = [](const Node& node) { return node.state == NodeState::in_use; };
  bool ended = false;
  for (std::size_t steps = 1; !ended; ++steps) {
    SCOPED_TRACE(testing::Message() << "restarts after " << steps << " continuations");
    ASSERT_LT(steps, kMany);
    const std::string id = add_node();
    make_ready(*first_, *second_, id);
    first_->run_until_ended(*first_->reclaim(id));
    run(*first_, *second_, steps);
    ended = std::ranges::none_of(launchers_.nodes(), is_in_use);
    restart(first_);
    restart(second_);
    search_for_minutes(3);
    expect_all_given_back();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace nodepool::drivers::metastatic
