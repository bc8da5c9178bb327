#include "launcher/idle_node_evictor.h"

#include <gmock/gmock.h>

#include "coordination/tree.h"
#include "tests/launcher/parts_fixture.h"

namespace nodepool::launcher {
namespace {

using model::Node;
using model::NodeState;
using planning::Decision;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

class IdleNodeEvictorTest : public PartsFixture {
 protected:
  std::string add_idle(const std::string& pool, double since, const std::string& tenant = {}) {
    Node node = idle_node(pool, "small");
    node.state_time = since;
    if (!tenant.empty()) node.tenant_name = tenant;
    return add_node(node);
  }

  void begin_to_recycle(Decision::Shortage shortage, const std::string& tenant = {},
                        const std::vector<std::string>& plan = {}) {
    if (idle_node_evictor_.is_busy()) return;
    idle_node_evictor_.carry_out(
        planning::choose_eviction(
            {.shortage = shortage, .tenant = tenant, .plan = plan, .since = since_},
            {.now = clock_.wall_seconds(),
             .pool = pool_,
             .pools = components_.pools(),
             .stock = stock_,
             .usage = usage_,
             .deletions = deletions_,
             .nodes = nodes_}),
        [this] { return is_wanted_; });
  }

  void recycle(Decision::Shortage shortage, const std::string& tenant = {},
               const std::vector<std::string>& plan = {}) {
    begin_to_recycle(shortage, tenant, plan);
    settle();
  }

  void register_pool(const std::string& provider, const std::string& name) {
    model::Component pool;
    pool.kind = model::Component::Kind::pool;
    pool.id = name + " of " + provider;
    pool.name = name;
    pool.provider_name = provider;
    loop_.run(coordination::ensure_path(others_, "/nodepool/components/pool"));
    loop_.run(others_.create("/nodepool/components/pool/host", to_record(pool),
                             coordination::CreateMode::ephemeral_sequential));
    settle();
  }

  std::vector<std::string> deleting() const {
    std::vector<std::string> found;
    for (const auto& [id, node] : nodes_.all()) {
      if (node.state == NodeState::deleting) found.push_back(id);
    }
    return found;
  }

