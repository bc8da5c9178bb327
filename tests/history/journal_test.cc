#include "history/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <thread>

#include "tests/support/temporary_directory.h"

namespace nodepool::history {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

JournalEntry node_entry(std::string id, double time, std::string event, std::string details = {}) {
  return {time, JournalEntry::Subject::node, std::move(id), std::move(event),
          {},   std::move(details)};
}

class JournalTest : public testing::Test {
 protected:
  static std::string read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  std::vector<std::string> events_of(const std::string& id) const {
    std::vector<std::string> events;
    for (const JournalEntry& entry : entries_of(journal_, id)) events.push_back(entry.event);
    return events;
  }
  void add(const JournalEntry& entry) const { append(journal_, to_line(entry)); }
  // As left by a crash.
  void add_torn(const JournalEntry& entry) const {
    const std::string line = to_line(entry);
    std::ofstream(journal_.current(), std::ios::app) << line.substr(0, line.size() / 2);
  }

  test_support::TemporaryDirectory directory_;
  Journal journal_{.directory = directory_.path() / "history", .max_size = 4096};
};

TEST(EntryTest, a_line_is_read_as_it_was_written) {
  const JournalEntry full{1763712345.125,
                          JournalEntry::Subject::request,
                          "200-0000000001",
                          "fulfilled",
                          {"0000000003", "0000000004"},
                          "a \"quoted\"\nline",
                          Waited{{"large", "small"}, 2.5}};
  EXPECT_EQ(
      to_line(full),
      R"({"time":1763712345.125,"request":"200-0000000001","event":"fulfilled",)"
      R"("related":["0000000003","0000000004"],"details":"a \"quoted\"\nline","data":{"labels":["large","small"],"seconds":2.5}})"
      "\n");
  EXPECT_EQ(parse_line(to_line(full)), full);
  const JournalEntry brief = node_entry("0000000003", 1, "gone");
  EXPECT_EQ(to_line(brief), "{\"time\":1.0,\"node\":\"0000000003\",\"event\":\"gone\"}\n");
  EXPECT_EQ(parse_line(to_line(brief)), brief);
}

TEST(EntryTest, what_is_no_line_is_nothing) {
  for (const std::string_view line :
       {"", "{", "[]", "7", R"({"time":1,"node":"3"})", R"({"time":"x","node":"3","event":"e"})",
        R"({"time":1,"node":3,"event":"e"})", R"({"time":1,"node":"3","event":"e","related":3})"}) {
    EXPECT_FALSE(parse_line(line)) << line;
  }
}

TEST_F(JournalTest, keeps_the_entries_of_each_id_in_their_order) {
  EXPECT_THAT(events_of("0000000001"), IsEmpty());
  EXPECT_FALSE(last_time(journal_));
  add(node_entry("0000000001", 1, "ready"));
  add(node_entry("0000000002", 2, "ready"));
  add(node_entry("0000000001", 3, "gone", "like 0000000002"));
  EXPECT_THAT(entries_of(journal_, "0000000001"),
              ElementsAre(node_entry("0000000001", 1, "ready"),
                          node_entry("0000000001", 3, "gone", "like 0000000002")));
  EXPECT_THAT(events_of("0000000002"), ElementsAre("ready"));
  EXPECT_THAT(events_of("0000000"), IsEmpty());
  EXPECT_EQ(last_time(journal_), 3);
}

TEST_F(JournalTest, a_request_has_the_nodes_whose_launches_for_it_failed) {
  const auto launch = [](const std::string& node, const std::string& request,
                         const std::string& failure) {
    JournalEntry entry = node_entry(node, 1, "launch");
    entry.related = {request};
    entry.facts = Attempted{.failure = failure, .json = R"({"failure":")" + failure + R"("})"};
    return entry;
  };
  add(launch("0000000002", "200-0000000001", "refused"));
  add(launch("0000000001", "200-0000000001", "refused"));
  add(launch("0000000001", "200-0000000001", "refused again"));
  add(launch("0000000003", "200-0000000001", ""));
  add(launch("0000000004", "200-0000000002", "see 200-0000000001"));
  EXPECT_THAT(history_of(journal_, "200-0000000001").failed_nodes,
              ElementsAre("0000000002", "0000000001"));
  EXPECT_THAT(history_of(journal_, "200-0000000001").entries, IsEmpty());
}

