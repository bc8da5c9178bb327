#include "json/json.h"

#include <gmock/gmock.h>

#include <functional>
#include <random>
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

// An object with this number of keys, each twice.
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

// The result of the library's parser, or its error.
std::string as_the_library_reads(std::string_view text) {
  const Json value = Json::parse(text, nullptr, false);
  return value.is_discarded() ? "refused" : value.dump() + value.type_name();
}

std::string as_we_read(std::string_view text) {
  try {
    const Json value = parse(text);
    return value.dump() + value.type_name();
  } catch (const ParseError&) {
    return "refused";
  }
}

// Both parsers must accept the same texts with the same results.
TEST(Json, reads_as_the_library_does) {
  const std::vector<std::string> texts = {"-0",
                                          "0",
                                          "00",
                                          "01",
                                          "-",
                                          "+1",
                                          "1.",
                                          ".5",
                                          "1e5",
                                          "1E+05",
                                          "-1.5e-7",
                                          "1e",
                                          "1e400",
                                          "-1e400",
                                          "1e-400",
                                          "0.1",
                                          "3.141592653589793238462643383279",
                                          "1763900000.123456",
                                          "9007199254740993.0",
                                          "4.9e-324",
                                          "9223372036854775807",
                                          "9223372036854775808",
                                          "-9223372036854775808",
                                          "-9223372036854775809",
                                          "18446744073709551615",
                                          "18446744073709551616",
                                          "123456789012345678901234567890",
                                          "0x10",
                                          "1_000",
                                          "NaN",
                                          "Infinity",
                                          "-Infinity",
                                          "nul",
                                          "nulx",
                                          "null1",
                                          "nullnull",
                                          "truefalse",
                                          "tru",
                                          "TRUE",
                                          "true ",
                                          " null\n",
                                          "\f1",
                                          "\xEF\xBB\xBF{}",
                                          "\xEF\xBB",
                                          "'a'",
                                          "a",
                                          "\"",
                                          "\"a",
                                          "\"\\\"",
                                          "\"\\x41\"",
                                          "\"\\u0041\"",
                                          "\"\\u004\"",
                                          "\"\\u0000\"",
                                          "\"\\ud83d\\ude00\"",
                                          "\"\\ud83d\"",
                                          "\"\\ude00\"",
                                          "\"\\ud83d\\u0041\"",
                                          "\"\t\"",
                                          "\"\x7f\"",
                                          std::string("\"\0\"", 3),
                                          std::string("\0", 1),
                                          std::string("1\0", 2),
                                          "\"\xC3\xA9\"",
                                          "\"\xC0\xAF\"",
                                          "\"\xED\xA0\x80\"",
                                          "\"\xF4\x90\x80\x80\"",
                                          "\"\\/\\b\\f\\n\\r\\t\"",
                                          "[",
                                          "]",
                                          "[]]",
                                          "[1,]",
                                          "[,1]",
                                          "[1 2]",
                                          "[1,,2]",
                                          "[1:2]",
                                          "[\"a\":1]",
                                          "{",
                                          "}",
                                          "{}}",
                                          "{\"a\"}",
                                          "{\"a\":}",
                                          "{\"a\" 1}",
                                          "{\"a\":1,}",
                                          "{,}",
                                          "{\"a\":1 \"b\":2}",
                                          "{\"a\":1;\"b\":2}",
                                          "{1:2}",
                                          "{a:1}",
                                          "{\"a\":1}{",
                                          "{\"a\":1} x",
                                          "[1]//",
                                          "/**/1",
                                          "1 2",
                                          "",
                                          " ",
                                          "[[],{}]",
                                          "{\"\":{\"\":[]}}",
                                          "{\"\\u0061\":1,\"a\":2}",
                                          "[1}",
                                          "{\"a\":1]",
                                          "[true,false,null]",
                                          "[tru]",
                                          "[nulll]",
                                          "[\"a\",\"b]"};
  for (const std::string& text : texts) {
    EXPECT_EQ(as_we_read(text), as_the_library_reads(text)) << text;
    EXPECT_EQ(as_we_read('[' + text + ']'), as_the_library_reads('[' + text + ']')) << text;
  }
}

TEST(Json, reads_numbers_as_the_library_does) {
  std::mt19937_64 random(1);
  const auto digits = [&random](std::size_t most) {
    std::string text = std::to_string(1 + random() % 9);
    for (std::size_t i = random() % most; i > 0; --i) text += std::to_string(random() % 10);
    return text;
  };
  for (int i = 0; i < 5'000; ++i) {
    std::string text = (random() % 2 == 0 ? "-" : "") + digits(30);
    if (random() % 2 == 0) text += '.' + digits(30);
    if (random() % 3 == 0) text += (random() % 2 == 0 ? "e-" : "e") + digits(3);
    EXPECT_EQ(as_we_read(text), as_the_library_reads(text)) << text;
    EXPECT_EQ(as_we_read("[" + text + "]"), as_the_library_reads("[" + text + "]")) << text;
  }
}

