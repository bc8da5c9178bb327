// Tests the trends in files: what one process writes, the next one continues with.

#include "page/trend_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "tests/support/temporary_directory.h"

namespace nodepool::page {
namespace {

using nlohmann::json;
using std::chrono::seconds;
using Kind = Trends::Kind;

constexpr double kWallTime = 1'700'000'000;

class TrendFileTest : public testing::Test {
 protected:
  void add(double age, const Trends::Counts& counts) {
    history::append(file_, to_line(kWallTime - age, {{Kind::all, {{"", counts}}},
                                                     {Kind::label, {{"debian", counts}}}}));
  }

  json read(Kind kind = Kind::label, const std::string& name = "debian") {
    const Trends::TimePoint now(seconds(static_cast<std::int64_t>(kWallTime)));
    return json::parse(read_trends(file_, now, kWallTime).one(kind, name, now, kWallTime));
  }

  test_support::TemporaryDirectory directory_;
  history::Journal file_ = trend_file({.directory = directory_.path()});
};

TEST_F(TrendFileTest, what_was_written_is_read) {
  add(120, {.waiting = 1, .in_use = 2, .ready = 3, .launching = 4, .failed = 5});
  add(60, {.ready = 1});
  const json answer = read();
  EXPECT_EQ(answer["steps"], 2);
  EXPECT_EQ(answer["series"],
            json::parse(R"([{"name": "debian", "waiting": [1, 0], "in_use": [2, 0],
      "ready": [3, 1], "launching": [4, 0], "failed": [5, 0]}])"));
  EXPECT_EQ(read(Kind::all, "")["series"][0]["ready"], json::parse("[3, 1]"));
}

TEST_F(TrendFileTest, minutes_without_a_process_are_unknown) {
  add(240, {.ready = 1});
  add(60, {.ready = 2});
  EXPECT_EQ(read()["series"][0]["ready"], json::parse("[1, null, null, 2]"));
}

TEST_F(TrendFileTest, samples_older_than_six_hours_or_of_the_future_are_not_read) {
  add(7 * 3600, {.ready = 1});
  add(60, {.ready = 2});
  add(-3600, {.ready = 3});
  EXPECT_EQ(read()["series"][0]["ready"], json::parse("[2]"));
}

TEST_F(TrendFileTest, lines_that_cannot_be_read_are_ignored) {
  for (const char* line : {"{\"time\":17", "[]\n", "{\"time\":\"x\"}\n",
                           "{\"time\":1699999990,\"label\":{\"debian\":[1]}}\n"}) {
    history::append(file_, line);
  }
  add(60, {.ready = 2});
  EXPECT_EQ(read()["series"][0]["ready"], json::parse("[2]"));
}

TEST_F(TrendFileTest, without_a_file_there_is_no_sample) {
  EXPECT_EQ(read()["steps"], 0);
}

}  // namespace
}  // namespace nodepool::page
