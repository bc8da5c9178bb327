#include "report/rendering/fitting.h"

#include <gmock/gmock.h>

#include "report/filter.h"
#include "report/rendering/table_text.h"

namespace nodepool::report {
namespace {

using model::Json;
using testing::ElementsAre;

TEST(FittingTest, the_widest_columns_give_first) {
  EXPECT_THAT(fitted({{10}, {20}, {30}}, 100), ElementsAre(10, 20, 30));
  EXPECT_THAT(fitted({{10}, {20}, {30}}, 60), ElementsAre(10, 20, 20));
  EXPECT_THAT(fitted({{10}, {20}, {30}}, 50), ElementsAre(10, 15, 15));
  EXPECT_THAT(fitted({{10}, {20, true}, {30}}, 50), ElementsAre(10, 20, 10));
}

TEST(FittingTest, no_column_becomes_narrower_than_is_of_use) {
  EXPECT_THAT(fitted({{10}, {5}, {30, true}}, 10), ElementsAre(6, 5, 30));
  EXPECT_THAT(fitted({}, 10), ElementsAre());
}

TEST(FittingTest, what_is_cut_says_so) {
  EXPECT_EQ(cut("abcdef", 6), "abcdef");
  EXPECT_EQ(cut("abcdef", 5), "abcd…");
  EXPECT_EQ(cut("äöüß", 3), "äö…");
  EXPECT_EQ(cut("日本語", 5), "日本…");
  EXPECT_EQ(cut("日本語", 4), "日…");
}

TEST(FittingTest, a_table_fits_the_terminal) {
  Table table({{.key = "id", .header = "ID", .is_id = true}, {"more", "More"}});
  table.add({Json{R"("0000000001")"}, Json{R"("a text that is too long\nfor it")"}});
  EXPECT_EQ(table_text(table, {.width = 30}),
            "+------------+---------------+\n"
            "| ID         | More          |\n"
            "+------------+---------------+\n"
            "| 0000000001 | a text that … |\n"
            "|            | for it        |\n"
            "+------------+---------------+");
}

TEST(FittingTest, what_is_cut_within_a_wide_character_is_filled_up) {
  Table table({{"name", "Name"}});
  table.add({Json{R"("日本語日本語")"}});
  EXPECT_EQ(table_text(table, {.width = 12}),
            "+----------+\n"
            "| Name     |\n"
            "+----------+\n"
            "| 日本語…  |\n"
            "+----------+");
}

TEST(FittingTest, prose_goes_on_in_another_line) {
  Table table({{"more", "More"},
               {.key = "age", .header = "Age", .too_wide = TooWide::kept},
               {.key = "why", .header = "Why", .too_wide = TooWide::wrapped}});
  table.add({Json{R"("abcdefghijkl")"}, Json{R"("00:00:00:12")"}, Json{R"("it has no room")"}});
  EXPECT_EQ(table_text(table, {.width = 38}),
            "+----------+-------------+-----------+\n"
            "| More     | Age         | Why       |\n"
            "+----------+-------------+-----------+\n"
            "| abcdefg… | 00:00:00:12 | it has no |\n"
            "|          |             | room      |\n"
            "+----------+-------------+-----------+");
}

TEST(FilterTest, values_are_compared_as_texts_and_lists_by_their_items) {
  Table table({{"id", "ID"}, {"labels", "Labels"}, {"count", "Count"}});
  table.add({Json{R"("1")"}, Json{R"(["a", "b, \"c"])"}, Json{"3"}});
  table.add({Json{R"("2")"}, Json{"[]"}, Json{}});
  const auto names = [&table](const Filters& filters) {
    Table shown = matching(table, filters);
    return table_json(shown.only({"id"}));
  };
  EXPECT_EQ(names({}), R"([{"id": "1"}, {"id": "2"}])");
  EXPECT_EQ(names({{"labels", {"a"}}}), R"([{"id": "1"}])");
  EXPECT_EQ(names({{"labels", {"b, \"c", "x"}}}), R"([{"id": "1"}])");
  EXPECT_EQ(names({{"labels", {"b"}}}), "[]");
  EXPECT_EQ(names({{"count", {"3"}}, {"id", {"1", "2"}}}), R"([{"id": "1"}])");
  EXPECT_EQ(names({{"count", {"null"}}}), "[]");
  EXPECT_EQ(names({{"colour", {"red"}}}), "[]");
}

}  // namespace
}  // namespace nodepool::report
