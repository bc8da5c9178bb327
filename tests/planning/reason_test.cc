#include "planning/reason.h"

#include <gtest/gtest.h>

#include <set>

#include "model/failure_text.h"
#include "planning/decision_text.h"

namespace nodepool::planning {
namespace {

using Code = Reason::Code;

TEST(ReasonTest, every_code_has_a_name_and_a_sentence_of_its_own) {
  std::set<std::string> names;
  std::set<std::string> sentences;
  constexpr int kLast = static_cast<int>(Code::launch_failed);
  for (int code = static_cast<int>(Code::none) + 1; code <= kLast; ++code) {
    const Reason reason{.code = static_cast<Code>(code), .subject = std::to_string(code)};
    names.emplace(name_of(reason.code));
    sentences.insert(sentence(reason));
  }
  EXPECT_EQ(names.size(), kLast);
  EXPECT_EQ(sentences.size(), kLast);
  EXPECT_FALSE(names.contains(""));
}

TEST(ReasonTest, a_sentence_gives_the_figures) {
  const driver::LimitExceeded excess{.resource = "cores", .limit = 12, .used = 9, .needed = 4.5};
  EXPECT_EQ(sentence({.code = Code::pool_full, .figures = excess}),
            "the pool is full: cores: 9 used + 4.5 needed, limit 12");
  EXPECT_EQ(sentence({.code = Code::beyond_limit_of_tenant, .figures = excess}),
            "it would exceed quota: for its tenant it needs cores 4.5, the limit is 12");
}

TEST(ReasonTest, a_sentence_of_another_launcher_is_recognized_or_unknown) {
  const std::set<Code> recognized = {Code::pool_disabled, Code::labels_not_offered, Code::pool_full,
                                     Code::provider_full, Code::launch_failed};
  for (int i = 0; i <= static_cast<int>(Code::launch_failed); ++i) {
    const auto code = static_cast<Code>(i);
    const Code expected = recognized.contains(code) ? code : Code::none;
    for (Reason reason : {about_labels(code, {}), about_labels(code, {"a", "b"})}) {
      reason.subject = reason.labels.empty() ? "" : "no disk: full";
      // As it is in a record, and from there in the history.
      const std::string text = model::failure_text(sentence(reason));
      EXPECT_EQ(code_of(text), expected) << text;
      EXPECT_EQ(code_in_decline_entry(decline_entry("rack-main on l1", text)), expected) << text;
    }
  }
  EXPECT_EQ(code_in_decline_entry(decline_entry("rack-main on l1", "")), Code::none);
  EXPECT_EQ(code_in_decline_entry(sentence({.code = Code::pool_disabled})), Code::none);
}

TEST(ReasonTest, explanations_have_the_words_of_the_configuration) {
  const Reason disabled{.code = Code::pool_disabled};
  const std::string words = sentence(disabled, Words::of_configuration);
  EXPECT_EQ(words, "pool is disabled: max-servers is 0");
  EXPECT_EQ(in_words_of_configuration("a: " + sentence(disabled) + "; b: else"),
            "a: " + words + "; b: else");
  const Reason failed{.code = Code::launch_failed, .subject = "no disk"};
  EXPECT_EQ(sentence(failed, Words::of_configuration), sentence(failed));
  EXPECT_EQ(in_words_of_configuration(sentence(failed)), sentence(failed));
}

TEST(ReasonTest, what_others_have_written_is_no_format) {
  EXPECT_EQ(sentence({.code = Code::launch_failed, .subject = "{limit} {"}),
            "launch failed: {limit} {");
}

TEST(ReasonTest, of_many_labels_the_first_are_named_and_the_others_counted) {
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < kMostLabels + 2; ++i) labels.push_back(std::string(1, 'a' + i));
  EXPECT_EQ(sentence(about_labels(Code::labels_not_offered, labels)),
            "node type(s) [a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,… and 2 more] not available");
}

TEST(DecisionTest, is_data_for_programs) {
  const Decision full{
      Decision::Kind::wait,
      Decision::Until::capacity_is_free,
      {.code = Code::pool_full, .figures = {"instances", /*limit=*/3, /*used=*/3, /*needed=*/1}},
      Decision::Shortage::pool};
  EXPECT_EQ(to_json(full, "l1-PoolWorker.sky-main-1"),
            R"({"pool":"l1-PoolWorker.sky-main-1","decision":"waits","reason":"pool-full",)"
            R"("figures":{"used":3.0,"needed":1.0,"limit":3.0,"resource":"instances"}})");
  EXPECT_EQ(to_json({Decision::Kind::accept}, "p"), R"({"pool":"p","decision":"accepts"})");
}

TEST(DecisionTest, is_a_sentence_for_people) {
  const Decision waits{
      Decision::Kind::wait, Decision::Until::quota_is_known, {Code::quota_not_asked}};
  EXPECT_EQ(sentence(waits),
            "waits: the quota of the provider is not known yet (until the provider has responded)");
  EXPECT_EQ(sentence(Decision{Decision::Kind::accept}), "accepts");
}

}  // namespace
}  // namespace nodepool::planning
