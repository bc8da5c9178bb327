// Launchers that die between any two steps of what is done with a backing node: it is asked for,
// taken and locked, gets a node, loses it, is given back. Another one is started, and goes on.

#include "tests/drivers/metastatic/metastatic_fixture.h"

namespace nodepool::drivers::metastatic {
namespace {

using model::Node;
using model::NodeState;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

class MetastaticDeathsTest : public MetastaticTest {
 protected:
  // Runs the job for so many continuations; returns whether it has ended.
  bool run_for(const JobPointer& job, std::size_t steps) {
    for (std::size_t step = 0; step < steps && !job->ended; ++step) EXPECT_TRUE(process_->step());
    return job->ended;
  }

  std::vector<Node> backing_nodes() {
    std::vector<Node> nodes = launchers_.nodes();
    std::erase_if(nodes, [](const Node& node) { return node.state != NodeState::in_use; });
    return nodes;
  }

  // A backing node that was made for a launcher that died before it took it is the business of
  // those who make them.
  void forget_all() {
    for (const Node& node : launchers_.nodes()) launchers_.lose(node.id);
    process_->settle();
  }
};

TEST_F(MetastaticDeathsTest, a_node_gets_one_place_on_one_backing_node) {
  bool ended = false;
  for (std::size_t steps = 1; !ended; ++steps) {
    SCOPED_TRACE(testing::Message() << "death after " << steps << " continuations");
    ASSERT_LT(steps, kMany);
    const std::string id = add_node();
    start();
    ended = run_for(begin(id), steps);
    start();
    if (installation_.node(id).state != NodeState::ready) finish(begin(id));
    const std::vector<Node> nodes = backing_nodes();
    ASSERT_EQ(nodes.size(), 1);
    EXPECT_THAT(launchers_.lock_holders(nodes.at(0).id), ElementsAre(owner_of(kProvider)));
    EXPECT_THAT(record_of(nodes.at(0)).tenants,
                ElementsAre(Pair(0, testing::Field(&Tenant::external_id, id))));
    EXPECT_EQ(slot_of(installation_.node(id)), (Slot{nodes.at(0).id, 0}));
    EXPECT_THAT(launchers_.requests(), IsEmpty());
    reclaim(id);
    forget_all();
    if (HasFailure()) return;
  }
}

// It does not die: it waits, and takes what it has asked for.
TEST_F(MetastaticDeathsTest, a_store_that_is_away_costs_no_backing_node) {
  rules = "max-parallel-jobs: 1";
  start();
  bool ended = false;
  for (std::size_t steps = 1; !ended; ++steps) {
    SCOPED_TRACE(testing::Message() << "away after " << steps << " continuations");
    ASSERT_LT(steps, kMany);
    const std::string id = add_node();
    const JobPointer job = begin(id);
    while (launchers_.requests().empty()) ASSERT_TRUE(process_->step());
    run_for(job, steps);
    ended = !backing_nodes().empty();
    if (!ended) {
      process_->cut_off();
      process_->pass(std::chrono::minutes(1));
      process_->reconnect();
    }
    finish(job);
    EXPECT_EQ(launchers_.nodes().size(), 1);
    EXPECT_THAT(launchers_.requests(), IsEmpty());
    reclaim(id);
    forget_all();
    if (HasFailure()) return;
  }
}

TEST_F(MetastaticDeathsTest, a_place_is_free_when_its_node_is_gone) {
  bool ended = false;
  for (std::size_t steps = 1; !ended; ++steps) {
    SCOPED_TRACE(testing::Message() << "death after " << steps << " continuations");
    ASSERT_LT(steps, kMany);
    const std::string id = launch().id;
    ended = run_for(process_->reclaim(id), steps);
    start();
    const std::vector<std::string> left = installation_.nodes();
    if (std::ranges::find(left, id) != left.end()) reclaim(id);
    EXPECT_THAT(record().tenants, IsEmpty());
    if (HasFailure()) return;
  }
}

TEST_F(MetastaticDeathsTest, a_backing_node_is_given_back_and_unlocked_at_once) {
  const auto is_given_back = [this] { return backing().state == NodeState::used; };
  bool ended = false;
  for (std::size_t steps = 1; !ended; ++steps) {
    SCOPED_TRACE(testing::Message() << "death after " << steps << " continuations");
    ASSERT_LT(steps, kMany);
    reclaim(launch().id);
    for (std::size_t step = 0; step < steps && !is_given_back(); ++step) {
      EXPECT_TRUE(process_->step());
    }
    ended = is_given_back();
    const Node left = backing();
    const bool is_used = left.state == NodeState::used;
    EXPECT_EQ(launchers_.lock_holders(left.id).empty(), is_used);
    start();
    pass_minutes(3);
    EXPECT_EQ(backing().state, NodeState::used);
    EXPECT_THAT(launchers_.lock_holders(left.id), IsEmpty());
    forget_all();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace nodepool::drivers::metastatic
