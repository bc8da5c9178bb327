#include "report/rendering/table_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/node.h"

namespace nodepool::report {
namespace {

using model::Json;

std::string cell(const char* json) {
  return cell_text(Json{json});
}

TEST(TableTest, columns_are_as_wide_as_their_widest_cell) {
  Table table({{"id", "ID"}, {"label", "Label"}});
  table.add({Json{"\"0000000001\""}, Json{R"(["a", "b"])"}});
  EXPECT_EQ(table_text(table),
            "+------------+-------+\n"
            "| ID         | Label |\n"
            "+------------+-------+\n"
            "| 0000000001 | a,b   |\n"
            "+------------+-------+");
  EXPECT_EQ(table_json(table), R"([{"id": "0000000001", "label": ["a", "b"]}])");
  EXPECT_EQ(row_json(table, table.rows().front()), R"({"id": "0000000001", "label": ["a", "b"]})");
}

TEST(TableTest, without_rows_the_rule_is_there_twice) {
  const Table table({{"id", "ID"}, {"label", "Label"}});
  EXPECT_EQ(table_text(table),
            "+----+-------+\n"
            "| ID | Label |\n"
            "+----+-------+\n"
            "+----+-------+");
  EXPECT_EQ(table_json(table), "[]");
  EXPECT_EQ(table_yaml(table), "[]");
}

TEST(TableTest, a_cell_with_several_lines_makes_a_high_row) {
  Table table({{"a", "A"}, {"b", "B"}});
  table.add({Json{R"("one\ntwo\n")"}, Json{"7"}});
  table.add({Json{"null"}, Json{"true"}});
  EXPECT_EQ(table_text(table),
            "+-----+------+\n"
            "| A   | B    |\n"
            "+-----+------+\n"
            "| one | 7    |\n"
            "| two |      |\n"
            "|     |      |\n"
            "|     | True |\n"
            "+-----+------+");
}

TEST(TableTest, a_tab_is_one_column_and_on_a_terminal_a_blank) {
  Table table({{"a", "A"}, {"b", "B"}});
  table.add({Json{R"("x\ty")"}, Json{"7"}});
  EXPECT_EQ(table_text(table),
            "+-----+---+\n"
            "| A   | B |\n"
            "+-----+---+\n"
            "| x\ty | 7 |\n"
            "+-----+---+");
  const testing::Matcher<std::string> has_blank = testing::HasSubstr("\n| x y | 7 |\n");
  EXPECT_THAT(table_text(table, {.is_terminal = true}), has_blank);
  EXPECT_THAT(table_text(table, {.width = 80, .is_terminal = true}), has_blank);
}

TEST(TableTest, a_column_may_have_a_greatest_width) {
  Table table({{.key = "a", .header = "A", .widest = 8}, {"b", "B"}});
  table.add({Json{R"("it has failed: /a/long/path/")"}, Json{R"("as wide as is")"}});
  table.add({Json{R"("one two\nthree")"}, Json{"7"}});
  table.add({Json{R"("漢字漢字漢")"}, Json{"8"}});
  table.add({Json{"null"}, Json{"9"}});
  EXPECT_EQ(table_text(table),
            "+----------+---------------+\n"
            "| A        | B             |\n"
            "+----------+---------------+\n"
            "| it has   | as wide as is |\n"
            "| failed:  |               |\n"
            "| /a/long/ |               |\n"
            "| path/    |               |\n"
            "| one two  | 7             |\n"
            "| three    |               |\n"
            "| 漢字漢字 | 8             |\n"
            "| 漢       |               |\n"
            "|          | 9             |\n"
            "+----------+---------------+");
  EXPECT_THAT(table_json(table), testing::HasSubstr("it has failed: /a/long/path/"))
      << "not in JSON";
}

TEST(TableTest, a_very_long_cell_is_cut_and_widens_no_other_row) {
  Table table({{"a", "A"}, {"b", "B"}});
  table.add({Json{"1"}, Json{"2"}});
  table.add({model::json_string(std::string(20000, 'x')), Json{"3"}});
  EXPECT_EQ(table_text(table),
            "+---+---+\n"
            "| A | B |\n"
            "+---+---+\n"
            "| 1 | 2 |\n"
            "| " +
                std::string(16384, 'x') +
                "… | 3 |\n"
                "+---+---+");
  EXPECT_THAT(table_json(table), testing::HasSubstr(std::string(20000, 'x')));
  EXPECT_THAT(table_yaml(table), testing::HasSubstr(std::string(20000, 'x')));
}

TEST(TableTest, a_cell_that_is_not_very_wide_widens_its_column) {
  Table table({{"a", "A"}});
  table.add({model::json_string(std::string(2000, 'x'))});
  EXPECT_THAT(table_text(table), testing::StartsWith("+" + std::string(2002, '-') + "+\n"));
}

TEST(TableTest, a_very_long_cell_is_cut_between_characters) {
  Table table({{"a", "A"}});
  std::string text;
  for (int i = 0; i < 6000; ++i) text += "漢";
  table.add({model::json_string(text)});
  EXPECT_THAT(table_text(table, {.headers = false}), testing::Eq(text.substr(0, 16383) + "…"));
}

TEST(TableTest, a_very_long_cell_fills_the_terminal) {
  Table table({{"a", "A"}});
  table.add({model::json_string(std::string(5000, 'x'))});
  EXPECT_EQ(table_text(table, {.headers = false, .width = 14}), std::string(9, 'x') + "…");
}

TEST(TableTest, the_text_for_an_empty_value_is_only_in_tables) {
  Table table({{.key = "a", .header = "A", .widest = 0, .nothing = "None"}});
  table.add({Json{"null"}});
  EXPECT_THAT(table_text(table), testing::HasSubstr("| None |"));
  EXPECT_EQ(table_json(table), R"([{"a": null}])");
}

TEST(TableTest, times_are_numbers_for_programs) {
  Table table({{"at", "At"}, {"after", "After"}});
  table.add({Time{0.5}, Duration{59}});
  EXPECT_EQ(table_json(table), R"([{"at": 0.500, "after": 59.000}])");
  EXPECT_THAT(table_text(table), testing::HasSubstr("59.000 s"));
}

TEST(TableTest, yaml_is_a_list_of_maps_in_which_texts_are_quoted) {
  Table table({{"id", "ID"}, {"labels", "Labels"}, {"more", ""}, {"at", "At"}});
  table.add({Json{R"("0000000001")"}, Json{R"(["yes", "b: \"c\""])"},
             Json{R"({"null": null, "n": 1.5, "t": true})"}, Time{0.5}});
  table.add({Json{R"("one\ntwo")"}, Json{"[]"}, Json{"{}"}, Time{1}});
  EXPECT_EQ(table_yaml(table),
            "- id: \"0000000001\"\n"
            "  labels:\n"
            "    - \"yes\"\n"
            "    - \"b: \\\"c\\\"\"\n"
            "  more:\n"
            "    \"null\": ~\n"
            "    n: 1.5\n"
            "    t: true\n"
            "  at: 0.500\n"
            "- id: \"one\\ntwo\"\n"
            "  labels: []\n"
            "  more: {}\n"
            "  at: 1.000");
}

TEST(TableTest, durations_for_people) {
  EXPECT_EQ(duration_text(Duration{0.0041}), "0.004 s");
  EXPECT_EQ(duration_text(Duration{59}), "59.000 s");
  EXPECT_EQ(duration_text(Duration{600}), "0:10:00");
  EXPECT_EQ(duration_text(Duration{93784.9}), "26:03:04");
}

TEST(TableTest, wide_characters_take_two_columns) {
  Table table({{"a", "名前"}, {"b", "B"}});
  table.add({Json{R"("abc")"}, Json{R"("é")"}});
  EXPECT_EQ(table_text(table),
            "+------+---+\n"
            "| 名前 | B |\n"
            "+------+---+\n"
            "| abc  | é |\n"
            "+------+---+");
}

TEST(TableTest, widths_of_characters) {
  EXPECT_EQ(display_width(""), 0U);
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("äöü"), 3U);
  EXPECT_EQ(display_width("e\u0301"), 1U);
  EXPECT_EQ(display_width("漢字"), 4U);
  EXPECT_EQ(display_width("한글"), 4U);
  EXPECT_EQ(display_width("ｆｕｌｌ"), 8U);
  EXPECT_EQ(display_width("\xff\xe6"), 2U);
  EXPECT_EQ(display_width("\tä\t"), 3U);
}

