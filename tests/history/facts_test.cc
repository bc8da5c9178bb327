#include "history/facts.h"

#include <gtest/gtest.h>

namespace nodepool::history {
namespace {

TEST(FactsTest, are_read_as_they_were_written) {
  const std::pair<std::string_view, Facts> all[] = {
      {"fulfilled", Waited{{"large", "small"}, 2.5}},
      {"declined", Declined{"pool-1", "launch-failed"}},
      {"declined", Declined{"pool-1", ""}},
      {"failed", DeclinedByAll{{{"pool-1", "pool-full"}, {"pool-2", ""}}}},
      {"decision", Decided{"pool-1", R"({"pool":"pool-1","decision":"accepts"})"}},
      {"launch", Attempted{"no disk", R"({"attempt":1,"failure":"no disk"})"}},
      {"launch", Attempted{"", R"({"attempt":1})"}},
      {"asks", AskedFor{"200-0000000001"}},
      {"on", PlacedOn{"0000000003"}},
      {"of-another-release", OtherFacts{R"({"a":[1]})"}},
  };
  for (const auto& [event, facts] : all) {
    EXPECT_EQ(facts_of(event, to_json(facts)), facts) << event;
  }
  EXPECT_EQ(to_json({}), "");
}

TEST(FactsTest, of_another_form_are_passed_on) {
  for (const auto& [event, text] :
       {std::pair("fulfilled", R"({"labels":"small","seconds":1})"), std::pair("fulfilled", "[]"),
        std::pair("declined", R"({"reason":"launch-failed"})"),
        std::pair("failed", R"({"declines":[7]})"), std::pair("decision", R"({"pool":7})"),
        std::pair("launch", R"({"failure":["no disk"]})"), std::pair("asks", "null"),
        std::pair("on", R"({"node":3})"), std::pair("ready", R"({"node":"3"})")}) {
    EXPECT_EQ(facts_of(event, text), Facts(OtherFacts{text})) << event << text;
  }
}

}  // namespace
}  // namespace nodepool::history
