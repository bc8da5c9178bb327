#include "driver/resources.h"

#include <gtest/gtest.h>

namespace nodepool::driver {
namespace {

TEST(ResourcesTest, sums_forget_what_is_zero) {
  Resources sum({{"instances", 2}, {"cores", 8}});
  sum += Resources({{"instances", 1}, {"ram", 1024}});
  EXPECT_EQ(sum, Resources({{"instances", 3}, {"cores", 8}, {"ram", 1024}}));
  sum -= Resources({{"instances", 3}, {"cores", 8}});
  EXPECT_EQ(sum, Resources({{"ram", 1024}}));
  sum -= Resources({{"ram", 1024}});
  EXPECT_TRUE(sum.empty());
}

TEST(ResourcesTest, a_record_has_what_zuul_reads_and_all_the_rest) {
  const Resources resources({{"instances", 1}, {"volume-gb", 80}, {"L-1", 0.5}});
  EXPECT_EQ(resources.to_json().text,
            R"({"L-1": 0.5, "cores": 0, "instances": 1, "ram": 0, "volume-gb": 80})");
  EXPECT_EQ(Resources::parse(resources.to_json()), resources);
}

TEST(ResourcesTest, what_is_no_amount_in_a_record_is_left_out) {
  EXPECT_EQ(Resources::parse({R"({"cores": "4", "instances": 1, "ram": null})"}),
            Resources({{"instances", 1}}));
  EXPECT_EQ(Resources::parse({"null"}), std::nullopt);
  EXPECT_EQ(Resources::parse({"[1]"}), std::nullopt);
}

// As a record may have it that others write.
TEST(ResourcesTest, an_amount_that_no_integer_holds_stays_what_it_is) {
  const auto resources = Resources::parse({R"({"cores": 1e300, "ram": -1e300, "instances": 1})"});
  ASSERT_TRUE(resources);
  EXPECT_EQ(resources->to_json().text, R"({"cores": 1e+300, "instances": 1, "ram": -1e+300})");
}

TEST(ResourcesTest, a_limit_counts_what_is_used_and_what_is_needed) {
  const Limits limits{{"cores", 10}, {"instances", 3}};
  const Resources need({{"cores", 4}, {"instances", 1}, {"ram", 99999}});
  EXPECT_EQ(excess(limits, Resources({{"cores", 6}, {"instances", 2}}), need), std::nullopt);
  const auto over = excess(limits, Resources({{"cores", 7}, {"instances", 2}}), need);
  ASSERT_TRUE(over);
  EXPECT_EQ(to_string(*over), "cores: 7 used + 4 needed, limit 10");
}

TEST(ResourcesTest, a_limit_that_is_exceeded_already_allows_nothing) {
  EXPECT_TRUE(excess({{"volumes", 3}}, Resources({{"volumes", 5}}), Resources({{"cores", 1}})));
}

TEST(ResourcesTest, what_others_use_lowers_a_limit) {
  EXPECT_EQ(remaining({{"cores", 10}}, Resources({{"cores", 4}, {"ram", 1}})),
            (Limits{{"cores", 6}}));
}

}  // namespace
}  // namespace nodepool::driver
