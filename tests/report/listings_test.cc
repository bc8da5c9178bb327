#include "report/listings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/history_listing.h"

namespace nodepool::report {
namespace {

TEST(AgeTest, days_have_as_many_digits_as_they_need) {
  EXPECT_EQ(age_text(100, 100), "00:00:00:00");
  EXPECT_EQ(age_text(159.9, 100), "00:00:00:59");
  EXPECT_EQ(age_text(90061, 0), "01:01:01:01");
  EXPECT_EQ(age_text(1102.0 * 86400 + 4 * 3600 + 27 * 60 + 30, 0), "1102:04:27:30");
}

TEST(AgeTest, the_future_is_a_negative_day) {
  EXPECT_EQ(age_text(0, 10), "-1:23:59:50");
  EXPECT_EQ(age_text(0, 0.5), "-1:23:59:59");
  EXPECT_EQ(age_text(0, 86400), "-1:00:00:00");
}

TEST(HistoryListing, has_moments_and_the_time_between_them) {
  history::JournalEntry first;
  first.subject = history::JournalEntry::Subject::node;
  first.time = 100;
  history::JournalEntry second = first;
  second.time = 160.5;
  const Table table = history_listing({first, second});
  ASSERT_EQ(table.rows().size(), 2U);
  EXPECT_EQ(std::get<Time>(table.rows()[1][0]).seconds, 160.5);
  EXPECT_TRUE(std::get<model::Json>(table.rows()[0][1]).is_null()) << "nothing is before it";
  EXPECT_EQ(std::get<Duration>(table.rows()[1][1]).seconds, 60.5);
}

}  // namespace
}  // namespace nodepool::report
