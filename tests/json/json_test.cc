#include "json/json.h"

#include <gmock/gmock.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/support/allocations.h"

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
  EXPECT_EQ(parse(with_keys(200'000)).size(), 200'000U);
}

// What a text consists of that is built to take memory.
struct Costly {
  std::string begin;
  std::function<std::string(std::size_t)> piece;
};

TEST(Json, takes_memory_in_proportion_to_its_text) {
  const auto always = [](std::string text) { return [text](std::size_t) { return text; }; };
  const std::vector<Costly> all = {
      {"[", always("1,")},
      {"[", always("[],")},
      {"[", always("{},")},
      {"[", always("\"\",")},
      {"[", always("{\"\":[]},")},
      {"[", always("\"1234567890123456\",")},
      {"{", [](std::size_t i) { return '"' + std::to_string(i) + "\":1,"; }},
      {"{", [](std::size_t i) { return "\"12345678901" + std::to_string(i) + "\":[],"; }},
      {"", always("[")},
      {"\"", always("a")},
      {"\"", always("\\u0000")},
      {"", always("1")},
  };
  for (const Costly& costly : all) {
    std::string text = costly.begin;
    for (std::size_t i = 0; text.size() < 5'000'000; ++i) text += costly.piece(i);
    const std::size_t most =
        test_support::allocations_of([&text] { EXPECT_NE(refusal(text), "taken"); }).most;
    EXPECT_LT(most, kFreeMemory + kMemoryPerByte * text.size()) << text.substr(0, 50);
  }
}

TEST(Json, ordinary_answers_are_far_from_the_limit_of_memory) {
  std::string text = "[";
  while (text.size() < 5'000'000) {
    text += R"({"id": "0f6f2a8e-5d0b-4a9c-9d68-6d37c3b7a1ce", "status": "ACTIVE", "vcpus": 4,
                "addresses": {"net": [{"addr": "10.0.0.1", "version": 4}]}, "tags": [], "a": 1},)";
  }
  text.back() = ']';
  EXPECT_NO_THROW(parse(text));
  std::string numbers = "[1";
  while (numbers.size() < 400'000) numbers += ",1";
  EXPECT_NO_THROW(parse(numbers + "]")) << "what is small may consist of anything";
}

}  // namespace
}  // namespace nodepool::json
