#include "history/waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"

namespace nodepool::history {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

class WaitsTest : public testing::Test {
 protected:
  void add(std::string event, Facts facts) {
    append(journal_, to_line({.time = ++time_,
                              .subject = JournalEntry::Subject::request,
                              .id = "200-0000000001",
                              .event = std::move(event),
                              .related = {},
                              .details = {},
                              .facts = std::move(facts)}));
  }
  void add_wait(std::vector<std::string> labels, double seconds) {
    add("fulfilled", Waited{std::move(labels), seconds});
  }

  test_support::TemporaryDirectory directory_;
  Journal journal_{.directory = directory_.path() / "history"};
  double time_ = 0;
};

TEST_F(WaitsTest, are_those_of_the_same_labels) {
  add_wait({"small"}, 1);
  add_wait({"large", "small"}, 2.5);
  add_wait({"large", "small"}, 3);
  add_wait({"small"}, 4);
  EXPECT_THAT(recent_waits(journal_),
              ElementsAre(Pair(ElementsAre("large", "small"), ElementsAre(2.5, 3)),
                          Pair(ElementsAre("small"), ElementsAre(1, 4))));
}

TEST_F(WaitsTest, only_the_last_ones_count) {
  for (std::size_t i = 0; i <= kMostWaits; ++i) add_wait({"small"}, static_cast<double>(i));
  const Waits waits = recent_waits(journal_);
  EXPECT_EQ(waits.at({"small"}).size(), kMostWaits);
  EXPECT_EQ(waits.at({"small"}).front(), 1);
}

TEST_F(WaitsTest, what_others_have_written_is_ignored) {
  EXPECT_THAT(recent_waits(journal_), IsEmpty());
  add("fulfilled", {});
  add("fulfilled", OtherFacts{"[]"});
  add("fulfilled", OtherFacts{R"({"labels": "small", "seconds": 1})"});
  add("fulfilled", OtherFacts{R"({"labels": ["small"]})"});
  add("declined", OtherFacts{R"({"labels": ["fulfilled"], "seconds": 1})"});
  append(journal_, "fulfilled, but no entry\n");
  EXPECT_THAT(recent_waits(journal_), IsEmpty());
}

TEST(UsualWaitTest, is_that_of_four_in_five) {
  EXPECT_EQ(usual_wait({7}), 7);
  EXPECT_EQ(usual_wait({9, 1, 2}), 9);
  EXPECT_EQ(usual_wait({600, 1, 3, 2, 4}), 4);
  EXPECT_EQ(usual_wait({10, 9, 8, 7, 6, 5, 4, 3, 2, 1}), 8);
}

}  // namespace
}  // namespace nodepool::history
