#include "model/shared_text.h"

#include <gtest/gtest.h>

#include <string>

namespace nodepool::model {
namespace {

TEST(SharedTextTest, absent_is_not_empty) {
  const SharedText absent;
  EXPECT_FALSE(absent);
  EXPECT_EQ(absent, std::nullopt);
  EXPECT_NE(absent, SharedText(""));
  EXPECT_NE(absent, "");
  EXPECT_EQ(absent.value_or("nothing"), "nothing");
  EXPECT_EQ(absent.to_optional(), std::nullopt);
}

TEST(SharedTextTest, equal_texts_are_equal_wherever_they_lie) {
  EXPECT_EQ(SharedText("a"), SharedText(std::string("a")));
  EXPECT_NE(SharedText("a"), SharedText("b"));
}

TEST(SharedTextTest, a_change_of_one_changes_no_copy) {
  SharedText text = "before";
  const SharedText copy = text;
  text = "after";
  EXPECT_EQ(copy, "before");
  text.reset();
  EXPECT_EQ(copy, "before");
}

TEST(SharedTextsTest, equal_texts_become_one) {
  SharedTexts texts;
  SharedText one = std::string("the same");
  SharedText other = std::string("the same");
  texts.share(one);
  texts.share(other);
  EXPECT_EQ(&*one, &*other);
  SharedText absent;
  texts.share(absent);
  EXPECT_FALSE(absent);
  EXPECT_EQ(texts.size(), 1U);
}

TEST(SharedTextsTest, unused_texts_are_forgotten) {
  SharedTexts texts;
  SharedText kept = "kept";
  texts.share(kept);
  for (int i = 0; i < 10'000; ++i) {
    SharedText text = std::to_string(i);
    texts.share(text);
  }
  EXPECT_LE(texts.size(), 64U);
  SharedText again = "kept";
  texts.share(again);
  EXPECT_EQ(&*again, &*kept);
}

}  // namespace
}  // namespace nodepool::model
