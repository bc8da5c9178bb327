#include "config/section.h"

#include <gmock/gmock.h>

#include "config/config.h"
#include "config/yaml.h"

namespace nodepool::config {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

const Schema& schema() {
  static const Schema inner{
      .fields = {{.key = "name", .type = string(), .required = Required::always}}};
  static const Schema outer{
      .fields = {{.key = "name", .type = string(), .required = Required::always},
                 {.key = "user", .type = string(), .default_value = "yes"},
                 {.key = "port", .type = integer(), .default_value = "0600"},
                 {.key = "rate", .type = number(), .default_value = "1.5"},
                 {.key = "active", .type = boolean(), .default_value = "on"},
                 {.key = "limit", .type = integer()},
                 {.key = "words", .type = one_of({string(), list_of(string())})},
                 {.key = "map", .type = mapping_of(string())},
                 {.key = "inner", .type = one_of({string(), section(inner)})},
                 {.key = "list", .type = list_of(section(inner)), .required = Required::strictly},
                 {.key = "needed", .type = list_of(section(inner)), .required = Required::always}}};
  return outer;
}

class SectionTest : public testing::Test {
 protected:
  Section read(std::string_view text) {
    value_ = parse_yaml(text, "f");
    return {value_, schema(), "f", "top"};
  }

