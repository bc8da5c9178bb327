#include "planning/eviction.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/planning/records_fixture.h"

namespace nodepool::planning {
namespace {

using model::Node;
using model::NodeState;
using Shortage = Decision::Shortage;

constexpr double kNow = 10'000;

// A node with its name in the test.
struct Spec {
  std::string name;
  std::string pool = "main";
  double since = 0;  // start of its state
  std::string tenant = {};
  NodeState state = NodeState::ready;
  std::string provider = "sky";
  bool is_allocated = false;
  bool is_locked = false;
  bool takes_nothing = false;
};

class EvictionTest : public RecordsFixture {
 protected:
  void fill(const std::vector<Spec>& specs) {
    for (const Spec& spec : specs) {
      Node node = idle_node(spec.pool, "small", spec.since);
      node.provider = spec.provider;
      node.set_state(spec.state, spec.since);
      if (!spec.tenant.empty()) node.tenant_name = spec.tenant;
      if (spec.is_allocated) node.allocated_to = "200-0000000001";
      if (spec.takes_nothing) node.resources = {};
      const std::string id = add_node(node);
      if (spec.is_locked) lock(id);
      names_[id] = spec.name;
    }
  }

  void register_pool(const std::string& provider, const std::string& name) {
    auto pool = std::make_unique<model::Component>();
    pool->provider_name = provider;
    pool->name = name;
    pools_.push_back(std::move(pool));
  }

  std::string id_of(const std::string& name) const {
    for (const auto& [id, known] : names_) {
      if (known == name) return id;
    }
    return "nobody";
  }

  // "delete NAME", "reevaluate in N s" or "nothing".
  std::string answer(const CapacityWanted& wanted) {
    std::vector<const model::Component*> pools;
    for (const auto& pool : pools_) pools.push_back(pool.get());
    const Eviction answer = choose_eviction(wanted, {.now = kNow,
                                                     .pool = pool_,
                                                     .pools = pools,
                                                     .stock = stock_,
                                                     .usage = usage_,
                                                     .deletions = deletions_,
                                                     .nodes = nodes_});
    EXPECT_FALSE(answer.node && answer.reevaluate_in);
    if (answer.node) return "delete " + names_[*answer.node];
    if (answer.reevaluate_in) {
      return "reevaluate in " + std::to_string(static_cast<int>(*answer.reevaluate_in)) + " s";
    }
    return "nothing";
  }

