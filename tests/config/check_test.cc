#include "config/check.h"

#include <gmock/gmock.h>

#include "config/yaml.h"
#include "support.h"

namespace nodepool::config {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> strictly(std::string_view text, const Schema& schema) {
  const Value value = parse_yaml(text, "f");
  return lines(check(value, schema, {.file = "f"}));
}

std::vector<std::string> leniently(std::string_view text, const Schema& schema) {
  const Value value = parse_yaml(text, "f");
  return lines(check_leniently(value, schema, {.file = "f"}));
}

// A schema with one key.
Schema only(Type type) {
  return {.fields = {{.key = "key", .type = std::move(type)}}};
}

TEST(Check, ReportsEverythingAtOnceWithItsPlace) {
  EXPECT_THAT(strictly("pools:\n"
                       "  - name: main\n"
                       "    nodes:\n"
                       "      - {name: 5, labels: a, timeout: soon}\n"
                       "      - {nam: x, connection-type: shh, labels: [1]}\n"
                       "  - nodes: {}\n",
                       rack_schema()),
              testing::UnorderedElementsAre(
                  "f:4:16: pools[0].nodes[0].name: must be a string, not an integer (put it in "
                  "quotes)",
                  "f:4:39: pools[0].nodes[0].timeout: must be an integer, not a string",
                  "f:5:10: pools[0].nodes[1]: unknown key `nam` (did you mean `name`?)",
                  "f:5:35: pools[0].nodes[1].connection-type: must be `ssh` or `winrm` (did you "
                  "mean `ssh`?)",
                  "f:5:49: pools[0].nodes[1].labels[0]: must be a string, not an integer (put it "
                  "in quotes)",
                  "f:5:9: pools[0].nodes[1]: the key `name` is missing",
                  "f:6:12: pools[1].nodes: must be a list, not a mapping",
                  "f:6:5: pools[1]: the key `name` is missing"));
}

TEST(Check, TakesIntegersAsPythonDoes) {
  const Schema schema = only(integer());
  EXPECT_THAT(strictly("key: 5", schema), IsEmpty());
  EXPECT_THAT(strictly("key: yes", schema), IsEmpty());
  EXPECT_THAT(strictly("key: 0600", schema), IsEmpty());
  EXPECT_THAT(strictly("key: 1.0", schema),
              ElementsAre("f:1:6: key: must be an integer, not a number with a decimal point"));
  EXPECT_THAT(strictly("key: '5'", schema).size(), 1U);
  EXPECT_THAT(strictly("key: 99999999999999999999", schema).size(), 1U);
}

TEST(Check, WantsNumbersWithAPoint) {
  EXPECT_THAT(strictly("key: 10.0", only(number())), IsEmpty());
  EXPECT_THAT(strictly("key: .inf", only(number())), IsEmpty());
  EXPECT_THAT(strictly("key: 30", only(number())),
              ElementsAre("f:1:6: key: must be a number with a decimal point, not an integer "
                          "(write `30.0`)"));
  for (const char* text : {"key: 1", "key: 0.5", "key: '0.001'"}) {
    EXPECT_THAT(strictly(text, only(lenient_number())), IsEmpty());
  }
  EXPECT_THAT(strictly("key: fast", only(lenient_number())),
              ElementsAre("f:1:6: key: must be a number, not a string"));
}

TEST(Check, WantsStringsInQuotes) {
  EXPECT_THAT(strictly("key: x", only(string())), IsEmpty());
  for (const char* text : {"key: 5", "key: 22.04", "key: 2024-01-01", "key: no"}) {
    EXPECT_THAT(strictly(text, only(string())),
                ElementsAre(testing::EndsWith("(put it in quotes)")));
  }
}

TEST(Check, ShowsTheKeyOfAMissingValue) {
  EXPECT_THAT(strictly("key:\n\n\n", only(string())),
              ElementsAre("f:1:1: key: has no value (set a value or remove the key)"));
  EXPECT_THAT(strictly("key:", only(one_of({word({"v2.0"}), nothing()}))), IsEmpty());
  EXPECT_THAT(strictly("key:", only(anything())), IsEmpty());
}

TEST(Check, BoundsNumbers) {
  EXPECT_THAT(strictly("key: 65535", only(integer_between(0, 65535))), IsEmpty());
  EXPECT_THAT(strictly("key: 65536", only(integer_between(0, 65535))),
              ElementsAre("f:1:6: key: must be between 0 and 65535"));
}

TEST(Check, MatchesPatterns) {
  const Schema schema = only(string_matching("[a-z]+", "small letters"));
  EXPECT_THAT(strictly("key: abc", schema), IsEmpty());
  EXPECT_THAT(strictly("key: abc1", schema), ElementsAre("f:1:6: key: must be small letters"));
  EXPECT_EQ(strictly("key: " + std::string(100'000, 'a'), schema).size(), 1U);
}

TEST(Check, KnowsDurations) {
  for (const char* text : {"key: 90", "key: 0", "key: -1", "key: '90'", "key: 10m", "key: 2h"}) {
    EXPECT_THAT(strictly(text, only(duration())), IsEmpty()) << text;
  }
  for (const char* text : {"key: 2 hours", "key: 2w", "key: '0'"}) {
    EXPECT_THAT(
        strictly(text, only(duration())),
        ElementsAre("f:1:6: key: must be seconds, or a time like `90s`, `10m`, `2h` or `1d`"));
  }
  EXPECT_THAT(strictly("key: [1]", only(duration())), ElementsAre(HasSubstr("not a list")));
}

TEST(Check, ReportsTheAlternativeThatFitsBest) {
  const Schema schema =
      only(one_of({string(), section(only(integer())), section(only(list_of(string())))}));
  EXPECT_THAT(strictly("key: x", schema), IsEmpty());
  EXPECT_THAT(strictly("key: {key: 1}", schema), IsEmpty());
  EXPECT_THAT(strictly("key: {key: [x]}", schema), IsEmpty());
  EXPECT_THAT(strictly("key: {key: x}", schema).size(), 1U);
  EXPECT_THAT(strictly("key: [x]", schema),
              ElementsAre("f:1:6: key: must be a string or a mapping, not a list"));
}

TEST(Check, HasOpenSections) {
  const Schema schema{.fields = {{.key = "name", .type = string()}},
                      .other_keys = OtherKeys{.type = integer(), .description = "More."}};
  EXPECT_THAT(strictly("{name: a, L-42: 5}", schema), IsEmpty());
  EXPECT_THAT(strictly("{L-42: x}", schema),
              ElementsAre(testing::StartsWith("f:1:8: L-42: must be an integer")));
  EXPECT_THAT(strictly("{5: 5}", schema), ElementsAre("f:1:2: unknown key `5`"));
  EXPECT_THAT(strictly("key: {1: x}", only(mapping_of(string()))),
              ElementsAre("f:1:7: key: the key `1` must be a string (put it in quotes)"));
}

TEST(Check, KnowsRulesOfSeveralKeys) {
  const auto with = [](Rule::Kind kind) {
    return Schema{.fields = {{.key = "a", .type = anything()},
                             {.key = "b", .type = anything()},
                             {.key = "c", .type = anything()}},
                  .rules = {{kind, {"a", "b", "c"}}}};
  };
  const Schema exactly = with(Rule::Kind::exactly_one);
  EXPECT_THAT(strictly("{a: 1}", exactly), IsEmpty());
  EXPECT_THAT(strictly("{a: 1, b: }", exactly), IsEmpty());
  EXPECT_THAT(strictly("{}", exactly),
              ElementsAre("f:1:1: one of the keys `a`, `b` or `c` is required"));
  EXPECT_THAT(strictly("{a: 1, b: 2}", exactly),
              ElementsAre("f:1:11: only one of the keys `a` or `b` is allowed"));

  EXPECT_THAT(strictly("{a: 1, b: 2}", with(Rule::Kind::at_least_one)), IsEmpty());
  EXPECT_THAT(strictly("{}", with(Rule::Kind::at_least_one)).size(), 1U);
  EXPECT_THAT(strictly("{}", with(Rule::Kind::at_most_one)), IsEmpty());
  EXPECT_THAT(strictly("{b: 1, c: 2}", with(Rule::Kind::at_most_one)).size(), 1U);

  EXPECT_THAT(strictly("{b: 1, c: 2}", with(Rule::Kind::excludes)), IsEmpty());
  EXPECT_THAT(strictly("{c: 2, a: 1, b: 3}", with(Rule::Kind::excludes)),
              ElementsAre("f:1:17: `b` cannot be combined with `a`",
                          "f:1:5: `c` cannot be combined with `a`"));
}

TEST(Check, ResolvesReferences) {
  const DefinedNames defined{
      .labels = {"small", "large"}, .diskimages = {"jammy"}, .abstract_diskimages = {"base"}};
  const auto check_one = [&](std::string_view text, Type type) {
    const Value value = parse_yaml(text, "f");
    return lines(check(value, only(std::move(type)), {.file = "f", .defined = &defined}));
  };
  EXPECT_THAT(check_one("key: small", label_name()), IsEmpty());
  EXPECT_THAT(check_one("key: smal", label_name()),
              ElementsAre("f:1:6: key: the label `smal` is not defined (did you mean `small`?)"));
  EXPECT_THAT(check_one("key: small large", label_names()), IsEmpty());
  EXPECT_THAT(check_one("key: small ghost", label_names()),
              ElementsAre("f:1:6: key: the label `ghost` is not defined (add it to the top-level "
                          "`labels`)"));
  EXPECT_THAT(check_one("key: jammy", diskimage_name()), IsEmpty());
  EXPECT_THAT(check_one("key: base", diskimage_name()),
              ElementsAre("f:1:6: key: the disk image `base` is abstract (use an image that "
                          "is not abstract)"));
  EXPECT_THAT(check_one("key: focal", diskimage_name()).size(), 1U);
}

TEST(Check, NeverShowsAValueThatCouldBeSecret) {
  const Schema schema = only(mapping_of(string()));
  for (const std::string& line : strictly("key: {password: 12345678}", schema)) {
    EXPECT_THAT(line, testing::Not(testing::HasSubstr("12345678")));
  }
}

TEST(Check, ShortensHugeNames) {
  const std::string huge(1000, 'k');
  EXPECT_LT(strictly("\"" + huge + "\": 1", only(integer()))[0].size(), 200U);
}

TEST(Check, HintsHowToWriteAText) {
  EXPECT_THAT(strictly("key: '30'", only(integer())), Each(HasSubstr("(write it without quotes)")));
  EXPECT_THAT(strictly("key: 'yes'", only(boolean())),
              Each(HasSubstr("(write it without quotes)")));
  EXPECT_THAT(strictly("key: 1h", only(integer())), Each(HasSubstr("(write the seconds: `3600`)")));
  EXPECT_THAT(strictly("key: soon", only(integer())), ElementsAre(EndsWith("not a string")));
}

TEST(CheckLeniently, WarnsOfUnknownKeysOnly) {
  EXPECT_THAT(leniently("pools:\n"
                        "  - nodes:\n"
                        "      - {name: 5, timeout: , labels: a, conection-type: winrm}\n",
                        rack_schema()),
              ElementsAre("f:3:41: pools[0].nodes[0]: unknown key `conection-type` (did you mean "
                          "`connection-type`?)"));
  EXPECT_THAT(leniently("key: 30", only(number())), IsEmpty());
  EXPECT_THAT(leniently("key: '30'", only(number())), IsEmpty());
  EXPECT_THAT(leniently("key: 22.04", only(one_of({string(), integer()}))), IsEmpty());
}

TEST(CheckLeniently, WarnsOfWhatIsProbablyNotMeant) {
  EXPECT_THAT(leniently("key: 'no'", only(boolean())),
              ElementsAre("f:1:6: key: must be a boolean, not a string (write it without quotes)"));
  EXPECT_THAT(leniently("key: vm", only(list_of(string()))).size(), 1U);
  EXPECT_THAT(leniently("key: 1.5", only(integer())).size(), 1U);
}

TEST(CheckLeniently, AcceptsWhatTheDaemonsRead) {
  constexpr std::string_view kText =
      "pools: [{name: a, nodes: [{name: n, labels: a, ssh-port: 1}]}]";
  EXPECT_THAT(leniently(kText, rack_schema()),
              ElementsAre("f:1:48: pools[0].nodes[0]: the key `ssh-port` is deprecated (use "
                          "`connection-port`)"));
  EXPECT_THAT(strictly(kText, rack_schema()),
              ElementsAre("f:1:48: pools[0].nodes[0]: the key `ssh-port` is not allowed here (only "
                          "the daemons accept it)"));
}

}  // namespace
}  // namespace nodepool::config
