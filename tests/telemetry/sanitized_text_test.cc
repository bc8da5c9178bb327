#include "telemetry/sanitized_text.h"

#include <gtest/gtest.h>

namespace nodepool::telemetry {
namespace {

TEST(HarmlessTextTest, what_people_write_stays) {
  const std::string text = "a line\n\twith é, 日本 and 🙂";
  EXPECT_EQ(sanitized_text(text), text);
}

TEST(HarmlessTextTest, a_line_of_a_log_has_no_newlines_and_tabs) {
  EXPECT_EQ(sanitized_line("a\nb\tc\r"), R"(a\x0ab\x09c\x0d)");
  EXPECT_EQ(sanitized_line("prüfen"), "prüfen");
}

TEST(HarmlessTextTest, control_characters_become_escapes) {
  EXPECT_EQ(sanitized_text("\x1b]0;title\x07"), R"(\x1b]0;title\x07)");
  EXPECT_EQ(sanitized_text("a\r\x1b[Kb\x7f"), R"(a\x0d\x1b[Kb\x7f)");
  EXPECT_EQ(sanitized_text(std::string_view("a\0b", 3)), R"(a\x00b)");
  EXPECT_EQ(sanitized_text("\xc2\x9b"
                           "2J"),
            R"(\x9b2J)");
}

TEST(HarmlessTextTest, so_do_bytes_that_are_no_text) {
  EXPECT_EQ(sanitized_text("\x9b"
                           "2J"),
            R"(\x9b2J)");
  EXPECT_EQ(sanitized_text("\xe2\x1b[K"), R"(\xe2\x1b[K)");
  EXPECT_EQ(sanitized_text("\xc0\x9b\xff"), R"(\xc0\x9b\xff)");
  EXPECT_EQ(sanitized_text("caf\xc3"), R"(caf\xc3)");
}

TEST(HarmlessTextTest, a_character_may_be_cut) {
  EXPECT_EQ(unfinished_character(""), 0U);
  EXPECT_EQ(unfinished_character("é"), 0U);
  EXPECT_EQ(unfinished_character("caf\xc3"), 1U);
  EXPECT_EQ(unfinished_character("\xe6\x97"), 2U);
  EXPECT_EQ(unfinished_character("\xf0\x9f\x99"), 3U);
  EXPECT_EQ(unfinished_character("\x9b\x9b\x9b\x9b"), 0U);
  EXPECT_EQ(unfinished_character("\xff"), 0U);
}

}  // namespace
}  // namespace nodepool::telemetry
