#include "planning/matching.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

namespace nodepool::planning {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

TEST(MatchingTest, each_position_gets_its_first_candidate_without_competition) {
  EXPECT_THAT(match({{"1", "2"}, {"3"}}), ElementsAre("1", "3"));
  EXPECT_THAT(match({}), ElementsAre());
}

TEST(MatchingTest, a_position_yields_to_one_with_fewer_candidates) {
  EXPECT_THAT(match({{"1", "2"}, {"1"}}), ElementsAre("2", "1"));
  EXPECT_THAT(match({{"1", "2"}, {"2", "3"}, {"1"}}), ElementsAre("2", "3", "1"));
}

TEST(MatchingTest, positions_without_a_candidate_stay_empty) {
  EXPECT_THAT(match({{"1"}, {"1"}}), ElementsAre("1", ""));
  EXPECT_THAT(match({{"1"}, {}}), ElementsAre("1", ""));
  EXPECT_THAT(match({{"1", "2"}, {"1", "2"}, {"1", "2"}}), UnorderedElementsAre("1", "2", ""));
}

// A request may have a thousand equal labels, and a pool as many free nodes.
TEST(MatchingTest, many_equal_labels_take_little_time) {
  std::vector<std::string> nodes;
  for (int i = 0; i < 300; ++i) nodes.push_back(std::to_string(i));
  const std::clock_t before = std::clock();
  const std::vector<std::string> matched = match(std::vector(1000, nodes));
  EXPECT_EQ(std::ranges::count(matched, std::string()), 700);
  constexpr double kSeconds = 3;  // of the processor; ten times what it takes
  EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, kSeconds);
}

}  // namespace
}  // namespace nodepool::planning
