#include "config/yaml.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "config/value.h"
#include "tests/support/allocations.h"

namespace nodepool::config {
namespace {

using testing::HasSubstr;

Value parse_text(std::string_view text) {
  return parse_yaml(text, "f");
}

std::string json(std::string_view text) {
  return to_json(parse_text(text)).dump();
}

std::string error(std::string_view text) {
  try {
    parse_text(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

struct ScalarCase {
  std::string text;
  Value value;

  friend void PrintTo(const ScalarCase& scalar, std::ostream* out) { *out << scalar.text; }
};

class Scalars : public testing::TestWithParam<ScalarCase> {};

TEST_P(Scalars, AreReadAsPyYamlReadsThem) {
  const Value value = *parse_text("key: " + GetParam().text).find("key");
  EXPECT_EQ(value.kind(), GetParam().value.kind()) << describe(value.kind());
  EXPECT_EQ(value, GetParam().value) << value.text();
}

const Value kYes = Value::boolean(true);
const Value kNo = Value::boolean(false);
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Value number(std::int64_t value) {
  return Value::integer(value);
}
Value real(double value) {
  return Value::floating(value);
}
Value text(std::string value) {
  return Value::string(std::move(value));
}

INSTANTIATE_TEST_SUITE_P(Words, Scalars,
                         testing::ValuesIn(std::vector<ScalarCase>{
                             {"yes", kYes},          {"Yes", kYes},
                             {"YES", kYes},          {"on", kYes},
                             {"On", kYes},           {"true", kYes},
                             {"TRUE", kYes},         {"no", kNo},
                             {"off", kNo},           {"False", kNo},
                             {"yEs", text("yEs")},   {"y", text("y")},
                             {"n", text("n")},       {"tRUE", text("tRUE")},
                             {"", Value()},          {"~", Value()},
                             {"null", Value()},      {"Null", Value()},
                             {"NULL", Value()},      {"nULL", text("nULL")},
                             {"None", text("None")}, {"\"yes\"", text("yes")},
                             {"''", text("")},       {"=", text("=")}}));

INSTANTIATE_TEST_SUITE_P(Integers, Scalars,
                         testing::ValuesIn(std::vector<ScalarCase>{
                             {"0", number(0)},
                             {"-0", number(0)},
                             {"+7", number(7)},
                             {"-7", number(-7)},
                             {"0600", number(384)},
                             {"-0600", number(-384)},
                             {"08", text("08")},
                             {"0o17", text("0o17")},
                             {"0_7", number(7)},
                             {"0x1F", number(31)},
                             {"0xzz", text("0xzz")},
                             {"0x-5", text("0x-5")},
                             {"0x", text("0x")},
                             {"0b101", number(5)},
                             {"0b2", text("0b2")},
                             {"1_000", number(1000)},
                             {"_1", text("_1")},
                             {"1:30", number(90)},
                             {"1:2:3", number(3723)},
                             {"-1:30", number(-90)},
                             {"1:75", text("1:75")},
                             {"01:30", text("01:30")},
                             {"9223372036854775808", text("9223372036854775808")},
                             {"+", text("+")},
                             {"\"5\"", text("5")}}));

INSTANTIATE_TEST_SUITE_P(Floats, Scalars,
                         testing::ValuesIn(std::vector<ScalarCase>{{"1.5", real(1.5)},
                                                                   {"-1.5", real(-1.5)},
                                                                   {"1.", real(1)},
                                                                   {".5", real(0.5)},
                                                                   {"-.5", text("-.5")},
                                                                   {"1e3", text("1e3")},
                                                                   {"1.5e3", text("1.5e3")},
                                                                   {"1.5e+3", real(1500)},
                                                                   {"1_0.2_5", real(10.25)},
                                                                   {"1.0e+999", real(kInfinity)},
                                                                   {"1.0e-999", real(0)},
                                                                   {".inf", real(kInfinity)},
                                                                   {"-.INF", real(-kInfinity)},
                                                                   {".NaN", real(std::nan(""))},
                                                                   {"-.nan", text("-.nan")},
                                                                   {"1:30.5", real(90.5)},
                                                                   {"0.0.0.0", text("0.0.0.0")},
                                                                   {"9:.9", text("9:.9")},
                                                                   {"22.04", real(22.04)},
                                                                   {".", text(".")}}));

INSTANTIATE_TEST_SUITE_P(Dates, Scalars,
                         testing::ValuesIn(std::vector<ScalarCase>{
                             {"2024-01-01", Value::date("2024-01-01")},
                             {"2024-1-1", text("2024-1-1")},
                             {"2024-01-01T10:00:00Z", Value::date("2024-01-01T10:00:00Z")},
                             {"2024-1-1 1:02:03.5 -5", Value::date("2024-1-1 1:02:03.5 -5")},
                             {"2024-01-01 10:00:00 +01:30",
                              Value::date("2024-01-01 10:00:00 +01:30")},
                             {"2024-01-01 10:00", text("2024-01-01 10:00")},
                             {"\"2024-01-01\"", text("2024-01-01")}}));

INSTANTIATE_TEST_SUITE_P(Tags, Scalars,
                         testing::ValuesIn(std::vector<ScalarCase>{{"!!str 7", text("7")},
                                                                   {"!!int \"8\"", number(8)},
                                                                   {"!!float 9", real(9)},
                                                                   {"!!bool \"on\"", kYes},
                                                                   {"!!null x", Value()},
                                                                   {"! 5", text("5")}}));

TEST(Yaml, KeepsThePlacesOfKeysAndValues) {
  const Value root = parse_text("labels:\n  - name: a\n    min-ready:  2\n");
  const Value::Entry& labels = root.as_mapping()[0];
  EXPECT_EQ(labels.mark, (Mark{1, 1}));
  const Value& label = labels.value.as_list()[0];
  EXPECT_EQ(label.mark(), (Mark{2, 5}));
  EXPECT_EQ(label.as_mapping()[1].mark, (Mark{3, 5}));
  EXPECT_EQ(label.find("min-ready")->mark(), (Mark{3, 17}));
}

TEST(Yaml, TakesTheLastOfEqualKeys) {
  EXPECT_EQ(json("a: 1\nb: 2\na: 3\n"), R"({"a":3,"b":2})");
  EXPECT_EQ(parse_text("a: 1\na: 3\n").find_entry("a")->mark.line, 2);
  EXPECT_EQ(parse_text("1: a\n'1': b\n").as_mapping().size(), 2U);
}

TEST(Yaml, MergesMappings) {
  EXPECT_EQ(json("a: &x {p: 1, q: 2}\nb: {<<: *x, q: 3}\n"),
            R"({"a":{"p":1,"q":2},"b":{"p":1,"q":3}})");
  EXPECT_EQ(json("b: {q: 3, <<: {p: 1, q: 2}}\n"), R"({"b":{"p":1,"q":3}})");
  EXPECT_EQ(json("<<: [{a: 1}, {a: 2, b: 3}]\nc: 4\n"), R"({"a":1,"b":3,"c":4})");
  EXPECT_EQ(json("\"<<\": 1\n"), R"({"<<":1})");
  EXPECT_THAT(error("<<: 5\n"), HasSubstr("f:1:5: `<<` requires a mapping"));
  EXPECT_THAT(error("<<: [5]\n"), HasSubstr("`<<` requires a mapping"));
}

TEST(Yaml, ExpandsAliases) {
  EXPECT_EQ(json("a: &x [1]\nb: *x\n"), R"({"a":[1],"b":[1]})");
  EXPECT_EQ(json("a: &x 1\nb: &x 2\nc: *x\n"), R"({"a":1,"b":2,"c":2})");
  EXPECT_THAT(error("a: *x\n"), HasSubstr("f:1:4: "));
  EXPECT_THAT(error("a: &x [*x]\n"), HasSubstr("f:1:8: this alias is inside its own anchor"));
}

TEST(Yaml, TakesOneDocument) {
  EXPECT_TRUE(parse_text("").is_null());
  EXPECT_TRUE(parse_text("# nothing\n---\n").is_null());
  EXPECT_EQ(json("---\na: 1\n...\n"), R"({"a":1})");
  EXPECT_THAT(error("a: 1\n---\nb: 2\n"), HasSubstr("f:2:1: a second document begins here"));
}

TEST(Yaml, RefusesWhatItCannotRead) {
  EXPECT_THAT(error("labels:\n  - name: a\n - name: b\n"), HasSubstr("f:3:2: "));
  EXPECT_THAT(error("a: !thing 1\n"), HasSubstr("f:1:4: the tag `!thing` is unknown"));
  EXPECT_THAT(error("a: !thing [1]\n"), HasSubstr("the tag `!thing` is unknown"));
  EXPECT_THAT(error("a: !!binary aGk=\n"), HasSubstr("the tag `!!binary` is unknown"));
  EXPECT_THAT(error("a: !!int b\n"), HasSubstr("does not fit"));
  EXPECT_THAT(error("a: %(NODEPOOL_X)\n"), HasSubstr("f:1:4: "));
  EXPECT_THAT(error("? [1]\n: 2\n"), HasSubstr("a list cannot be the key of a mapping"));
  EXPECT_THAT(error("a: b: c\n"), HasSubstr("f:1:5: "));
}

TEST(Yaml, RefusesWhatIsNotText) {
  EXPECT_THAT(error("a: \xff\n"), HasSubstr("f:1:4: this is not UTF-8 text"));
  EXPECT_THAT(error("a: \xc0\xaf\n"), HasSubstr("this is not UTF-8 text"));
  EXPECT_THAT(error("a: \xed\xa0\x80\n"), HasSubstr("this is not UTF-8 text"));
  EXPECT_THAT(error("a: \xe2\x82"), HasSubstr("this is not UTF-8 text"));
  EXPECT_THAT(error("a: 1\nb: \x04\n"), HasSubstr("f:2:4: control characters"));
  EXPECT_THAT(error(std::string_view("a: \0", 4)), HasSubstr("control characters"));
  EXPECT_EQ(json("\xef\xbb\xbf"
                 "a: \xc3\xa9\n"),
            "{\"a\":\"\xc3\xa9\"}");
}

TEST(Yaml, BoundsTheDepth) {
  EXPECT_EQ(error(std::string(60, '[') + std::string(60, ']')), "no error");
  for (const std::string& piece : {"[", "{a: ", "- ", "? "}) {
    std::string text;
    for (int i = 0; i < 20'000; ++i) text += piece;
    EXPECT_THAT(error(text), HasSubstr("nested more than")) << piece;
  }
}

TEST(Yaml, BoundsTheExpansionOfAliases) {
  std::string laughs = "a: &a [x,x,x,x,x,x,x,x,x,x]\n";
  for (char name = 'b'; name < 'm'; ++name) {
    const std::string alias = std::string("*") + static_cast<char>(name - 1);
    laughs += std::string(1, name) + ": &" + name + " [" + alias;
    for (int i = 0; i < 9; ++i) laughs += ", " + alias;
    laughs += "]\n";
  }
  EXPECT_THAT(error(laughs), HasSubstr("anchors and aliases expand to more than"));

  // Nested anchors are copies as well.
  std::string nested;
  for (int i = 0; i < 40; ++i) nested += "[&a" + std::to_string(i) + " ";
  nested += "[";
  for (int i = 0; i < 50'000; ++i) nested += "x,";
  nested += "]" + std::string(40, ']');
  EXPECT_THAT(error(nested), HasSubstr("anchors and aliases expand to more than"));
}

TEST(Yaml, WantsQuotesToBeClosed) {
  EXPECT_EQ(error("a: 1\nb: \"x\nc:\n  - d\n"),
            "f:2:4: this quote is never closed (the rest of the file would be its text)");
  for (const char* text : {"a: 'b\nc: d\n", "a: 'b''", "a: \"b\\\"\n", "a: &x 'b\n", "a: !!str \"b",
                           "'a", "a: ä\nb: 'c",
                           "\xef\xbb\xbf"
                           "a: 'b"}) {
    EXPECT_THAT(error(text), HasSubstr("quote is never closed")) << text;
  }
  for (const char* text :
       {"a: 'b'", "a: \"b\\\\\"", "a: b'\n", "a: &x 'b'\n", "a: 'b'''\n", "a: |\n  'b\n", "# 'a",
        "a: ''", "a: \"\"", "a: 'b'\nc:\n", "a: 'b' # it's\n", "a: ä\nb: 'c'", "a: &x b's\n"}) {
    EXPECT_EQ(error(text), "no error") << text;
  }
}

TEST(Yaml, BoundsTheSize) {
  EXPECT_THAT(error(std::string(kMaxFileSize + 1, ' ')), HasSubstr("larger than 16 MiB"));
}

// The pieces of a text that uses much memory.
struct CostlyText {
  std::string begin;
  std::function<std::string(std::size_t)> piece;
};

TEST(Yaml, BoundsItsMemory) {
  const auto always = [](std::string text) { return [text](std::size_t) { return text; }; };
  const auto key = [](std::string after) {
    return [after](std::size_t i) { return "k" + std::to_string(i) + after; };
  };
  const std::string half(kMaxAhead / 2, 'x');
  const std::vector<CostlyText> all = {
      {"[", always("1,")},
      {"[", always("[],")},
      {"[", always("[")},
      {"{", key(": 1,")},
      {"[", always("? ")},
      {"", always("- 1\n")},
      {"", always("- - 1\n")},
      {"", key(": 1\n")},
      {"- &a x\n", always("- *a\n")},
      {"", [](std::size_t i) { return "- &a" + std::to_string(i) + " x\n"; }},
      {"a: &a [x, x, x, x, x, x, x, x, x, x]\nb:\n", always("- *a\n")},
      {"a: &a " + half + "\nb:\n", always("- *a\n")},
      {"a: &a {" + half + ": 1}\nb:\n", always("- {<<: *a}\n")},
      {"a: ", always("x")},
      {"a: ", always("x y\n ")},
      {"a: \"", always("\\u00e9")},
      {"", always("# x\n")},
  };
  for (const CostlyText& costly : all) {
    std::string text = costly.begin;
    for (std::size_t i = 0; text.size() < 6'000'000; ++i) text += costly.piece(i);
    const auto used = test_support::allocations_of([&text] { error(text); });
    EXPECT_LT(used.most, kMaxMemory) << text.substr(0, 50);
  }
}

TEST(Yaml, TakesLargeFiles) {
  std::string text = "labels:\n";
  for (int i = 0; i < 100'000; ++i)
    text += "- {name: label-" + std::to_string(i) + ", min-ready: 2}\n";
  EXPECT_EQ(parse_text(text).find("labels")->as_list().size(), 100'000U);
  EXPECT_EQ(parse_text("a: " + std::string(kMaxAhead / 2, 'x')).find("a")->as_string().size(),
            kMaxAhead / 2);
}

TEST(ReadFile, ReportsWhyAFileCannotBeRead) {
  EXPECT_THROW(read_file("/nonexistent/nodepool.yaml"), ConfigError);
  try {
    read_file("/nonexistent/nodepool.yaml");
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "/nonexistent/nodepool.yaml: cannot be opened: No such file or directory");
  }
  EXPECT_THROW(read_file("/"), ConfigError);
}

}  // namespace
}  // namespace nodepool::config
