#include "json/json.h"

#include <gmock/gmock.h>

#include <string>

namespace nodepool::json {
namespace {

using testing::HasSubstr;

std::string again(std::string_view text) {
  return parse(text).dump();
}

std::string refusal(std::string_view text) {
  try {
    parse(text);
  } catch (const ParseError& error) {
    return error.what();
  }
  return "taken";
}

std::string nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

// An object of so many keys, each twice.
std::string with_keys(int count) {
  std::string text = "{";
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < count; ++i) {
      if (text.size() > 1) text += ',';
      text += '"' + std::to_string(i) + "\":" + std::to_string(round);
    }
  }
  return text + "}";
}

TEST(Json, reads_what_others_write) {
  for (const char* text : {"null", "true", "-1", "18446744073709551615", "1.5", "\"a\"", "[]", "{}",
                           R"({"b":[1,{"a":null}],"a":{"c":[[]]},"":""})"}) {
    EXPECT_EQ(again(text), text);
  }
}

TEST(Json, says_what_is_wrong) {
  for (const char* text : {"", "{", "[1,]", "{\"a\"}", "nul", "\"\xff\"", "1 2"}) {
    EXPECT_THAT(refusal(text), HasSubstr("parse error")) << text;
  }
}

TEST(Json, of_equal_keys_the_last_one_counts_where_the_first_one_stands) {
  EXPECT_EQ(again(R"({"a":1,"b":2,"a":{"x":[3]}})"), R"({"a":{"x":[3]},"b":2})");
  const Json large = parse(with_keys(100));
  ASSERT_EQ(large.size(), 100U);
  int expected = 0;
  for (const auto& [key, value] : large.items()) {
    EXPECT_EQ(key, std::to_string(expected++));
    EXPECT_EQ(value, 1);
  }
}

TEST(Json, nesting_ends_before_the_stack_does) {
  EXPECT_EQ(again(nested(kMaximumDepth)), nested(kMaximumDepth));
  EXPECT_EQ(refusal(nested(kMaximumDepth + 1)), "nested too deeply");
  EXPECT_EQ(refusal(std::string(1'000'000, '[')), "nested too deeply");
}

// In quadratic time this would not end before the limit of the suite.
TEST(Json, an_object_may_have_very_many_keys) {
  EXPECT_EQ(parse(with_keys(500'000)).size(), 500'000U);
}

}  // namespace
}  // namespace nodepool::json