  PoolIdentity pool_{"the-pool", "sky", "main"};
  PoolStock stock_{nodes_, pool_};
  Deletions deletions_{nodes_};
  std::map<std::string, std::string> names_;  // by id
  std::vector<std::unique_ptr<model::Component>> pools_;
};

// Evictions for a new request.
TEST_F(EvictionTest, the_oldest_idle_node_of_the_pool_that_counts_for_the_limit_goes) {
  fill({{.name = "young", .since = 30},
        {.name = "old", .since = 10},
        {.name = "older, of another pool", .pool = "other", .since = 5},
        {.name = "acme's", .since = 20, .tenant = "acme"},
        {.name = "acme's, of a host", .since = 2, .tenant = "acme", .takes_nothing = true},
        {.name = "somebody's", .since = 1, .is_allocated = true},
        {.name = "locked", .since = 1, .is_locked = true},
        {.name = "in use", .since = 1, .state = NodeState::in_use}});
  struct Row {
    CapacityWanted wanted;
    std::string answer;
  };
  const Row rows[] = {
      {{.shortage = Shortage::none, .since = kNow}, "nothing"},
      {{.shortage = Shortage::pool, .since = kNow}, "delete acme's, of a host"},
      {{.shortage = Shortage::provider, .since = kNow}, "delete acme's, of a host"},
      {{.shortage = Shortage::tenant, .tenant = "acme", .since = kNow}, "delete acme's"},
      {{.shortage = Shortage::tenant, .tenant = "globex", .since = kNow}, "nothing"},
      {{.shortage = Shortage::pool, .plan = {id_of("acme's, of a host"), ""}, .since = kNow},
       "delete old"},
      {{.shortage = Shortage::pool,
        .plan = {id_of("old"), id_of("acme's, of a host")},
        .since = kNow},
       "delete acme's"},
  };
  for (const Row& row : rows) EXPECT_EQ(answer(row.wanted), row.answer);
  stock_.reserve({id_of("acme's, of a host")});
  EXPECT_EQ(answer({.shortage = Shortage::pool, .since = kNow}), "delete old")
      << "what is being handed out stays";
}

TEST_F(EvictionTest, nodes_of_other_pools_are_evicted_after_a_long_wait) {
  register_pool("sky", "main");
  register_pool("sea", "main");
  fill({{.name = "of another pool", .pool = "other", .since = 20},
        {.name = "acme's, by the sea", .since = 10, .tenant = "acme", .provider = "sea"},
        {.name = "acme's, on a peak", .since = 5, .tenant = "acme", .provider = "peak"}});
  struct Row {
    Shortage shortage;
    double waited;
    std::string answer;
  };
  const Row rows[] = {
      {Shortage::pool, 0, "nothing"},
      {Shortage::pool, 300, "nothing"},  // would free no capacity of this pool
      {Shortage::provider, 0, "reevaluate in 300 s"},
      {Shortage::provider, 299, "reevaluate in 1 s"},
      {Shortage::provider, 300, "delete of another pool"},
      {Shortage::tenant, 299, "reevaluate in 1 s"},
      {Shortage::tenant, 300, "delete acme's, by the sea"},  // on the peak it could not be deleted
  };
  for (const Row& row : rows) {
    EXPECT_EQ(answer({.shortage = row.shortage, .tenant = "acme", .since = kNow - row.waited}),
              row.answer)
        << "after " << row.waited << " s";
  }
}

TEST_F(EvictionTest, a_request_that_may_be_served_elsewhere_has_a_node_evicted_a_little_later) {
  fill({{.name = "idle", .since = 10}});
  const auto after = [this](double waited) {
    return answer(
        {.shortage = Shortage::pool, .since = kNow - waited, .may_be_served_elsewhere = true});
  };
  EXPECT_EQ(after(0), "reevaluate in 2 s");
  EXPECT_EQ(after(1), "reevaluate in 1 s");
  EXPECT_EQ(after(2), "delete idle");
}

TEST(EvictionElsewhereTest, only_able_pools_of_other_launchers_may_serve_a_request) {
  model::NodeRequest request;
  request.node_types = {"small"};
  request.declined_by = {"that declined"};
  const auto answer = [&request](const std::string& id, bool paused, const std::string& label) {
    model::Component pool;
    pool.id = id;
    pool.paused = paused;
    pool.supported_labels = {label};
    return may_be_served_elsewhere(request, {&pool}, {"own"});
  };
  EXPECT_TRUE(answer("other", false, "small"));
  EXPECT_FALSE(answer("own", false, "small"));
  EXPECT_FALSE(answer("other", true, "small"));
  EXPECT_FALSE(answer("other", false, "large"));
  EXPECT_FALSE(answer("that declined", false, "small"));
}

TEST_F(EvictionTest, one_node_goes_at_a_time_for_each_limit_unless_that_takes_long) {
  fill({{.name = "idle", .since = 10},
        {.name = "acme's", .since = 20, .tenant = "acme"},
        {.name = "going, of another pool",
         .pool = "other",
         .since = kNow - 100,
         .tenant = "globex",
         .state = NodeState::deleting}});
  EXPECT_EQ(answer({.shortage = Shortage::pool, .since = kNow}), "delete idle");
  EXPECT_EQ(answer({.shortage = Shortage::provider, .since = kNow}), "reevaluate in 200 s");
  EXPECT_EQ(answer({.shortage = Shortage::tenant, .tenant = "acme", .since = kNow}),
            "delete acme's");
  fill({{.name = "going", .since = kNow - 300, .tenant = "acme", .state = NodeState::deleting}});
  EXPECT_EQ(answer({.shortage = Shortage::pool, .since = kNow}), "delete idle")
      << "that takes too long";
  fill({{.name = "going since then",
         .since = kNow - 10,
         .tenant = "acme",
         .state = NodeState::deleting}});
  EXPECT_EQ(answer({.shortage = Shortage::pool, .since = kNow}), "reevaluate in 290 s");
  EXPECT_EQ(answer({.shortage = Shortage::tenant, .tenant = "acme", .since = kNow}),
            "reevaluate in 290 s");
  remove_node(id_of("going since then"));
  EXPECT_EQ(answer({.shortage = Shortage::pool, .since = kNow}), "delete idle");
  remove_node(id_of("going, of another pool"));
  EXPECT_EQ(answer({.shortage = Shortage::provider, .since = kNow}), "delete idle");
}

TEST_F(EvictionTest, a_deletion_from_before_the_clock_was_set_back_is_not_waited_for) {
  fill({{.name = "idle", .since = 10},
        {.name = "by a clock that is ahead", .since = kNow + 1, .state = NodeState::deleting},
        {.name = "stuck", .since = kNow + 3600, .state = NodeState::deleting}});
  EXPECT_EQ(answer({.shortage = Shortage::pool, .since = kNow}), "reevaluate in 300 s");
  remove_node(id_of("by a clock that is ahead"));
  EXPECT_EQ(answer({.shortage = Shortage::pool, .since = kNow}), "delete idle");
}

// Other pools of a full provider decide before the record is written.
TEST_F(EvictionTest, an_eviction_counts_from_its_decision_until_it_fails) {
  fill({{.name = "idle", .since = 10}, {.name = "chosen", .pool = "other", .tenant = "acme"}});
  const CapacityWanted in_provider{.shortage = Shortage::provider, .since = kNow};
  deletions_.expect(node(id_of("chosen")), kNow - 10);
  EXPECT_EQ(answer(in_provider), "reevaluate in 290 s");
  EXPECT_EQ(answer({.shortage = Shortage::tenant, .tenant = "acme", .since = kNow}),
            "reevaluate in 290 s");
  EXPECT_EQ(answer({.shortage = Shortage::pool, .since = kNow}), "delete idle");
  deletions_.stop_expecting(id_of("chosen"));
  EXPECT_EQ(answer(in_provider), "delete idle");

  deletions_.expect(node(id_of("chosen")), kNow - 10);
  Node written = node(id_of("chosen"));
  written.set_state(NodeState::deleting, kNow - 20);
  write_node(written);
  deletions_.stop_expecting(id_of("chosen"));
  EXPECT_EQ(answer(in_provider), "reevaluate in 280 s") << "the record has it";
}

}  // namespace
}  // namespace nodepool::planning