TEST_F(JournalTest, entries_beyond_the_maximum_age_are_not_returned) {
  journal_.max_age = 100;
  add(node_entry("0000000001", 10, "a"));
  add(node_entry("0000000001", 60, "b"));
  add(node_entry("0000000001", 109, "c"));
  EXPECT_FALSE(std::filesystem::exists(journal_.previous()));
  add(node_entry("0000000001", 111, "d"));
  EXPECT_TRUE(std::filesystem::exists(journal_.previous())) << "the first is older than 100";
  EXPECT_THAT(events_of("0000000001"), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(entries_of(journal_, "0000000001", 170),
              ElementsAre(Field(&JournalEntry::event, "c"), Field(&JournalEntry::event, "d")));
  add(node_entry("0000000001", 212, "e"));
  EXPECT_THAT(events_of("0000000001"), ElementsAre("d", "e")) << "what went was older than 100";
  journal_.max_age = 0;
  EXPECT_THAT(entries_of(journal_, "0000000001", 1e9), testing::SizeIs(2));
}

TEST_F(JournalTest, a_torn_first_line_does_not_keep_the_others_beyond_the_maximum_age) {
  journal_.max_age = 100;
  std::filesystem::create_directories(journal_.directory);
  add_torn(node_entry("0000000001", 5, "torn"));
  add(node_entry("0000000001", 10, "a"));
  add(node_entry("0000000001", 109, "b"));
  EXPECT_FALSE(std::filesystem::exists(journal_.previous()));
  add(node_entry("0000000001", 111, "c"));
  EXPECT_TRUE(std::filesystem::exists(journal_.previous())) << "the first is older than 100";
  EXPECT_THAT(events_of("0000000001"), ElementsAre("a", "b", "c"));
}

TEST_F(JournalTest, two_files_within_the_limit_are_kept) {
  const int kEntries = 1000;
  for (int i = 0; i < kEntries; ++i) {
    add(node_entry("0000000001", i, "event " + std::to_string(i)));
    ASSERT_LE(std::filesystem::file_size(journal_.current()), 4096U);
  }
  EXPECT_LE(std::filesystem::file_size(journal_.previous()), 4096U);
  const std::vector<JournalEntry> kept = entries_of(journal_, "0000000001");
  ASSERT_GT(kept.size(), 50U);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    EXPECT_EQ(kept[i].time, static_cast<double>(kEntries - kept.size() + i));
  }
}

TEST_F(JournalTest, lines_beyond_the_limit_are_written_all_the_same) {
  add(node_entry("0000000001", 1, "ready"));
  add(node_entry("0000000001", 2, std::string(5000, 'x')));
  add(node_entry("0000000001", 3, "gone"));
  EXPECT_THAT(events_of("0000000001"), ElementsAre(std::string(5000, 'x'), "gone"));
}

TEST_F(JournalTest, a_line_torn_by_a_crash_costs_nothing_else) {
  add(node_entry("0000000001", 1, "ready"));
  add_torn(node_entry("0000000001", 2, "torn"));
  EXPECT_THAT(events_of("0000000001"), ElementsAre("ready"));
  EXPECT_EQ(last_time(journal_), 1);
  add(node_entry("0000000001", 3, "gone"));
  EXPECT_THAT(events_of("0000000001"), ElementsAre("ready", "gone"));
  EXPECT_EQ(last_time(journal_), 3);
}

TEST_F(JournalTest, an_entry_that_two_launchers_wrote_is_shown_once) {
  add(node_entry("0000000001", 1.000, "ready", "host1"));
  add(node_entry("0000000001", 1.001, "ready", "host1"));
  add(node_entry("0000000001", 1.002, "ready", "host2"));
  EXPECT_THAT(entries_of(journal_, "0000000001"),
              ElementsAre(node_entry("0000000001", 1.000, "ready", "host1"),
                          node_entry("0000000001", 1.002, "ready", "host2")));
}

TEST_F(JournalTest, concurrent_writers_and_readers_lose_no_line) {
  journal_.max_size = 1 << 20;
  constexpr int kLines = 300;
  {
    std::vector<std::jthread> writers;
    for (int writer = 0; writer < 4; ++writer) {
      writers.emplace_back([this, writer] {
        for (int i = 0; i < kLines; ++i) {
          add(node_entry("000000000" + std::to_string(writer), i, std::to_string(i)));
        }
      });
    }
    for (int i = 0; i < 50; ++i) entries_of(journal_, "0000000000");
  }
  for (int writer = 0; writer < 4; ++writer) {
    EXPECT_EQ(events_of("000000000" + std::to_string(writer)).size(), std::size_t{kLines});
  }
}

TEST_F(JournalTest, two_writers_rotate_once) {
  journal_.max_size = 20'000;
  {
    std::vector<std::jthread> writers;
    for (int writer = 0; writer < 2; ++writer) {
      writers.emplace_back([this, writer] {
        for (int i = 0; i < 500; ++i) {
          add(node_entry("000000000" + std::to_string(writer), i, std::to_string(i)));
        }
      });
    }
  }
  // 1,000 lines of about 50 bytes: the last 20 kB and some are there.
  EXPECT_GT(std::filesystem::file_size(journal_.previous()), 19'000U);
  EXPECT_LE(std::filesystem::file_size(journal_.current()), 20'000U);
}

TEST_F(JournalTest, a_place_that_cannot_be_written_is_an_error_with_its_name) {
  const Journal nowhere{.directory = "/proc/no/such/place"};
  try {
    append(nowhere, to_line(node_entry("0000000001", 1, "ready")));
    FAIL() << "written";
  } catch (const std::system_error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("/proc/no"));
  }
  EXPECT_THAT(entries_of(nowhere, "0000000001"), IsEmpty());
}

TEST_F(JournalTest, a_full_disk_is_an_error) {
  std::filesystem::create_directories(journal_.directory);
  std::filesystem::create_symlink("/dev/full", journal_.current());
  EXPECT_THROW(add(node_entry("0000000001", 1, "ready")), std::system_error);
}

}  // namespace
}  // namespace nodepool::history
