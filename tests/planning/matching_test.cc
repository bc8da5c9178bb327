#include "planning/matching.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nodepool::planning {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

TEST(MatchingTest, each_position_gets_its_first_candidate_if_nobody_else_wants_it) {
  EXPECT_THAT(match({{"1", "2"}, {"3"}}), ElementsAre("1", "3"));
  EXPECT_THAT(match({}), ElementsAre());
}

TEST(MatchingTest, a_position_moves_over_for_one_with_less_choice) {
  EXPECT_THAT(match({{"1", "2"}, {"1"}}), ElementsAre("2", "1"));
  EXPECT_THAT(match({{"1", "2"}, {"2", "3"}, {"1"}}), ElementsAre("2", "3", "1"));
}

TEST(MatchingTest, what_does_not_go_round_stays_empty) {
  EXPECT_THAT(match({{"1"}, {"1"}}), ElementsAre("1", ""));
  EXPECT_THAT(match({{"1"}, {}}), ElementsAre("1", ""));
  EXPECT_THAT(match({{"1", "2"}, {"1", "2"}, {"1", "2"}}), UnorderedElementsAre("1", "2", ""));
}

}  // namespace
}  // namespace nodepool::planning
