#include "planning/matching.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace nodepool::planning