TEST(Json, reads_what_is_damaged_as_the_library_does) {
  const std::string whole =
      R"({"a": [1, -2.5e3, true, {"b": null, "c\u00e9": "x\"y\\z"}], "d": {"e": [], "f": {}}, "g": "\ud83d\ude00"})";
  ASSERT_NE(as_we_read(whole), "refused");
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string text = whole.substr(0, at);
    EXPECT_EQ(as_we_read(text), as_the_library_reads(text)) << text;
    for (const char other :
         {'"', '\\', ',', ':', '[', ']', '{', '}', '0', '-', 'e', ' ', '\x80', '\0'}) {
      text = whole;
      text[at] = other;
      EXPECT_EQ(as_we_read(text), as_the_library_reads(text)) << text;
    }
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

TEST(Json, each_part_of_a_record_can_be_parsed_by_itself) {
  const auto record_of = [](std::size_t values) {
    std::string list = "[1";
    for (std::size_t i = 1; i < values; ++i) list += ",1";
    return "{\"pad\": \"" + std::string(1 << 20, 'x') + "\", \"list\": " + list + "]}";
  };
  constexpr std::size_t kOthers = 3;  // the record, its first value, the list itself
  const Json record = parse_record(record_of(kMaximumRecordValues - kOthers));
  EXPECT_EQ(parse(to_text(record.at("list"))), record.at("list"));
  EXPECT_THROW(parse_record(record_of(kMaximumRecordValues - kOthers + 1)), ParseError);
  EXPECT_NO_THROW(parse_record(nested(kMaximumRecordDepth)));
  EXPECT_THROW(parse_record(nested(kMaximumRecordDepth + 1)), ParseError);
}

TEST(Json, a_record_keeps_the_digits_of_large_integers) {
  const Json record =
      parse_record("[340282366920938463463374607431768211455, -18446744073709551616, 1e30, 7]");
  const auto digits = [&record](std::size_t at) {
    const auto& bytes = record.at(at).get_binary();
    return std::string(bytes.begin(), bytes.end());
  };
  EXPECT_EQ(digits(0), "340282366920938463463374607431768211455");
  EXPECT_EQ(digits(1), "-18446744073709551616");
  EXPECT_EQ(record.at(2), 1e30);
  EXPECT_EQ(record.at(3), 7);
}

// Python writes what a browser has cut in the middle of a character.
TEST(Json, half_a_character_in_a_record_is_replaced) {
  EXPECT_EQ(to_text(parse_record(
                R"({"a": "x\ud83d", "b": ["\ude00\ud83d\ude00"], "\ud83d\ud83d\uDE00": 1})")),
            "{\"a\":\"x\xef\xbf\xbd\",\"b\":[\"\xef\xbf\xbd😀\"],\"\xef\xbf\xbd😀\":1}");
  EXPECT_EQ(to_text(parse_record(R"({"a": "\\ud83d", "b": "\ud83d"})")),
            "{\"a\":\"\\\\ud83d\",\"b\":\"\xef\xbf\xbd\"}")
      << "an escaped backslash is no escape";
  EXPECT_THROW(parse_record(R"({"a": "\ud83"})"), ParseError);
  EXPECT_THROW(parse_record(R"({"a": "\ud83d", "b"})"), ParseError);
  EXPECT_THROW(parse(R"({"a": "\ud83d"})"), ParseError) << "no record";
}

// With quadratic time this would exceed the timeout of the suite.
TEST(Json, an_object_may_have_very_many_keys) {
  EXPECT_EQ(parse(with_keys(200'000)).size(), 200'000U);
}

TEST(Json, writes_what_is_not_utf8_as_unknown_characters) {
  EXPECT_EQ(to_text({{"a", {1, "ü"}}, {"b", "x\xff\xfe"}}),
            "{\"a\":[1,\"ü\"],\"b\":\"x\xef\xbf\xbd\xef\xbf\xbd\"}");
}

// Elements of a malicious text that takes a lot of memory.
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
    for (std::size_t i = 0; text.size() < 2'000'000; ++i) text += costly.piece(i);
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
  EXPECT_NO_THROW(parse(numbers + "]")) << "short texts may have any values";
}

}  // namespace
}  // namespace nodepool::json