TEST(CellTextTest, values_look_as_they_do_in_python) {
  EXPECT_EQ(cell("null"), "");
  EXPECT_EQ(cell("true"), "True");
  EXPECT_EQ(cell("false"), "False");
  EXPECT_EQ(cell("7"), "7");
  EXPECT_EQ(cell("2.5"), "2.5");
  EXPECT_EQ(cell(R"("plain")"), "plain");
  EXPECT_EQ(cell("[]"), "");
  EXPECT_EQ(cell(R"(["a", "b"])"), "a,b");
  EXPECT_EQ(cell(R"({})"), "{}");
  EXPECT_EQ(cell(R"({"a": 1, "b": null})"), "{'a': 1, 'b': None}");
  EXPECT_EQ(cell(R"({"a": [1, "x", true], "b": {"c": 1.5}})"),
            "{'a': [1, 'x', True], 'b': {'c': 1.5}}");
}

TEST(CellTextTest, strings_in_objects_are_quoted_as_python_quotes_them) {
  EXPECT_EQ(cell(R"({"k": "it's"})"), R"({'k': "it's"})");
  EXPECT_EQ(cell(R"({"k": "say \"hi\""})"), R"({'k': 'say "hi"'})");
  EXPECT_EQ(cell(R"({"k": "it's \"so\""})"), R"({'k': 'it\'s "so"'})");
  EXPECT_EQ(cell(R"({"k": "a\\b\n\t\r"})"), R"({'k': 'a\\b\n\t\r'})");
  EXPECT_EQ(cell(R"({"k": "\u00e9\u001b\u0085"})"), "{'k': 'é\\x1b\\x85'}");
}

TEST(CellTextTest, terminal_control_characters_of_a_record_are_escaped) {
  EXPECT_EQ(cell(R"("\u001b]0;title\u0007")"), R"(\x1b]0;title\x07)");
  EXPECT_EQ(cell(R"("\u009b2J")"), R"(\x9b2J)");
  EXPECT_EQ(cell(R"(["a\rb"])"), R"(a\x0db)");
  EXPECT_EQ(cell(R"("a\tb\nc")"), "a\tb\nc") << "these control nothing";
}

}  // namespace
}  // namespace nodepool::report
