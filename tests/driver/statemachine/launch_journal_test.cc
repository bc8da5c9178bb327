#include "driver/statemachine/launch_journal.h"

#include <gtest/gtest.h>

namespace nodepool::driver {
namespace {

TEST(LaunchJournal, survives_the_record) {
  LaunchJournal journal;
  journal.attempt = 2;
  journal.undo = true;
  journal.steps["disk"] = {1'700'000'000.25, "d-1"};
  journal.steps["server"] = {1'700'000'001.5, std::nullopt};
  EXPECT_EQ(journal.to_json().text,
            R"({"attempt": 2, "undo": true, "steps": {"disk": {"begun": 1700000000.25, )"
            R"("result": "d-1"}, "server": {"begun": 1700000001.5}}})");
  EXPECT_EQ(LaunchJournal::parse(journal.to_json()), journal);
}

TEST(LaunchJournal, an_empty_one_is_read_from_null) {
  EXPECT_EQ(LaunchJournal::parse({}), LaunchJournal());
  EXPECT_EQ(LaunchJournal::parse(LaunchJournal().to_json()), LaunchJournal());
}

TEST(LaunchJournal, what_is_no_journal_is_refused) {
  for (const char* text : {"[]", "7", R"({"attempt": 1})", R"({"attempt": "x", "undo": 0})",
                           R"({"attempt": 1, "undo": false, "steps": {"a": {}}})",
                           R"({"attempt": 1, "undo": false, "steps": {"a": 4}})"}) {
    EXPECT_THROW(LaunchJournal::parse(model::Json::parse(text)), model::RecordError) << text;
  }
}

TEST(LaunchJournal, a_step_without_result_makes_it_uncertain_what_there_is) {
  LaunchJournal journal;
  EXPECT_FALSE(journal.is_uncertain());
  journal.steps["disk"] = {100, "d-1"};
  EXPECT_FALSE(journal.is_uncertain());
  journal.steps["server"] = {105, std::nullopt};
  EXPECT_TRUE(journal.is_uncertain());
}

}  // namespace
}  // namespace nodepool::driver
