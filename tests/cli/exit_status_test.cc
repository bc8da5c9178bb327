// The exit statuses of the commands for nodes (docs/using-nodes.md), which are the same with the
// store and through the request API.

#include <gmock/gmock.h>

#include <csignal>

#include "tests/cli/ways_test.h"

namespace nodepool::cli {
namespace {

using requestor::LauncherDouble;
using testing::HasSubstr;
using testing::IsEmpty;

class ExitStatusTest : public WaysTest, public testing::WithParamInterface<Way> {
 protected:
  int perform(std::vector<std::string> arguments) {
    return WaysTest::perform(GetParam(), std::move(arguments));
  }
  void when_it_waits(std::function<async::Task<>()> happening) {
    WaysTest::when_it_waits(GetParam(), std::move(happening));
  }
};

TEST_P(ExitStatusTest, is_0_when_the_nodes_are_there_and_when_they_are_given_back) {
  EXPECT_EQ(perform({"request", "small"}), 0) << err();
  EXPECT_EQ(perform({"renew", "200-0000000000"}), 0) << err();
  EXPECT_EQ(err(), "");
  EXPECT_EQ(perform({"renew", "200-0000000000", "--lease", "30m"}), 0) << err();
  EXPECT_THAT(err(), HasSubstr("lease 200-0000000000 expires earlier than before"));
  EXPECT_EQ(perform({"release", "200-0000000000"}), 0) << err();
}

TEST_P(ExitStatusTest, is_2_when_every_pool_has_declined) {
  launcher_.react(LauncherDouble::Reaction::decline);
  EXPECT_EQ(perform({"request", "small"}), 2);
  EXPECT_THAT(err(), HasSubstr("failed: every pool declined it\n  "));
}

TEST_P(ExitStatusTest, is_3_when_the_nodes_were_not_there_in_time) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  when_it_waits([this] { return pass_at_once(seconds(21)); });
  EXPECT_EQ(perform({"request", "small", "--timeout", "20s"}), 3);
  EXPECT_THAT(err(), HasSubstr("nodepool: request 200-0000000000 timed out and has been "
                               "withdrawn\n"));
  EXPECT_THAT(err(), HasSubstr("  `nodepool explain small` shows the pools of the label and what "
                               "they wait for\n"));
  EXPECT_THAT(run(launcher_.requests()), IsEmpty());
}

TEST_P(ExitStatusTest, is_1_when_the_request_is_removed_meanwhile) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  when_it_waits([this] { return remove_request(); });
  EXPECT_EQ(perform({"request", "small"}), 1);
  EXPECT_EQ(err(), "nodepool: request 200-0000000000 was removed by another client\n");
}

TEST_P(ExitStatusTest, is_4_when_more_is_asked_for_than_may_be_had) {
  EXPECT_EQ(perform({"request", "small", "--lease", "2h"}), 4);
  EXPECT_THAT(run(launcher_.requests()), IsEmpty());
}

TEST_P(ExitStatusTest, is_1_when_there_is_no_such_lease) {
  EXPECT_EQ(perform({"renew", "200-0000000009"}), 1);
  EXPECT_EQ(perform({"release", "200-0000000009"}), 1);
  EXPECT_EQ(perform({"explain", "no-such-thing", "nor-that"}), perform({"explain", "nor-that"}));
}

TEST_P(ExitStatusTest, has_the_signal_that_has_interrupted_the_wait) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  when_it_waits([] { return raise_signal(SIGTERM); });
  EXPECT_EQ(perform({"request", "small"}), 128 + SIGTERM);
  when_it_waits([] { return raise_signal(SIGINT); });
  EXPECT_EQ(perform({"run", "small", "--", "true"}), 128 + SIGINT);
}

TEST_P(ExitStatusTest, of_run_is_that_of_its_command_or_125) {
  EXPECT_EQ(perform({"run", "small", "--", "sh", "-c", "exit 7"}), 7) << err();
  EXPECT_EQ(perform({"run", "small", "--", "/no/such/program"}), 127);
  launcher_.react(LauncherDouble::Reaction::decline);
  EXPECT_EQ(perform({"run", "small", "--", "true"}), 125);
  launcher_.react(LauncherDouble::Reaction::ignore);
  when_it_waits([this] { return pass_at_once(seconds(21)); });
  EXPECT_EQ(perform({"run", "small", "--timeout", "20s", "--", "true"}), 125);
}

TEST_P(ExitStatusTest, of_ssh_is_255_without_a_node) {
  EXPECT_EQ(perform({"ssh", "200-0000000009"}), 255);
}

// The store has no tokens.
TEST_F(WaysTest, the_exit_status_is_4_when_the_token_is_unknown) {
  environment_.back().second = "wrong";
  EXPECT_EQ(perform(Way::api, {"request", "small"}), 4);
  EXPECT_THAT(err(), HasSubstr("token"));
  EXPECT_EQ(perform(Way::api, {"release", "200-0000000009"}), 1);
}

INSTANTIATE_TEST_SUITE_P(, ExitStatusTest, testing::Values(Way::store, Way::api),
                         [](const auto& info) {
                           return info.param == Way::store ? "with_the_store" : "through_the_api";
                         });

}  // namespace
}  // namespace nodepool::cli
