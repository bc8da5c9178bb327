#include "planning/pool_stock.h"

#include <gmock/gmock.h>

#include <memory>
#include <stdexcept>

#include "tests/planning/records_fixture.h"

namespace nodepool::planning {
namespace {

using model::Node;
using model::NodeRequest;
using testing::ElementsAre;
using testing::UnorderedElementsAre;
using testing::UnorderedElementsAreArray;

class PoolStockTest : public RecordsFixture {
 protected:
  // The name of the node for each label; "-" if there is none.
  std::vector<std::string> choice(std::vector<std::string> labels,
                                  const std::string& preferred = {}, bool reuse = true) const {
    NodeRequest request;
    request.node_types = std::move(labels);
    request.reuse = reuse;
    std::vector<std::string> names;
    for (const std::string& id :
         stock_.choose(request, [&](const std::string& id) { return name(id) == preferred; })) {
      names.push_back(id.empty() ? "-" : name(id));
      const bool is_fit = id.empty() || node(id).has_label(request.node_types[names.size() - 1]);
      EXPECT_TRUE(is_fit) << names.back();
    }
    return names;
  }

  void add(const std::string& name, std::vector<std::string> labels, const std::string& zone = {},
           const std::string& pool = "main") {
    Node node = idle_node(pool, "");
    node.type = std::move(labels);
    if (!zone.empty()) node.az = zone;
    ids_[name] = add_node(node);
  }

  std::string name(const std::string& id) const {
    for (const auto& [name, known] : ids_) {
      if (known == id) return name;
    }
    return "nobody";
  }

