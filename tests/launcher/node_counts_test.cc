#include "launcher/node_counts.h"

#include <gmock/gmock.h>

#include "coordination/path.h"
#include "model/paths.h"
#include "tests/launcher/parts_fixture.h"
#include "tests/support/allocations.h"

namespace nodepool::launcher {
namespace {

using model::Node;
using model::NodeState;

model::Component offering(std::string provider, std::string name, std::vector<std::string> labels) {
  model::Component pool;
  pool.provider_name = std::move(provider);
  pool.name = std::move(name);
  pool.supported_labels = std::move(labels);
  return pool;
}

class NodeCountsTest : public PartsFixture {
 protected:
  std::int64_t figure(const std::string& key) const {
    for (const auto& [series, count] :
         node_counts_.values({&main_, &other_}, clock_.wall_seconds() + 90)) {
      if (telemetry::statsd_keys(series).front() == key) return count;
    }
    return -1;
  }

  void add_request(std::vector<std::string> labels) {
    model::NodeRequest request;
    request.node_types = std::move(labels);
    loop_.run(others_.create(model::request_path("200-"), to_record(request),
                             coordination::CreateMode::persistent_sequential));
    settle();
  }

  model::Component main_ = offering("sky", "main", {"small", "large"});
  model::Component other_ = offering("sky", "other", {"large", "huge"});
  std::string early_ = add_node(idle_node("main", "small"));
  NodeCounts node_counts_{nodes_, requests_};
};

TEST_F(NodeCountsTest, nodes_count_for_their_state_provider_and_each_label) {
  Node both = idle_node("main", "small");
  both.type = {"small", "large"};
  const std::string id = add_node(both);
  EXPECT_EQ(figure("nodepool.nodes.ready"), 2);
  EXPECT_EQ(figure("nodepool.provider.sky.nodes.ready"), 2);
  EXPECT_EQ(figure("nodepool.label.small.nodes.ready"), 2);
  EXPECT_EQ(figure("nodepool.label.large.nodes.ready"), 1);
  Node used = node(id);
  used.set_state(NodeState::in_use, 1);
  write_node(used);
  EXPECT_EQ(figure("nodepool.nodes.ready"), 1);
  EXPECT_EQ(figure("nodepool.label.large.nodes.in-use"), 1);
  remove_node(id);
  remove_node(early_);
  EXPECT_EQ(figure("nodepool.nodes.ready"), 0);
  EXPECT_EQ(figure("nodepool.label.large.nodes.in-use"), 0);
}

TEST_F(NodeCountsTest, nodes_without_a_pool_are_counted_while_they_exist) {
  Node strange = idle_node("main", "strange");
  strange.provider = "gone";
  const std::string id = add_node(strange);
  EXPECT_EQ(figure("nodepool.provider.gone.nodes.ready"), 1);
  EXPECT_EQ(figure("nodepool.label.strange.nodes.ready"), 1);
  remove_node(id);
  EXPECT_EQ(figure("nodepool.provider.gone.nodes.ready"), -1);
}

TEST_F(NodeCountsTest, requests_count_for_each_pool_that_has_all_their_labels) {
  add_request({"large"});
  add_request({"large", "small", "large"});
  add_request({"large", "unknown"});
  EXPECT_EQ(figure("nodepool.provider.sky.pool.main.addressable_requests"), 2);
  EXPECT_EQ(figure("nodepool.provider.sky.pool.other.addressable_requests"), 1);
}

TEST_F(NodeCountsTest, requests_count_for_their_state_and_the_oldest_open_one_for_its_age) {
  EXPECT_EQ(figure("nodepool.requests.requested"), 0);
  EXPECT_EQ(figure("nodepool.requests.oldest"), 0);
  add_request({"small"});
  add_request({"large"});
  EXPECT_EQ(figure("nodepool.requests.requested"), 2);
  EXPECT_EQ(figure("nodepool.requests.fulfilled"), 0);
  EXPECT_EQ(figure("nodepool.requests.oldest"), 90);
}

TEST_F(NodeCountsTest, the_oldest_open_request_of_each_label_counts_for_its_age) {
  add_request({"small", "strange"});
  EXPECT_EQ(figure("nodepool.label.small.oldest_request"), 90);
  EXPECT_EQ(figure("nodepool.label.strange.oldest_request"), 90);
  EXPECT_EQ(figure("nodepool.label.large.oldest_request"), 0);
  EXPECT_EQ(figure("nodepool.label.unknown.oldest_request"), -1);
}

// The metrics are made every second.
TEST_F(NodeCountsTest, many_pools_with_the_same_labels_cost_little) {
  constexpr std::size_t kPools = 1000;
  std::vector<std::string> labels;
  for (int i = 0; i < 10; ++i) labels.push_back("label-" + std::to_string(i));
  std::vector<model::Component> offers;
  for (std::size_t i = 0; i < kPools; ++i) {
    offers.push_back(offering("sky", "pool-" + std::to_string(i), labels));
  }
  std::vector<const model::Component*> pools;
  for (const model::Component& pool : offers) pools.push_back(&pool);
  NodeCounts::Values values;
  const auto used = test_support::allocations_of([&] { values = node_counts_.values(pools, 0); });
  EXPECT_GE(values.size(), kPools);
  EXPECT_LT(used.count, 100 * kPools);
}

}  // namespace
}  // namespace nodepool::launcher
