#include "cloud/use_by_others.h"

#include <gtest/gtest.h>

namespace nodepool::cloud {
namespace {

using driver::Resources;

Resources cores(double amount) {
  return Resources({{"cores", amount}});
}

TEST(UseByOthers, it_is_what_is_counted_and_not_listed) {
  UseByOthers others;
  EXPECT_EQ(others.of(cores(10), cores(4)), cores(6));
  EXPECT_EQ(others.of(cores(10), cores(4)), cores(6));
  EXPECT_EQ(others.of(cores(4), cores(4)), Resources());
}

TEST(UseByOthers, own_machines_that_are_not_counted_yet_are_no_surplus) {
  UseByOthers others;
  EXPECT_EQ(others.of(cores(0), cores(4)), Resources());
}

TEST(UseByOthers, own_machines_that_are_still_counted_after_their_end_are_not_of_others) {
  UseByOthers others;
  EXPECT_EQ(others.of(cores(10), cores(8)), cores(2));
  EXPECT_EQ(others.of(cores(10), cores(0)), cores(2)) << "counts lag behind";
  EXPECT_EQ(others.of(cores(2), cores(0)), cores(2));
}

TEST(UseByOthers, what_two_counts_agree_on_is_new_use) {
  UseByOthers others;
  EXPECT_EQ(others.of(cores(2), Resources()), cores(2));
  EXPECT_EQ(others.of(cores(9), Resources()), cores(2));
  EXPECT_EQ(others.of(cores(9), Resources()), cores(9));
}

}  // namespace
}  // namespace nodepool::cloud
