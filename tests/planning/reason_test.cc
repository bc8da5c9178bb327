#include "planning/reason.h"

#include <gtest/gtest.h>

#include <set>

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

TEST(ReasonTest, a_sentence_of_another_launcher_is_recognized) {
  const std::string full = sentence({.code = Code::pool_full});
  EXPECT_TRUE(begins_like(Code::pool_full, full));
  EXPECT_FALSE(begins_like(Code::provider_full, full));
  EXPECT_TRUE(begins_like(Code::labels_not_offered,
                          sentence(about_labels(Code::labels_not_offered, {"a", "b"}))));
  EXPECT_FALSE(begins_like(Code::pool_full, ""));
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
