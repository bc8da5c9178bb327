// Tests the samples of the last hours: their bounds, gaps and long steps.

#include "page/trends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace nodepool::page {
namespace {

using nlohmann::json;
using std::chrono::minutes;
using Kind = Trends::Kind;

constexpr double kWall = 1'700'000'000;

class TrendsTest : public testing::Test {
 protected:
  static Trends::TimePoint at(int minute) {
    return Trends::TimePoint(minutes(minute) + std::chrono::seconds(7));
  }

  // Adds a sample with these counts of a label.
  void add(int minute, const Trends::Counts& counts, const std::string& label = "debian") {
    trends_.add(at(minute), {{Kind::label, {{label, counts}}}});
    now_ = at(minute);
  }

  json one(const std::string& label = "debian") const {
    return json::parse(trends_.one(Kind::label, label, now_, kWall));
  }
  json all() const { return json::parse(trends_.all(Kind::label, now_, kWall)); }

  Trends trends_;
  Trends::TimePoint now_ = at(0);
};

TEST_F(TrendsTest, there_is_a_value_for_each_minute_since_the_first_sample) {
  add(5, {.waiting = 1, .in_use = 2, .ready = 3, .launching = 4, .failed = 5});
  add(6, {.ready = 1});
  const json answer = one();
  EXPECT_EQ(answer["step"], 60);
  EXPECT_EQ(answer["steps"], 2);
  EXPECT_EQ(answer["begin"], kWall - 67);  // the minute before the current one, of which 7 s passed
  EXPECT_EQ(answer["first"], kWall - 67);
  EXPECT_EQ(answer["series"],
            json::parse(R"([{"name": "debian", "waiting": [1, 0], "in_use": [2, 0],
      "ready": [3, 1], "launching": [4, 0], "failed": [5, 0]}])"));
}

TEST_F(TrendsTest, minutes_without_a_sample_are_unknown) {
  add(0, {.ready = 1});
  add(1, {});
  add(4, {.ready = 2});
  EXPECT_EQ(one()["series"][0]["ready"], json::parse("[1, 0, null, null, 2]"));
}

TEST_F(TrendsTest, before_the_first_sample_nothing_is_known) {
  EXPECT_EQ(one()["steps"], 0);
  EXPECT_EQ(one()["series"], json::array());
  EXPECT_EQ(all()["series"], json::array());
}

TEST_F(TrendsTest, values_older_than_six_hours_are_forgotten) {
  for (int minute = 0; minute < 400; ++minute) {
    add(minute, {.ready = static_cast<std::uint32_t>(minute + 1)});
  }
  const json ready = one()["series"][0]["ready"];
  ASSERT_EQ(ready.size(), Trends::kSamples);
  EXPECT_EQ(ready.front(), 41);
  EXPECT_EQ(ready.back(), 400);
}

TEST_F(TrendsTest, a_pause_longer_than_six_hours_leaves_nothing_but_the_new_value) {
  add(0, {.ready = 1});
  add(1000, {.ready = 2});
  const json ready = one()["series"][0]["ready"];
  ASSERT_EQ(ready.size(), Trends::kSamples);
  EXPECT_EQ(std::ranges::count(ready, json()), Trends::kSamples - 1);
  EXPECT_EQ(ready.back(), 2);
}

TEST_F(TrendsTest, a_series_that_was_0_all_the_time_is_removed) {
  add(0, {.ready = 1});
  for (int minute = 1; minute < 360; ++minute) add(minute, {});
  EXPECT_EQ(one()["series"].size(), 1);
  add(360, {});
  EXPECT_EQ(one()["series"].size(), 0);
}

TEST_F(TrendsTest, the_number_of_series_is_limited_and_the_answer_says_so) {
  Trends::Sample sample;
  for (std::size_t i = 0; i <= Trends::kMostSeries; ++i) {
    sample[Kind::label]["label-" + std::to_string(i)].ready = 1;
  }
  trends_.add(at(0), sample);
  EXPECT_EQ(all()["series"].size(), Trends::kMostSeries);
  EXPECT_EQ(all()["incomplete"], true);
  for (int minute = 1; minute <= 360; ++minute) add(minute, {});
  EXPECT_FALSE(all().contains("incomplete"));
  add(361, {.ready = 1}, "another");
  EXPECT_EQ(all()["series"].size(), 1);
}

TEST_F(TrendsTest, long_steps_have_the_most_requests_the_last_nodes_and_all_failures) {
  for (int minute = 0; minute < 25; ++minute) {
    const auto number = static_cast<std::uint32_t>(minute);
    add(minute, {.waiting = number == 24 ? 0 : number, .ready = 100 - number, .failed = 1});
  }
  const json answer = all();
  EXPECT_EQ(answer["step"], 600);
  EXPECT_EQ(answer["begin"], kWall - 7 - 29 * 60);  // three steps, the last minute included
  EXPECT_EQ(answer["first"], kWall - 7 - 24 * 60);
  EXPECT_EQ(answer["series"][0]["waiting"], json::parse("[4, 14, 23]"));
  EXPECT_EQ(answer["series"][0]["ready"], json::parse("[96, 86, 76]"));
  EXPECT_EQ(answer["series"][0]["failed"], json::parse("[5, 10, 10]"));
}

TEST_F(TrendsTest, a_long_step_without_any_sample_is_unknown) {
  add(0, {.ready = 3});
  add(29, {.ready = 1});
  EXPECT_EQ(all()["series"][0]["ready"], json::parse("[3, null, 1]"));
}

}  // namespace
}  // namespace nodepool::page
