#include "telemetry/log_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"

namespace nodepool::telemetry {
namespace {

using testing::UnorderedElementsAre;
using Period = LogRotation::Period;

constexpr std::time_t kFridayNoon = 1'700'222'400;  // 2023-11-17 12:00:00 UTC
constexpr std::time_t kHour = 3600;
constexpr std::time_t kDay = 24 * kHour;

class LogRotationTest : public testing::Test {
 protected:
  std::string path() const { return directory_.path() / "log"; }
  std::string content(const std::string& suffix) const {
    return test_support::read_file(path() + suffix);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      names.push_back(entry.path().filename());
    }
    return names;
  }

  test_support::TemporaryDirectory directory_;
};

TEST_F(LogRotationTest, a_file_that_is_full_becomes_the_first_of_those_that_are_kept) {
  LogFile file(path(), {.max_size = 10, .backups = 2}, kFridayNoon);
  for (const char* line : {"one....\n", "two....\n", "three..\n", "four...\n"}) {
    file.write(line, kFridayNoon);
  }
  EXPECT_THAT(names(), UnorderedElementsAre("log", "log.1", "log.2"));
  EXPECT_EQ(content(""), "four...\n");
  EXPECT_EQ(content(".1"), "three..\n");
  EXPECT_EQ(content(".2"), "two....\n");
}

TEST_F(LogRotationTest, what_was_there_before_counts) {
  directory_.write("log", "before.\n");
  LogFile file(path(), {.max_size = 10, .backups = 1}, kFridayNoon);
  file.write("now....\n", kFridayNoon);
  EXPECT_EQ(content(".1"), "before.\n");
}

TEST_F(LogRotationTest, without_backups_nothing_is_lost) {
  LogFile file(path(), {.max_size = 10, .backups = 0}, kFridayNoon);
  file.write("one....\n", kFridayNoon);
  file.write("two....\n", kFridayNoon);
  EXPECT_EQ(content(""), "one....\ntwo....\n");
}

TEST_F(LogRotationTest, a_day_that_is_over_has_a_file_of_its_own) {
  directory_.write("log.1", "not by this handler");
  LogFile file(path(),
               {.period = Period::midnight, .utc = true, .suffix = "%Y-%m-%d", .backups = 2},
               kFridayNoon);
  for (int day = 0; day < 5; ++day) {
    file.write(std::to_string(day) + "\n", kFridayNoon + day * kDay);
    file.write("later\n", kFridayNoon + day * kDay + 11 * kHour);
  }
  EXPECT_THAT(names(), UnorderedElementsAre("log", "log.1", "log.2023-11-19", "log.2023-11-20"));
  EXPECT_EQ(content(""), "4\nlater\n");
  EXPECT_EQ(content(".2023-11-20"), "3\nlater\n");
}

TEST_F(LogRotationTest, hours_are_counted_from_the_start) {
  LogFile file(
      path(), {.period = Period::fixed, .seconds = 6 * kHour, .utc = true, .suffix = "%Y-%m-%d_%H"},
      kFridayNoon);
  file.write("noon\n", kFridayNoon);
  file.write("five\n", kFridayNoon + 5 * kHour);
  file.write("six\n", kFridayNoon + 6 * kHour);
  EXPECT_EQ(content(".2023-11-17_12"), "noon\nfive\n");
  file.write("days later\n", kFridayNoon + 3 * kDay);
  EXPECT_EQ(content(".2023-11-17_18"), "six\n");
  EXPECT_EQ(content(""), "days later\n");
}

TEST_F(LogRotationTest, weeks_end_with_their_day) {
  const LogRotation sunday{.period = Period::weekday, .weekday = 6, .utc = true};
  const std::time_t monday = kFridayNoon - 12 * kHour + 3 * kDay;
  EXPECT_EQ(end_of_period(sunday, kFridayNoon), monday);
  EXPECT_EQ(end_of_period(sunday, monday - 1), monday);
  EXPECT_EQ(end_of_period(sunday, monday), monday + 7 * kDay);
}

TEST_F(LogRotationTest, a_file_that_cannot_be_opened_is_retried_once_a_second) {
  std::filesystem::create_directory(path());
  LogFile file(path(), {}, kFridayNoon);
  EXPECT_NE(file.opening_failure(), "");
  std::filesystem::remove(path());
  EXPECT_THROW(file.write("one\n", kFridayNoon), std::system_error);
  EXPECT_THAT(names(), testing::IsEmpty());
  file.write("two\n", kFridayNoon + 1);
  EXPECT_EQ(content(""), "two\n");
}

TEST_F(LogRotationTest, where_nothing_can_be_renamed_it_goes_on) {
  // The name of the first backup is taken by a directory that is not empty.
  directory_.write("log.1/x", "");
  LogFile file(path(), {.max_size = 10, .backups = 1}, kFridayNoon);
  file.write("one....\n", kFridayNoon);
  file.write("two....\n", kFridayNoon);
  EXPECT_EQ(content(""), "one....\ntwo....\n");
}

}  // namespace
}  // namespace nodepool::telemetry
