#include <gmock/gmock.h>

#include "history/journal.h"
#include "tests/cli/cli_test.h"

namespace nodepool::cli {
namespace {

using history::Entry;
using testing::HasSubstr;
using testing::MatchesRegex;

class HistoryCommandTest : public CliTest {
 protected:
  HistoryCommandTest() {
    config_ = "store: sqlite://" + (directory_.path() / "nodepool.db").string() +
              "\nlabels: []\nproviders: []\n";
  }

  void add(const Entry& entry) {
    history::append({.directory = directory_.path()}, to_line(entry));
  }
};

TEST_F(HistoryCommandTest, a_request_is_shown_with_its_nodes) {
  const std::string id = "200-0000000001";
  add({1763700000.5, Entry::Subject::request, id, "requested", {}, "label(s) a for ada@build1"});
  add({1763700000.504,
       Entry::Subject::request,
       id,
       "decision",
       {},
       "l1-PoolWorker.rack-main accepts",
       R"({"decision":"accepts"})"});
  add({1763703600.504, Entry::Subject::request, id, "fulfilled", {"0000000003", "0000000004"}, ""});
  EXPECT_EQ(nodepool({"history", id}), 0) << err();
  const std::string time = "[0-9-]+ [0-9:]+\\.";
  EXPECT_THAT(out(), MatchesRegex("[+-]+\n"
                                  "\\| Time                    \\| After   \\| Event     \\| Nodes "
                                  "                \\| Details                         \\|\n"
                                  "[+-]+\n"
                                  "\\| " +
                                  time +
                                  "500 \\|         \\| requested \\|                       \\| "
                                  "label\\(s\\) a for ada@build1       \\|\n"
                                  "\\| " +
                                  time +
                                  "504 \\| 0.004 s \\| decision  \\|                       \\| "
                                  "l1-PoolWorker.rack-main accepts \\|\n"
                                  "\\| " +
                                  time +
                                  "504 \\| 1:00:00 \\| fulfilled \\| 0000000003,0000000004 \\|     "
                                  "                            \\|\n"
                                  "[+-]+\n"));
  EXPECT_EQ(nodepool({"history", id, "--json"}), 0);
  EXPECT_EQ(out(),
            R"([{"time": 1763700000.500, "after": null, "event": "requested", "nodes": [], )"
            R"("details": "label(s) a for ada@build1", "data": null}, )"
            R"({"time": 1763700000.504, "after": 0.004, "event": "decision", "nodes": [], )"
            R"("details": "l1-PoolWorker.rack-main accepts", "data": {"decision":"accepts"}}, )"
            R"({"time": 1763703600.504, "after": 3600.000, "event": "fulfilled", )"
            R"("nodes": ["0000000003", "0000000004"], "details": "", "data": null}])"
            "\n");
}

TEST_F(HistoryCommandTest, a_node_is_shown_with_its_request) {
  add({1, Entry::Subject::node, "0000000003", "allocated", {"200-0000000001"}, ""});
  EXPECT_EQ(nodepool({"history", "0000000003"}), 0) << err();
  EXPECT_THAT(out(), HasSubstr("| Request        |"));
  EXPECT_THAT(out(), HasSubstr("| allocated | 200-0000000001 |"));
}

TEST_F(HistoryCommandTest, an_unknown_id_is_an_error) {
  EXPECT_EQ(nodepool({"history", "0000000009"}), 1);
  EXPECT_EQ(out(), "");
  EXPECT_EQ(err(), "nodepool: the history in " + directory_.path().string() +
                       " has nothing about 0000000009\n");
}

TEST_F(HistoryCommandTest, the_configuration_says_where_it_is) {
  config_ += "history: {directory: " + (directory_.path() / "elsewhere").string() + "}\n";
  history::append({.directory = directory_.path() / "elsewhere"},
                  to_line(Entry{1, Entry::Subject::node, "0000000003", "gone", {}, ""}));
  EXPECT_EQ(nodepool({"history", "0000000003"}), 0) << err();
}

}  // namespace
}  // namespace nodepool::cli