  std::string error(std::string_view text, auto use) {
    try {
      use(read(text));
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "no error";
  }

 private:
  Value value_;
};

TEST_F(SectionTest, FillsInTheDefaults) {
  for (const char* text : {"{}", "{user: , port: , rate: ~, active: }"}) {
    const Section section = read(text);
    EXPECT_EQ(section.text("user"), "yes");
    EXPECT_EQ(section.integer("port"), 384);
    EXPECT_EQ(section.number("rate"), 1.5);
    EXPECT_TRUE(section.boolean("active"));
    EXPECT_EQ(section.optional_integer("limit"), std::nullopt);
    EXPECT_EQ(section.optional_text("user"), "yes");
    EXPECT_THAT(section.texts("words"), IsEmpty());
    EXPECT_THAT(section.text_map("map"), IsEmpty());
    EXPECT_FALSE(section.section("inner"));
    EXPECT_THAT(section.sections("list"), IsEmpty());
    EXPECT_FALSE(section.has("user"));
  }
}

TEST_F(SectionTest, ReadsWhatIsGiven) {
  const Section section = read(
      "{name: a, user: 5, port: 22, rate: '0.5', active: no, limit: 1.9, words: [a, 5, no], map: "
      "{a: "
      "1, "
      "b: x, c: }, inner: {name: i}, list: [{name: x}, {name: y}]}");
  EXPECT_EQ(section.text("name"), "a");
  EXPECT_EQ(section.text("user"), "5");
  EXPECT_EQ(section.integer("port"), 22);
  EXPECT_EQ(section.number("rate"), 0.5);
  EXPECT_FALSE(section.boolean("active"));
  EXPECT_EQ(section.integer("limit"), 1);
  EXPECT_THAT(section.texts("words"), ElementsAre("a", "5", "False"));
  EXPECT_THAT(section.text_map("map"), ElementsAre(Pair("a", "1"), Pair("b", "x"), Pair("c", "")));
  EXPECT_EQ(section.section("inner")->text("name"), "i");
  EXPECT_EQ(section.sections("list")[1].text("name"), "y");
  EXPECT_EQ(section.sections("list")[1].path(), "top.list[1]");
}

TEST_F(SectionTest, SplitsASingleString) {
  EXPECT_THAT(read("words: '  one two '").texts("words"), ElementsAre("one", "two"));
}

TEST_F(SectionTest, ReadsBooleansAsIntegers) {
  EXPECT_EQ(read("limit: yes").integer("limit"), 1);
  EXPECT_EQ(read("limit: .inf").integer("limit"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(read("map: {a: 5, b: true}").integer_map("map").at("b"), 1);
}

TEST_F(SectionTest, ReadsTextsAsIntegersWhereThisIsAllowed) {
  EXPECT_EQ(read("limit: '22'").integer_or_text("limit"), 22);
  EXPECT_EQ(read("limit: 22").integer_or_text("limit"), 22);
  EXPECT_EQ(read("limit:").optional_integer_or_text("limit"), std::nullopt);
  for (const char* text : {"limit: ''", "limit: 22x", "limit: '2.5'", "limit: ' 22'"}) {
    EXPECT_EQ(error(text, [](const Section& s) { s.integer_or_text("limit"); }),
              "f:1:8: top.limit: must be an integer, not a string")
        << text;
  }
}

TEST_F(SectionTest, ReportsWhereItFails) {
  EXPECT_EQ(error("{user: a}", [](const Section& s) { s.text("name"); }),
            "f:1:1: top: the key `name` is missing");
  EXPECT_EQ(error("{name: }", [](const Section& s) { s.text("name"); }),
            "f:1:1: top: the key `name` is missing");
  EXPECT_EQ(error("{user: a}", [](const Section& s) { s.sections("needed"); }),
            "f:1:1: top: the key `needed` is missing");
  EXPECT_EQ(error("port: x", [](const Section& s) { s.integer("port"); }),
            "f:1:7: top.port: must be an integer, not a string");
  EXPECT_EQ(error("rate: x", [](const Section& s) { s.number("rate"); }),
            "f:1:7: top.rate: must be a number, not a string");
  EXPECT_EQ(error("user: [x]", [](const Section& s) { s.text("user"); }),
            "f:1:7: top.user: must be a string, not a list");
  EXPECT_EQ(error("words: {}", [](const Section& s) { s.texts("words"); }),
            "f:1:8: top.words: must be a list, not a mapping");
  EXPECT_EQ(error("words: [[]]", [](const Section& s) { s.texts("words"); }),
            "f:1:8: top.words: every item must be a string, not a list");
  EXPECT_EQ(error("map: {a: x}", [](const Section& s) { s.integer_map("map"); }),
            "f:1:6: top.map: `a` must be an integer, not a string");
  EXPECT_EQ(error("inner: x", [](const Section& s) { s.section("inner"); }),
            "f:1:8: top.inner: must be a mapping, not a string");
  EXPECT_EQ(error("list: [{name: a}, 5]", [](const Section& s) { s.sections("list"); }),
            "f:1:19: top.list[1]: must be a mapping, not an integer");
  EXPECT_EQ(error("words:", [](const Section& s) { s.refuse_null("words"); }),
            "f:1:1: top.words: has no value (set a value or remove the key)");
  EXPECT_EQ(error("[a]", [](const Section&) {}), "f:1:1: top: must be a mapping, not a list");
}

TEST_F(SectionTest, LeavesMalformedItemsOut) {
  EXPECT_EQ(read("list: [{name: a}, 5]").usable_sections("list").size(), 1U);
  EXPECT_THAT(read("list: 5").usable_sections("list"), IsEmpty());
}

TEST_F(SectionTest, RefusesKeysItsSchemaDoesNotList) {
  EXPECT_THROW(read("{}").text("nam"), std::logic_error);
  EXPECT_THROW(read("{}").integer("limit"), std::logic_error);
  EXPECT_THROW(read("{}").section("user"), std::logic_error);
}

TEST_F(SectionTest, FindsWhatADriverRefersTo) {
  Config config;
  config.labels["small"].min_ready = 3;
  config.diskimages["jammy"].release = "22.04";
  const Section section = read("name: smal");
  EXPECT_EQ(find_label(config, section, "name", "small").min_ready, 3);
  EXPECT_EQ(find_diskimage(config, section, "name", "jammy").release, "22.04");
  EXPECT_EQ(error("name: smal", [&](const Section& s) { find_label(config, s, "name", "smal"); }),
            "f:1:7: top.name: the label `smal` is not defined (did you mean `small`?)");
  EXPECT_THROW(find_diskimage(config, section, "name", "focal"), ConfigError);
}

}  // namespace
}  // namespace nodepool::config