  PoolIdentity pool_{"the-pool", "sky", "main"};
  PoolStock stock_{nodes_, pool_};
  std::map<std::string, std::string> ids_;  // by name
};

TEST_F(PoolStockTest, each_label_gets_a_free_node_if_there_is_one) {
  add("a1", {"a"});
  add("a2", {"a"});
  add("ab", {"a", "b"});
  add("elsewhere", {"b"}, {}, "other");
  struct Row {
    std::vector<std::string> labels;
    std::vector<std::string> nodes;  // in any order
  };
  const Row rows[] = {
      {{"a"}, {"a1"}},
      {{"b"}, {"ab"}},
      {{"c"}, {"-"}},
      {{"a", "a"}, {"a1", "a2"}},
      {{"a", "a", "a"}, {"a1", "a2", "ab"}},
      {{"a", "a", "a", "a"}, {"a1", "a2", "ab", "-"}},
      {{"a", "b"}, {"a1", "ab"}},
      {{"b", "a", "a"}, {"a1", "a2", "ab"}},
      {{"a", "a", "b"}, {"a1", "a2", "ab"}},  // the first label moves to another node
      {{"b", "b"}, {"ab", "-"}},
      {{"c", "a"}, {"-", "a1"}},
  };
  for (const Row& row : rows) {
    EXPECT_THAT(choice(row.labels), UnorderedElementsAreArray(row.nodes))
        << testing::PrintToString(row.labels);
  }
  EXPECT_THAT(choice({"a"}, "a2"), ElementsAre("a2")) << "the preferred one first";
  EXPECT_THAT(choice({"a", "b"}, {}, /*reuse=*/false), ElementsAre("-", "-"));
}

TEST_F(PoolStockTest, what_others_have_or_are_about_to_get_is_not_chosen) {
  add("held", {"a"});
  add("allocated", {"a"});
  add("used", {"a"});
  add("promised", {"a"});
  add("free", {"a"});
  lock(ids_["held"]);
  Node allocated = node(ids_["allocated"]);
  allocated.allocated_to = "200-0000000001";
  write_node(allocated);
  Node used = node(ids_["used"]);
  used.set_state(model::NodeState::used, 0);
  write_node(used);
  stock_.reserve({ids_["promised"], ""});
  EXPECT_TRUE(stock_.is_reserved(ids_["promised"]));
  EXPECT_THAT(choice({"a", "a"}), UnorderedElementsAre("free", "-"));
  stock_.release({ids_["promised"], ""});
  EXPECT_FALSE(stock_.is_reserved(ids_["promised"]));
  EXPECT_THAT(choice({"a", "a"}), UnorderedElementsAre("promised", "free"));
}

TEST_F(PoolStockTest, the_nodes_of_one_request_share_a_zone) {
  add("north", {"a"}, "north");
  add("south", {"a", "b"}, "south");
  add("another in the south", {"b"}, "south");
  add("anywhere", {"c"});
  EXPECT_THAT(choice({"a", "b"}), ElementsAre("south", "another in the south"))
      << "only one zone can serve both";
  EXPECT_THAT(choice({"b", "a"}), ElementsAre("another in the south", "south"));
  EXPECT_THAT(choice({"a", "a"}), UnorderedElementsAre("north", "-")) << "the first one's counts";
  EXPECT_THAT(choice({"b", "b", "a"}), UnorderedElementsAre("another in the south", "south", "-"));
  EXPECT_THAT(choice({"a", "c"}), ElementsAre("north", "anywhere"));
  EXPECT_THAT(choice({"c", "a"}), ElementsAre("anywhere", "north"));
  EXPECT_THAT(choice({"a"}, "south"), ElementsAre("south")) << "a single node is of any zone";
}

TEST_F(PoolStockTest, nodes_of_other_zones_hide_none_of_the_right_one) {
  add("n1", {"a"}, "north");
  for (int i = 0; i < 5; ++i) add("s" + std::to_string(i), {"a"}, "south" + std::to_string(i));
  add("n2", {"a"}, "north");
  add("n3", {"b"}, "north");
  EXPECT_THAT(choice({"a", "a"}), UnorderedElementsAre("n1", "n2"));
  EXPECT_THAT(choice({"a", "b", "a"}, "n2"), UnorderedElementsAre("n2", "n3", "n1"));
  EXPECT_THAT(choice({"a", "a", "b", "b"}), UnorderedElementsAre("n1", "n2", "n3", "-"));
}

TEST_F(PoolStockTest, nodes_without_a_zone_do_not_join_those_of_two) {
  add("anywhere", {"a"});
  add("north", {"a"}, "north");
  add("south", {"a"}, "south");
  add("s2", {"b"}, "south");
  EXPECT_THAT(choice({"a", "a", "a"}), UnorderedElementsAre("anywhere", "north", "-"));
  EXPECT_THAT(choice({"a", "a", "b"}), UnorderedElementsAre("anywhere", "south", "s2"));
}

TEST_F(PoolStockTest, equal_labels_are_searched_for_once_in_each_zone) {
  for (int i = 0; i < 10; ++i) add("n" + std::to_string(i), {"a"}, "north");
  for (int i = 0; i < 10; ++i) add("s" + std::to_string(i), {"a", "b"}, "south");
  NodeRequest request;
  request.node_types = {"a", "a", "b", "a", "b"};
  int inspected = 0;
  const auto plan = stock_.choose(request, [&inspected](const std::string&) {
    ++inspected;
    return false;
  });
  EXPECT_THAT(plan, testing::Each(testing::Not(testing::IsEmpty())));
  EXPECT_EQ(inspected, 10 + 2 * 10) << "`a` in the north, `a` and `b` in the south";
}

TEST_F(PoolStockTest, a_node_with_several_labels_serves_only_one_at_once) {
  stock_.reconfigure(driver::Inventory{{"a"}, {"a", "b"}, {"c"}, {"c", "d"}, {"d", "e"}});
  struct Row {
    std::vector<std::string> labels;
    bool has_all;
  };
  const Row rows[] = {
      {{"a", "b"}, true},           {{"a", "a", "b"}, false},
      {{"b", "c", "d", "e"}, true}, {{"c", "d", "d"}, true},  // one of them has the other host
      {{"c", "c", "d"}, true},      {{"c", "c", "d", "e"}, false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(stock_.has_all_at_once(row.labels), row.has_all)
        << testing::PrintToString(row.labels);
  }
}

TEST_F(PoolStockTest, the_capacity_is_the_number_of_nodes_with_a_label) {
  EXPECT_EQ(stock_.capacity("a"), std::nullopt) << "unlimited";
  stock_.reconfigure(driver::Inventory{{"a"}, {"a", "b", "a"}});
  EXPECT_EQ(stock_.capacity("a"), 2);
  EXPECT_EQ(stock_.capacity("b"), 1);
  EXPECT_EQ(stock_.capacity("z"), 0);
  stock_.reconfigure(driver::Inventory{{"a"}});
  EXPECT_EQ(stock_.capacity("a"), 1);
  EXPECT_EQ(stock_.capacity("b"), 0) << "of the previous configuration";
  stock_.reconfigure(std::nullopt);
  EXPECT_EQ(stock_.capacity("a"), std::nullopt);
}

TEST_F(PoolStockTest, labels_of_the_same_nodes_are_rivals) {
  stock_.reconfigure(driver::Inventory{{"a"}, {"a", "b"}, {"c"}, {"b", "d"}});
  EXPECT_THAT(stock_.rivals({"a"}), UnorderedElementsAre("a", "b"));
  EXPECT_THAT(stock_.rivals({"b"}), UnorderedElementsAre("a", "b", "d"));
  EXPECT_THAT(stock_.rivals({"c"}), ElementsAre("c"));
  EXPECT_THAT(stock_.rivals({"a", "c"}), UnorderedElementsAre("a", "b", "c"));
  stock_.reconfigure(driver::Inventory{{"a"}, {"b"}});
  EXPECT_THAT(stock_.rivals({"a"}), ElementsAre("a")) << "of the previous configuration";
}

}  // namespace
}  // namespace nodepool::planning
