#include "config/value.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "config/yaml.h"

namespace nodepool::config {
namespace {

Value parse(std::string_view text) {
  return parse_yaml(text, "f");
}

TEST(Value, IsEqualWhereverItStands) {
  EXPECT_EQ(parse("a: 1\nb: [x, {c: 2}]\n"), parse("\n\nb:\n  - x\n  - c: 2\na:  1\n"));
  EXPECT_FALSE(parse("a: 1") == parse("a: 2"));
  EXPECT_FALSE(parse("a: 1") == parse("a: '1'"));
  EXPECT_FALSE(parse("a: 1") == parse("b: 1"));
  EXPECT_FALSE(parse("1: a") == parse("'1': a"));
  EXPECT_FALSE(parse("[1, 2]") == parse("[2, 1]"));
  EXPECT_FALSE(parse("a: 1") == parse("a: 1\nb: 2"));
  EXPECT_FALSE(parse("2024-01-01") == parse("'2024-01-01'"));
  EXPECT_EQ(parse("a: .nan"), parse("a: .nan"));
}

TEST(Value, FindsKeys) {
  const Value value = parse("a: 1\nb:\n");
  EXPECT_EQ(value.find("a")->as_integer(), 1);
  EXPECT_TRUE(value.find("b")->is_null());
  EXPECT_EQ(value.find("c"), nullptr);
  EXPECT_EQ(parse("[a]").find("a"), nullptr);
}

TEST(Value, HasTheTextPythonGivesIt) {
  EXPECT_EQ(parse("39").text(), "39");
  EXPECT_EQ(parse("22.10").text(), "22.1");
  EXPECT_EQ(parse("22.0").text(), "22.0");
  EXPECT_EQ(parse("1.0e+16").text(), "1e+16");
  EXPECT_EQ(parse("1.0e+15").text(), "1000000000000000.0");
  EXPECT_EQ(parse("0.0001").text(), "0.0001");
  EXPECT_EQ(parse("0.00001").text(), "1e-05");
  EXPECT_EQ(parse("-.inf").text(), "-inf");
  EXPECT_EQ(parse(".nan").text(), "nan");
  EXPECT_EQ(parse("yes").text(), "True");
  EXPECT_EQ(parse("no").text(), "False");
  EXPECT_EQ(parse("~").text(), "None");
  EXPECT_EQ(parse("2024-01-01").text(), "2024-01-01");
  EXPECT_EQ(parse("jammy").text(), "jammy");
  EXPECT_EQ(parse("[a]").text(), "");
}

TEST(Value, IsTruthyAsInPython) {
  for (const char* text : {"~", "no", "0", "0.0", "''", "[]", "{}"}) {
    EXPECT_FALSE(parse(text).truthy()) << text;
  }
  for (const char* text : {"yes", "-1", "0.1", "'no'", "[0]", "{a: }", "2024-01-01"}) {
    EXPECT_TRUE(parse(text).truthy()) << text;
  }
}

TEST(Value, ReadsAsNumberAsInPython) {
  EXPECT_EQ(parse("30").to_number(), 30.0);
  EXPECT_EQ(parse("'0.001'").to_number(), 0.001);
  EXPECT_EQ(parse("yes").to_number(), 1.0);
  EXPECT_EQ(parse("1.5").to_number(), 1.5);
  for (const char* text : {"~", "''", "1 s", "[1]", "2024-01-01"}) {
    EXPECT_EQ(parse(text).to_number(), std::nullopt) << text;
  }
}

TEST(Value, BecomesJson) {
  EXPECT_EQ(to_json(parse("{a: [1, 1.5, yes, ~, x], d: 2024-01-01, 5: y}")).dump(),
            R"({"5":"y","a":[1,1.5,true,null,"x"],"d":"2024-01-01"})");
}

}  // namespace
}  // namespace nodepool::config
