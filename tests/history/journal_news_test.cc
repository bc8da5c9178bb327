#include "history/journal_news.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/temporary_directory.h"

namespace nodepool::history {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class JournalNewsTest : public testing::Test {
 protected:
  void add(const std::string& id, const std::string& event) const {
    append(journal_, to_line({1, JournalEntry::Subject::node, id, event, {}, {}}));
  }
  std::vector<std::string> look() {
    std::vector<std::string> ids;
    for (const JournalEntry& entry : news_.poll()) ids.push_back(entry.id);
    return ids;
  }

  test_support::TemporaryDirectory directory_;
  Journal journal_{.directory = directory_.path(), .max_size = 400};
  JournalNews news_{journal_, {"failed"}};
};

TEST_F(JournalNewsTest, each_poll_returns_new_matching_entries) {
  EXPECT_THAT(look(), IsEmpty());
  add("1", "failed");
  add("2", "ready");
  add("4", "failed-not");
  EXPECT_THAT(look(), ElementsAre("1"));
  EXPECT_THAT(look(), IsEmpty());
  add("3", "failed");
  EXPECT_THAT(look(), ElementsAre("3"));
}

TEST_F(JournalNewsTest, nothing_is_missed_when_another_file_is_begun) {
  add("1", "failed");
  EXPECT_THAT(look(), ElementsAre("1"));
  std::vector<std::string> added;
  std::vector<std::string> seen;
  for (int i = 2; i < 40; ++i) {
    added.push_back(std::to_string(i));
    add(added.back(), "failed");
    if (i % 3 == 0) {
      for (std::string& id : look()) seen.push_back(std::move(id));
    }
  }
  EXPECT_EQ(seen, added);
}

TEST_F(JournalNewsTest, the_first_poll_also_reads_the_previous_file) {
  for (int i = 0; i < 8; ++i) add(std::to_string(i), "failed");
  EXPECT_THAT(look(), testing::SizeIs(testing::Gt(5)));
}

}  // namespace
}  // namespace nodepool::history
