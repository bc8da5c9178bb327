// Tests the rows and messages, and how old a revision may be.

#include "page/row_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include <nlohmann/json.hpp>

namespace nodepool::page {
namespace {

using nlohmann::json;
using testing::SizeIs;

using TimePoint = RowChanges::TimePoint;

TimePoint at(std::chrono::milliseconds time) {
  return TimePoint{} + time;
}

json data_of(const std::string& event) {
  constexpr std::string_view kBegin = "event: changes\ndata: ";
  EXPECT_TRUE(event.starts_with(kBegin)) << event;
  EXPECT_TRUE(event.ends_with("\n\n")) << event;
  return json::parse(event.substr(kBegin.size()));
}

std::string row(const std::string& id, int value) {
  return json{{"id", id}, {"value", value}}.dump();
}

class RowChangesTest : public testing::Test {
 protected:
  json rows(std::chrono::milliseconds time = std::chrono::milliseconds(0)) {
    return json::parse(*log_.rows(at(time)));
  }

  RowChanges log_{"a", {.messages = 3, .bytes = 1 << 20}};
};

TEST_F(RowChangesTest, the_rows_are_of_a_revision_that_changes_lead_on_from) {
  log_.set("node", "1", row("1", 1));
  log_.set("request", "2", row("2", 1));
  EXPECT_TRUE(log_.commit(at({})));
  const json all = rows();
  EXPECT_EQ(all["revision"], "a-1");
  EXPECT_EQ(all["rows"], json::parse(R"({"node": [{"id": "1", "value": 1}],
                                         "request": [{"id": "2", "value": 1}]})"));
  log_.set("node", "1", row("1", 2));
  log_.erase("request", "2");
  EXPECT_TRUE(log_.commit(at({})));
  const auto since = log_.since("a-1");
  ASSERT_TRUE(since);
  ASSERT_THAT(*since, SizeIs(1));
  EXPECT_EQ(data_of(*since->front()),
            json::parse(R"({"revision": "a-2", "set": {"node": [{"id": "1", "value": 2}]},
                            "gone": {"request": ["2"]}})"));
}

TEST_F(RowChangesTest, what_stays_as_it_is_is_no_change) {
  log_.set("node", "1", row("1", 1));
  log_.commit(at({}));
  log_.set("node", "1", row("1", 1));
  log_.erase("node", "2");
  EXPECT_FALSE(log_.commit(at({})));
  EXPECT_EQ(log_.revision(), "a-1");
}

TEST_F(RowChangesTest, of_several_changes_of_a_row_the_last_is_sent) {
  log_.commit(at({}));
  for (int value = 0; value < 10; ++value) log_.set("node", "1", row("1", value));
  log_.set("node", "2", row("2", 1));
  log_.erase("node", "2");
  log_.commit(at({}));
  const json message = data_of(*log_.since("a-0")->front());
  EXPECT_EQ(message["set"]["node"], json::parse(R"([{"id": "1", "value": 9}])"));
  EXPECT_EQ(message["gone"]["node"], json::parse(R"(["2"])"));
}

TEST_F(RowChangesTest, all_clients_get_the_same_text) {
  log_.set("node", "1", row("1", 1));
  log_.commit(at({}));
  EXPECT_EQ(log_.rows(at({})), log_.rows(at({})));
  EXPECT_EQ(log_.since("a-0")->front(), log_.since("a-0")->front());
}

TEST_F(RowChangesTest, a_client_with_an_old_or_foreign_revision_gets_all_rows) {
  for (int value = 1; value <= 5; ++value) {
    log_.set("node", "1", row("1", value));
    log_.commit(at({}));
  }
  EXPECT_FALSE(log_.since("a-1"));
  EXPECT_THAT(*log_.since("a-2"), SizeIs(3));
  EXPECT_THAT(*log_.since("a-5"), SizeIs(0));
  for (const char* revision :
       {"", "a", "a-", "a-6", "b-5", "a-5x", "a--1", "a-99999999999999999999"}) {
    EXPECT_FALSE(log_.since(revision)) << revision;
  }
}

TEST_F(RowChangesTest, rows_are_rendered_once_a_second_at_most_and_always_lead_on) {
  RowChanges log("b", {.messages = 2, .bytes = 1000});
  const std::string text(500, 'x');
  RowChanges::Text before;
  int rendered = 0;
  for (int i = 0; i < 100; ++i) {
    const auto time = at(std::chrono::milliseconds(100 * i));
    log.set("node", "1", json{{"id", "1"}, {"value", i}, {"text", text}}.dump());
    log.commit(time);
    const RowChanges::Text now = log.rows(time);
    if (now != before) ++rendered;
    before = now;
    EXPECT_TRUE(log.since(json::parse(*now)["revision"].get<std::string>()));
  }
  EXPECT_LE(rendered, 10);
  EXPECT_GE(rendered, 9);
}

TEST_F(RowChangesTest, rows_are_not_rendered_anew_for_a_small_change) {
  for (int i = 0; i < 2000; ++i) log_.set("node", std::to_string(i), row(std::to_string(i), i));
  log_.commit(at({}));
  const RowChanges::Text before = log_.rows(at({}));
  log_.set("node", "1", row("1", 7));
  log_.commit(at(std::chrono::hours(1)));
  EXPECT_EQ(log_.rows(at(std::chrono::hours(1))), before);
}

TEST_F(RowChangesTest, ids_are_quoted) {
  log_.set("image", "a\"b", R"({"id": "a\"b"})");
  log_.commit(at({}));
  log_.erase("image", "a\"b");
  log_.commit(at({}));
  EXPECT_EQ(data_of(*log_.since("a-1")->front())["gone"]["image"], json::parse(R"(["a\"b"])"));
}

}  // namespace
}  // namespace nodepool::page
