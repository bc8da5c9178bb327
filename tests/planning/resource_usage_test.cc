#include "planning/resource_usage.h"

#include <gmock/gmock.h>

#include "tests/planning/records_fixture.h"

namespace nodepool::planning {
namespace {

using model::Node;
using model::NodeState;
using testing::ElementsAre;
using testing::IsEmpty;

class UsageTest : public RecordsFixture {
 protected:
  UsageTest() {
    needs_["small"] = Resources({{"instances", 1}, {"cores", 2}});
    subscription_ = usage_.observe([this](const ResourceUsage::Decrease& decrease) {
      less_.push_back(std::string(decrease.provider) + "/" + std::string(decrease.tenant));
    });
  }

  Node small(const std::string& pool = "main") {
    Node node = idle_node(pool, "small");
    node.resources = needs_["small"].to_json();
    return node;
  }

  std::vector<std::string> less_;
  coordination::Subscription subscription_;
};

TEST_F(UsageTest, nodes_in_every_state_count_for_provider_pool_and_tenant) {
  for (const NodeState state : model::kAllNodeStates) {
    Node node = small();
    node.set_state(state, 0);
    node.tenant_name = "acme";
    add_node(node);
  }
  const auto count = static_cast<double>(std::size(model::kAllNodeStates));
  EXPECT_EQ(usage_.of_provider("sky").amount("instances"), count);
  EXPECT_EQ(usage_.of_pool("sky", "main").amount("cores"), 2 * count);
  EXPECT_EQ(usage_.of_tenant("acme").amount("cores"), 2 * count);
}

TEST_F(UsageTest, an_idle_node_counts_for_the_tenant_in_its_record) {
  Node node = small();
  node.tenant_name = "acme";
  ASSERT_EQ(node.allocated_to, std::nullopt);
  add_node(node);
  EXPECT_EQ(usage_.of_tenant("acme").amount("instances"), 1);
}

TEST_F(UsageTest, a_node_without_resources_takes_what_its_label_does_and_nothing_of_its_tenant) {
  Node node = small();
  node.resources = {};
  node.tenant_name = "acme";
  add_node(node);
  EXPECT_EQ(usage_.of_provider("sky").amount("cores"), 2);
  EXPECT_TRUE(usage_.of_tenant("acme").empty());
}

// A pool of another launcher, or no longer configured: its machines still count.
TEST_F(UsageTest, a_node_with_an_unserved_label_counts_by_its_record) {
  Node node = small();
  node.type = {"gone"};
  node.tenant_name = "acme";
  add_node(node);
  EXPECT_EQ(usage_.of_provider("sky").amount("cores"), 2);
  EXPECT_EQ(usage_.of_tenant("acme").amount("cores"), 2);
}

TEST_F(UsageTest, what_a_node_without_resources_takes_is_not_known_where_it_is_not_served) {
  Node node = small();
  node.type = {"gone"};
  node.resources = {};
  add_node(node);
  EXPECT_TRUE(usage_.of_provider("sky").empty());
}

TEST_F(UsageTest, removed_nodes_are_subtracted_and_reported) {
  Node first = small();
  first.tenant_name = "acme";
  const std::string id = add_node(first);
  add_node(small("other"));
  EXPECT_THAT(less_, IsEmpty());
  remove_node(id);
  EXPECT_THAT(less_, ElementsAre("sky/acme"));
  EXPECT_TRUE(usage_.of_pool("sky", "main").empty());
  EXPECT_EQ(usage_.of_provider("sky").amount("instances"), 1);
}

TEST_F(UsageTest, a_node_that_another_tenant_takes_over_counts_for_that_one) {
  Node made_for_acme = small();
  made_for_acme.tenant_name = "acme";
  const std::string id = add_node(made_for_acme);
  Node taken_over = node(id);
  taken_over.tenant_name = "globex";
  write_node(taken_over);
  EXPECT_TRUE(usage_.of_tenant("acme").empty());
  EXPECT_EQ(usage_.of_tenant("globex").amount("instances"), 1);
  EXPECT_THAT(less_, ElementsAre("/acme"));
}

TEST_F(UsageTest, a_reservation_counts_until_its_node_is_recorded) {
  const ResourceUsage::UsageEntry booking{"sky", "main", "acme", needs_["small"], needs_["small"]};
  usage_.reserve("pool", "200-1", booking);
  usage_.reserve("another pool", "200-1", booking);
  EXPECT_EQ(usage_.of_pool("sky", "main").amount("instances"), 2);
  usage_.release("another pool", "200-1");
  EXPECT_EQ(usage_.of_pool("sky", "main").amount("instances"), 1);
  usage_.release("pool", "200-1");
  EXPECT_TRUE(usage_.of_provider("sky").empty());
  EXPECT_TRUE(usage_.of_tenant("acme").empty());
}

TEST_F(UsageTest, a_change_that_takes_no_less_is_no_decrease) {
  const std::string id = add_node(small());
  Node changed = node(id);
  changed.tenant_name = "acme";
  write_node(changed);
  EXPECT_THAT(less_, IsEmpty()) << "an idle node was handed out";
  changed = node(id);
  changed.resources = Resources({{"instances", 1}, {"cores", 8}}).to_json();
  write_node(changed);
  EXPECT_THAT(less_, IsEmpty());
  changed = node(id);
  changed.tenant_name = "globex";
  write_node(changed);
  EXPECT_THAT(less_, ElementsAre("/acme"));
  changed = node(id);
  changed.resources = Resources({{"instances", 2}, {"cores", 4}}).to_json();
  write_node(changed);
  EXPECT_THAT(less_, ElementsAre("/acme", "sky/globex"));
}

TEST_F(UsageTest, other_needs_take_effect_when_the_provider_is_counted_anew) {
  Node node = small();
  node.resources = {};
  add_node(node);
  needs_["small"] = Resources({{"instances", 1}, {"cores", 8}});
  usage_.recount("sky");
  EXPECT_EQ(usage_.of_provider("sky").amount("cores"), 8);
}

// If nodes exceed a limit together, the later ones give way.
TEST_F(UsageTest, what_was_recorded_no_later_is_summed_up_by_itself) {
  std::vector<std::string> ids;
  for (const std::string pool : {"main", "other", "main", "main"}) {
    Node node = small(pool);
    if (ids.size() != 2) node.tenant_name = "acme";
    ids.push_back(add_node(node));
  }
  Node elsewhere = small();
  elsewhere.provider = "sea";
  elsewhere.tenant_name = "acme";
  const std::string last = add_node(elsewhere);
  const auto cores = [](const Resources& taken) { return taken.amount("cores"); };
  struct Row {
    std::string last;
    double of_provider, of_pool, of_tenant;
  };
  const Row rows[] = {{"", 0, 0, 0},     {ids[0], 2, 2, 2}, {ids[1], 4, 2, 4},
                      {ids[2], 6, 4, 4}, {ids[3], 8, 6, 6}, {last, 8, 6, 8}};
  for (const Row& row : rows) {
    SCOPED_TRACE("up to " + row.last);
    EXPECT_EQ(cores(usage_.of_provider_until("sky", row.last)), row.of_provider);
    EXPECT_EQ(cores(usage_.of_pool_until("sky", "main", row.last)), row.of_pool);
    EXPECT_EQ(cores(usage_.of_tenant_until("acme", row.last)), row.of_tenant);
  }
  usage_.reserve("pool", "200-1", {"sky", "main", "acme", needs_["small"], needs_["small"]});
  EXPECT_EQ(cores(usage_.of_tenant_until("acme", last)), 8) << "promises have no record";
  Node taken_over = node(ids[0]);
  taken_over.tenant_name = "globex";
  write_node(taken_over);
  remove_node(ids[1]);
  EXPECT_EQ(cores(usage_.of_tenant_until("acme", last)), 4);
  EXPECT_EQ(cores(usage_.of_tenant_until("globex", last)), 2);
  EXPECT_EQ(cores(usage_.of_provider_until("sky", last)), 6);
}

}  // namespace
}  // namespace nodepool::planning