  planning::PoolIdentity pool_{"the-pool", "sky", "main"};
  planning::PoolStock stock_{nodes_, pool_};
  double since_ = clock_.wall_seconds();  // creation time of the request
  bool is_wanted_ = true;
  int evaluations_ = 0;
  IdleNodeEvictor idle_node_evictor_{context_, log_, scope_, [this] { ++evaluations_; }};
};

TEST_F(IdleNodeEvictorTest, the_oldest_idle_node_of_the_pool_is_evicted) {
  add_idle("main", 20);
  const std::string oldest = add_idle("main", 10);
  recycle(Decision::Shortage::pool);
  EXPECT_THAT(deleting(), ElementsAre(oldest));
}

TEST_F(IdleNodeEvictorTest, nothing_is_evicted_for_a_request_that_another_pool_has_taken) {
  add_idle("main", 10);
  is_wanted_ = false;
  recycle(Decision::Shortage::pool);
  EXPECT_THAT(deleting(), IsEmpty());
}

TEST_F(IdleNodeEvictorTest, nodes_of_other_pools_are_left_alone) {
  add_idle("other", 10);
  recycle(Decision::Shortage::provider);
  EXPECT_THAT(deleting(), IsEmpty());
  const std::string own = add_idle("main", 20);
  recycle(Decision::Shortage::provider);
  EXPECT_THAT(deleting(), ElementsAre(own));
}

TEST_F(IdleNodeEvictorTest, after_a_long_wait_nodes_of_another_pool_are_evicted) {
  register_pool("sky", "main");
  register_pool("sky", "other");
  const std::string other = add_idle("other", 10);
  recycle(Decision::Shortage::pool);
  recycle(Decision::Shortage::provider);
  pass(seconds(299));
  EXPECT_EQ(evaluations_, 0);
  EXPECT_THAT(deleting(), IsEmpty());
  pass(seconds(1));
  EXPECT_EQ(evaluations_, 1);
  recycle(Decision::Shortage::pool);
  EXPECT_THAT(deleting(), IsEmpty()) << "that would make no room in this pool";
  recycle(Decision::Shortage::provider);
  EXPECT_THAT(deleting(), ElementsAre(other));
}

// For example a pool that is no longer configured: no other launcher would use or delete its nodes.
TEST_F(IdleNodeEvictorTest, after_a_long_wait_nodes_of_an_unserved_pool_are_evicted) {
  register_pool("sky", "main");
  const std::string left_over = add_idle("gone", 10);
  since_ -= 300;
  recycle(Decision::Shortage::provider);
  EXPECT_THAT(deleting(), ElementsAre(left_over));
}

TEST_F(IdleNodeEvictorTest, tenant_nodes_of_an_unserved_provider_stay) {
  register_pool("sky", "main");
  Node elsewhere = idle_node("main", "small");
  elsewhere.provider = "sea";
  elsewhere.tenant_name = "acme";
  add_node(elsewhere);
  since_ -= 300;
  recycle(Decision::Shortage::tenant, "acme");
  EXPECT_THAT(deleting(), IsEmpty());
}

TEST_F(IdleNodeEvictorTest, after_a_long_wait_tenant_nodes_of_other_providers_are_evicted) {
  register_pool("sea", "main");
  Node elsewhere = idle_node("main", "small");
  elsewhere.provider = "sea";
  elsewhere.tenant_name = "acme";
  const std::string first = add_node(elsewhere);
  const std::string second = add_node(elsewhere);
  since_ -= 299;
  recycle(Decision::Shortage::tenant, "acme");
  EXPECT_THAT(deleting(), IsEmpty());
  pass(seconds(1));
  recycle(Decision::Shortage::tenant, "acme");
  recycle(Decision::Shortage::tenant, "acme");
  EXPECT_THAT(deleting(), ElementsAre(first)) << "one at a time";
  remove_node(first);
  recycle(Decision::Shortage::tenant, "acme");
  EXPECT_THAT(deleting(), ElementsAre(second));
}

TEST_F(IdleNodeEvictorTest, nodes_that_count_for_no_tenant_are_not_evicted_for_one) {
  Node host = idle_node("main", "small");
  host.resources = {};
  host.tenant_name = "acme";
  add_node(host);
  recycle(Decision::Shortage::tenant, "acme");
  EXPECT_THAT(deleting(), IsEmpty());
}

TEST_F(IdleNodeEvictorTest, nodes_chosen_for_the_request_are_not_evicted) {
  const std::string wanted = add_idle("main", 10);
  recycle(Decision::Shortage::pool, {}, {wanted, ""});
  EXPECT_THAT(deleting(), IsEmpty());
}

TEST_F(IdleNodeEvictorTest, a_tenant_at_its_limit_evicts_its_own_nodes) {
  add_idle("main", 10);
  add_idle("main", 20, "globex");
  const std::string own = add_idle("main", 30, "acme");
  recycle(Decision::Shortage::tenant, "acme");
  EXPECT_THAT(deleting(), ElementsAre(own));
  recycle(Decision::Shortage::tenant, "acme");
  EXPECT_THAT(deleting(), ElementsAre(own));
}

TEST_F(IdleNodeEvictorTest, one_node_is_evicted_at_a_time_unless_that_takes_long) {
  const std::string first = add_idle("main", 10);
  const std::string second = add_idle("main", 20);
  recycle(Decision::Shortage::pool);
  recycle(Decision::Shortage::pool);
  EXPECT_THAT(deleting(), ElementsAre(first));
  EXPECT_EQ(evaluations_, 1) << "requests that wait for other capacity are reevaluated";
  pass(seconds(299));
  EXPECT_EQ(evaluations_, 1);
  pass(seconds(2));
  EXPECT_EQ(evaluations_, 2) << "waiting requests are reevaluated";
  recycle(Decision::Shortage::pool);
  EXPECT_THAT(deleting(), ElementsAre(first, second));
}

TEST_F(IdleNodeEvictorTest, a_deletion_in_another_pool_of_a_full_provider_is_waited_for) {
  const std::string elsewhere = add_idle("other", 10);
  const std::string own = add_idle("main", 20);
  Node going = node(elsewhere);
  going.set_state(NodeState::deleting, clock_.wall_seconds());
  write_node(going);
  recycle(Decision::Shortage::provider);
  EXPECT_THAT(deleting(), ElementsAre(elsewhere));
  recycle(Decision::Shortage::pool);
  EXPECT_THAT(deleting(), ElementsAre(elsewhere, own)) << "which is no room in this pool";
}

TEST_F(IdleNodeEvictorTest, once_a_node_is_gone_the_next_may_be_evicted) {
  const std::string first = add_idle("main", 10);
  const std::string second = add_idle("main", 20);
  recycle(Decision::Shortage::pool);
  remove_node(first);
  recycle(Decision::Shortage::pool);
  EXPECT_THAT(deleting(), ElementsAre(second));
}

TEST_F(IdleNodeEvictorTest, the_earliest_reevaluation_counts) {
  idle_node_evictor_.carry_out({.reevaluate_in = 300}, nullptr);
  idle_node_evictor_.carry_out({.reevaluate_in = 10}, nullptr);
  idle_node_evictor_.carry_out({.reevaluate_in = 20}, nullptr);
  pass(seconds(9));
  EXPECT_EQ(evaluations_, 0);
  pass(seconds(1));
  EXPECT_EQ(evaluations_, 1);
  idle_node_evictor_.carry_out({.reevaluate_in = 10}, nullptr);
  pass(seconds(10));
  EXPECT_EQ(evaluations_, 2);
}

TEST_F(IdleNodeEvictorTest, a_request_is_reevaluated_when_the_node_is_allocated_elsewhere) {
  const std::string contested = add_idle("main", 10);
  begin_to_recycle(Decision::Shortage::pool);
  Node taken = node(contested);
  taken.allocated_to = "200-0000000001";
  write_node(taken);
  pass(seconds(1));
  EXPECT_EQ(evaluations_, 1);
  EXPECT_THAT(deleting(), IsEmpty());
}

}  // namespace
}  // namespace nodepool::launcher
