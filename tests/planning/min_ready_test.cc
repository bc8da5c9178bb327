#include "planning/min_ready.h"

#include <gtest/gtest.h>

#include <set>

#include "planning/decision.h"

namespace nodepool::planning {
namespace {

TEST(MinReadyTest, what_is_missing_is_requested_some_at_a_time) {
  struct Row {
    const char* what;
    MinReadyStock stock;
    std::int64_t count;
  };
  const Row rows[] = {
      {"nothing is to be kept", {.wanted = 0}, 0},
      {"nothing is there", {.wanted = 3}, 3},
      {"all are there", {.wanted = 3, .ready = 3}, 0},
      {"there are more", {.wanted = 3, .ready = 5}, 0},
      {"some are there, one has been asked for", {.wanted = 3, .ready = 1, .requested = 1}, 1},
      {"more have been asked for", {.wanted = 3, .ready = 2, .requested = 2}, 0},
      {"a large stock", {.wanted = 1000}, 100},
      {"a large stock, half of what may be asked for", {.wanted = 1000, .requested = 50}, 50},
      {"a large stock, all that may be asked for", {.wanted = 1000, .requested = 100}, 0},
      {"others have asked for more than one would", {.wanted = 1000, .requested = 180}, 0},
      {"the end of a large stock", {.wanted = 1000, .ready = 970}, 30},
  };
  for (const Row& row : rows) EXPECT_EQ(missing_nodes(row.stock), row.count) << row.what;
}

TEST(MinReadyTest, nodes_without_a_request_count) {
  for (const model::NodeState state : model::kAllNodeStates) {
    model::Node node;
    node.set_state(state, 0);
    EXPECT_EQ(is_in_stock(node), state == model::NodeState::ready) << to_string(state);
    node.allocated_to = "200-0000000001";
    EXPECT_FALSE(is_in_stock(node)) << to_string(state);
  }
}

TEST(MinReadyTest, requests_of_launchers_count) {
  model::NodeRequest request;
  request.node_types = {"small"};
  EXPECT_FALSE(is_for_min_ready(request));
  request.requestor = kMinReadyRequestor;
  EXPECT_TRUE(is_for_min_ready(request));
  request.node_types = {"small", "small"};
  EXPECT_FALSE(is_for_min_ready(request)) << "another requestor uses the name";
}

TEST(MinReadyTest, a_label_is_obtainable_from_a_pool_without_a_known_problem) {
  model::Component small;
  small.name = "small";
  small.supported_labels = {"small"};
  model::Component both;
  both.name = "both";
  both.supported_labels = {"small", "large"};
  struct Row {
    const char* label;
    std::vector<const model::Component*> pools;
    std::set<std::string> with_problems;
    bool is_obtainable;
  };
  const Row rows[] = {
      {"small", {}, {}, false},
      {"small", {&small}, {}, true},
      {"large", {&small}, {}, false},
      {"small", {&small}, {"small"}, false},
      {"small", {&small, &both}, {"small"}, true},
      {"small", {&small, &both}, {"small", "both"}, false},
      {"large", {&small, &both}, {"small"}, true},
      {"large", {&small, &both}, {"both"}, false},
  };
  for (const Row& row : rows) {
    const auto has_problem = [&row](const model::Component& pool) {
      return row.with_problems.contains(pool.name);
    };
    EXPECT_EQ(is_obtainable(row.label, row.pools, has_problem), row.is_obtainable)
        << row.label << " of " << row.pools.size() << " pool(s), " << row.with_problems.size()
        << " with problems";
  }
}

}  // namespace
}  // namespace nodepool::planning
