#include <gmock/gmock.h>

#include "history/journal.h"
#include "tests/cli/cli_test.h"

namespace nodepool::cli {
namespace {

using history::JournalEntry;
using testing::HasSubstr;
using testing::MatchesRegex;

class HistoryCommandTest : public CliTest {
 protected:
  HistoryCommandTest() {
    config_ = "store: sqlite://" + (directory_.path() / "nodepool.db").string() +
              "\nlabels: []\nproviders: []\n";
  }

  void add(const JournalEntry& entry) {
    history::append({.directory = directory_.path()}, to_line(entry));
  }
};

TEST_F(HistoryCommandTest, a_request_is_shown_with_its_nodes) {
  const std::string id = "200-0000000001";
  add({1763700000.5,
       JournalEntry::Subject::request,
       id,
       "requested",
       {},
       "label(s) a for ada@build1"});
  add({1763700000.504,
       JournalEntry::Subject::request,
       id,
       "decision",
       {},
       "rack-main on l1 accepts",
       history::OtherFacts{R"({"decision":"accepts"})"}});
  add({1763703600.504,
       JournalEntry::Subject::request,
       id,
       "fulfilled",
       {"0000000003", "0000000004"},
       ""});
  EXPECT_EQ(nodepool({"history", id}), 0) << err();
  const std::string time = "[0-9-]+ [0-9:]+\\.";
  EXPECT_THAT(
      out(),
      MatchesRegex("[+-]+\n"
                   "\\| Time                          \\| After   \\| Event     \\| Nodes "
                   "                \\| Details                   \\|\n"
                   "[+-]+\n"
                   "\\| " +
                   time +
                   "500 [+-][0-9]{4} \\|         \\| requested \\|                       \\| "
                   "label\\(s\\) a for ada@build1 \\|\n"
                   "\\| " +
                   time +
                   "504 [+-][0-9]{4} \\| 0.004 s \\| decision  \\|                       \\| "
                   "rack-main on l1 accepts   \\|\n"
                   "\\| " +
                   time +
                   "504 [+-][0-9]{4} \\| 1:00:00 \\| fulfilled \\| 0000000003,0000000004 \\|     "
                   "                      \\|\n"
                   "[+-]+\n"));
  EXPECT_EQ(nodepool({"history", id, "--json"}), 0);
  EXPECT_EQ(out(), R"([{"time": 1763700000.500, "after": null, "event": "requested", "nodes": [], )"
                   R"("details": "label(s) a for ada@build1", "data": null}, )"
                   R"({"time": 1763700000.504, "after": 0.004, "event": "decision", "nodes": [], )"
                   R"("details": "rack-main on l1 accepts", "data": {"decision":"accepts"}}, )"
                   R"({"time": 1763703600.504, "after": 3600.000, "event": "fulfilled", )"
                   R"("nodes": ["0000000003", "0000000004"], "details": "", "data": null}])"
                   "\n");
}

TEST_F(HistoryCommandTest, a_node_is_shown_with_its_request) {
  add({1, JournalEntry::Subject::node, "0000000003", "allocated", {"200-0000000001"}, ""});
  EXPECT_EQ(nodepool({"history", "0000000003"}), 0) << err();
  EXPECT_THAT(out(), HasSubstr("| Request        |"));
  EXPECT_THAT(out(), HasSubstr("| allocated | 200-0000000001 |"));
}

TEST_F(HistoryCommandTest, an_unknown_id_is_an_error) {
  EXPECT_EQ(nodepool({"history", "0000000009"}), 1);
  EXPECT_EQ(out(), "");
  EXPECT_EQ(err(), "nodepool: the history in " + directory_.path().string() +
                       " has no entries for 0000000009\n");
}

TEST_F(HistoryCommandTest, the_configuration_says_where_it_is) {
  config_ += "history: {directory: " + (directory_.path() / "elsewhere").string() + "}\n";
  history::append(
      {.directory = directory_.path() / "elsewhere"},
      to_line(JournalEntry{1, JournalEntry::Subject::node, "0000000003", "gone", {}, ""}));
  EXPECT_EQ(nodepool({"history", "0000000003"}), 0) << err();
}

TEST_F(HistoryCommandTest, what_happened_during_a_failed_launch_is_shown_to_people_below) {
  add({1763700000.5,
       JournalEntry::Subject::node,
       "0000000003",
       "launch",
       {"200-1"},
       "attempt 1 of 3 failed after 31.0 s, 2 cloud call(s): key scan: no",
       history::Attempted{
           "key scan: no",
           R"({"attempt":1,"attempts":3,"resumed":false,"result":"error.keyscan","seconds":31.0,)"
           R"("calls":2,"failure":"key scan: no","notes":[{"after":0.0,"step":"creating server"},)"
           R"({"after":0.25,"call":"compute: create server","method":"POST","path":"/v2.1/servers",)"
           R"("status":202,"id":"req-1","milliseconds":201.0},{"after":0.5,"look":"servers",)"
           R"("times":4,"until":20.5},{"after":20.75,"look":"servers","outcome":"HTTP 403"},)"
           R"({"after":21.0,"connection":"10.0.0.1 on port 22",)"
           R"("outcome":"refused \u001b[2J"}],"left_out":7,"console":"boot\\x07"})"}});
  EXPECT_EQ(nodepool({"history", "0000000003", "--no-headers"}), 0) << err();
  const std::string text = out();
  EXPECT_EQ(text.substr(text.find("Attempt 1")),
            "Attempt 1 of 3:\n"
            "    0.000 s  creating server\n"
            "    0.250 s  compute: create server: POST /v2.1/servers -> 202 (201 ms), request "
            "req-1\n"
            "    0.500 s  polled the list of servers; 4 times until 20.500 s\n"
            "   20.750 s  polled the list of servers: HTTP 403\n"
            "   21.000 s  10.0.0.1 on port 22: refused \\x1b[2J\n"
            "(7 events from the middle are omitted)\n"
            "   31.000 s  key scan: no\n"
            "End of the console log:\n"
            "boot\\x07\n");
  EXPECT_EQ(nodepool({"history", "0000000003", "--json"}), 0);
  EXPECT_THAT(out(), testing::AllOf(testing::HasSubstr("req-1"),
                                    testing::Not(testing::HasSubstr("Attempt 1"))));
}

TEST_F(HistoryCommandTest, several_are_shown_and_one_without_history_keeps_none_from_it) {
  add({1763700000, JournalEntry::Subject::node, "0000000003", "created", {}, ""});
  add({1763700001, JournalEntry::Subject::node, "0000000004", "created", {}, ""});
  EXPECT_EQ(nodepool({"history", "0000000003", "0000000009", "0000000004", "--no-headers"}), 1);
  EXPECT_THAT(out(), MatchesRegex("0000000003:\n2025-[^\n]* created [^\n]*\n\n"
                                  "0000000004:\n2025-[^\n]* created [^\n]*\n"));
  EXPECT_THAT(err(), HasSubstr("has no entries for 0000000009\n"));
  EXPECT_EQ(nodepool({"history", "0000000003", "0000000004", "--json"}), 0);
  EXPECT_THAT(out(), testing::StartsWith(R"({"0000000003": [{"time": 1763700000.000,)"));
  EXPECT_THAT(out(), HasSubstr(R"(}], "0000000004": [{"time": 1763700001.000,)"));
  EXPECT_EQ(nodepool({"history", "0000000003", "0000000004", "-o", "yaml"}), 0);
  EXPECT_THAT(out(), HasSubstr("\n\"0000000004\":\n- time: 1763700001.000\n"));
}

}  // namespace
}  // namespace nodepool::cli
