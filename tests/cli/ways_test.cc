// What commands print is the same with the store and through the request API.

#include "tests/cli/ways_test.h"

#include <gmock/gmock.h>

#include "cli/arguments.h"
#include "requestor/lease_request.h"

namespace nodepool::cli {
namespace {

using requestor::LauncherDouble;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

TEST_F(WaysTest, listings_are_the_same) {
  EXPECT_EQ(perform(Way::api, {"request", "small"}), 0) << err();
  const std::vector<std::vector<std::string>> commands = {
      {"list"},
      {"list", "--detail", "--label", "small"},
      {"list", "-o", "name", "--state", "in-use"},
      {"request-list", "-o", "wide"},
      {"label-list"},
      {"label-list", "--json"},
      {"lease-list"},
      {"lease-list", "-o", "yaml", "--holder", "nodepool:ada@build1"},
  };
  for (const std::vector<std::string>& command : commands) {
    EXPECT_EQ(perform(Way::store, command), 0) << err();
    const std::string by_store = out();
    EXPECT_EQ(perform(Way::api, command), 0) << err();
    EXPECT_EQ(out(), by_store) << command.front();
  }
}

TEST_F(WaysTest, all_lease_requests_are_withdrawn_with_the_leases) {
  const model::LeaseRequest terms{
      .owner = "ada", .holder = "job 17", .lease = 7200, .expires = clock_.wall_seconds() + 86400};
  for (const Way way : {Way::store, Way::api}) {
    launcher_.react(LauncherDouble::Reaction::fulfil);
    EXPECT_EQ(perform(way, {"request", "small"}), 0) << err();
    launcher_.react(LauncherDouble::Reaction::ignore);
    const requestor::NodeRequestSpec of_zuul{{"small"}, "zuul"};
    const std::string other = run(requestor::create_request(runtime_, store_, of_zuul));
    const requestor::NodeRequestSpec of_api{{"small"}, "nodepool-api:ada"};
    const std::optional<model::NodeRequest> waiting =
        run(requestor::create_lease_request(runtime_, store_, of_api, terms));
    ASSERT_TRUE(waiting);
    EXPECT_EQ(perform(way, {"release", "--all"}), 0) << err();
    EXPECT_THAT(out(), StartsWith("Withdrew " + waiting->id + "\nReleased 000000000"));
    EXPECT_THAT(run(launcher_.requests()), testing::ElementsAre(other));
    run(store_.remove(model::request_path(other), coordination::kAnyVersion));
  }
}

TEST_F(WaysTest, waiting_requests_of_this_user_are_withdrawn_by_mine_and_any_by_its_id) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  const auto place = [this](const std::string& holder) {
    const model::LeaseRequest terms{
        .owner = "ada", .holder = holder, .lease = 7200, .expires = clock_.wall_seconds() + 86400};
    const requestor::NodeRequestSpec spec{{"small"}, "nodepool-api:ada"};
    return run(requestor::create_lease_request(runtime_, store_, spec, terms))->id;
  };
  for (const Way way : {Way::store, Way::api}) {
    const std::string own = place("nodepool:ada@build1");
    const std::string other = place("job 17");
    EXPECT_EQ(perform(way, {"release", "--mine"}), 0) << err();
    EXPECT_EQ(out(), "Withdrew " + own + "\nThere are no leases to release\n");
    EXPECT_THAT(run(launcher_.requests()), testing::ElementsAre(other));
    EXPECT_EQ(perform(way, {"release", other, "--hold", "look"}), 1) << "it has no nodes";
    EXPECT_EQ(perform(way, {"release", other}), 0) << err();
    EXPECT_EQ(out(), "Withdrew " + other + "\n");
    EXPECT_THAT(run(launcher_.requests()), testing::IsEmpty());
  }
}

TEST_F(WaysTest, a_request_that_becomes_a_lease_is_not_said_to_be_withdrawn) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  const model::LeaseRequest terms{
      .owner = "ada", .holder = "job 17", .lease = 7200, .expires = clock_.wall_seconds() + 86400};
  const requestor::NodeRequestSpec spec{{"small"}, "nodepool-api:ada"};
  const std::string id = run(requestor::create_lease_request(runtime_, store_, spec, terms))->id;
  vanishing_ = model::request_path(id);
  EXPECT_EQ(perform(Way::store, {"release", "--all"}), 0) << err();
  EXPECT_EQ(out(), "There are no leases to release\n");
}

TEST_F(WaysTest, a_request_without_the_api_is_not_withdrawn_by_its_id) {
  const requestor::NodeRequestSpec of_zuul{{"small"}, "zuul"};
  launcher_.react(LauncherDouble::Reaction::ignore);
  const std::string id = run(requestor::create_request(runtime_, store_, of_zuul));
  EXPECT_EQ(perform(Way::store, {"release", id}), 1);
  EXPECT_THAT(run(launcher_.requests()), testing::ElementsAre(id));
}

TEST_F(WaysTest, labels_that_no_pool_offers_are_named_while_the_request_waits_and_when_it_fails) {
  run(launcher_.add_pool("cloud", {"large"}));
  for (const Way way : {Way::store, Way::api}) {
    launcher_.react(LauncherDouble::Reaction::ignore);
    when_it_waits(way, [this] { return pass_at_once(seconds(21)); });
    EXPECT_EQ(perform(way, {"request", "smal", "--timeout", "20s"}), 3);
    EXPECT_THAT(err(), StartsWith("nodepool: at present, no pool offers smal; did you mean "
                                  "`small`?\n"));
    launcher_.react(LauncherDouble::Reaction::decline);
    EXPECT_EQ(perform(way, {"request", "small", "large"}), 2);
    EXPECT_THAT(err(), HasSubstr(" failed: every pool declined it; no pool offers all of these "
                                 "labels, and the nodes of a request come from one pool\n  "));
  }
}

TEST_F(WaysTest, nodes_of_a_failed_command_are_used_and_released_by_the_printed_commands) {
  const std::string bin = directory_.path() / "bin";
  std::filesystem::create_directory(bin);
  directory_.write(
      "bin/ssh", "#!/bin/sh\ncat \"$2\" > " + (directory_.path() / "ssh").string() + "\nexit 17\n");
  std::filesystem::permissions(bin + "/ssh", std::filesystem::perms(0755));
  const std::string path = ::getenv("PATH");
  ::setenv("PATH", (bin + ":" + path).c_str(), 1);
  environment_.emplace_back("PATH", bin + ":" + path);
  for (const auto& [way, id] : {std::pair(Way::store, std::string("0000000000")),
                                std::pair(Way::api, std::string("0000000001"))}) {
    EXPECT_EQ(perform(way, {"run", "small", "--hold-on-failure", "--", "sh", "-c", "exit 3"}), 3);
    EXPECT_THAT(err(), HasSubstr("; " + id + " held"));
    EXPECT_THAT(err(), HasSubstr(": log in with `nodepool ssh ID`, release with `nodepool release "
                                 "ID`\n"));
    // By the API, it ends with what a lease may last.
    EXPECT_EQ(err().contains(" held until 20"), way == Way::api) << err();
    EXPECT_EQ(perform(way, {"ssh", id, "--", "true"}), 17) << err();
    EXPECT_THAT(test_support::read_file(directory_.path() / "ssh"), HasSubstr("HostName 192.0.2."));
    EXPECT_EQ(perform(way, {"release", id}), 0) << err();
    EXPECT_EQ(out(), "Released " + id + "\n");
    EXPECT_EQ(run(launcher_.node(id)).state, model::NodeState::used);
    EXPECT_EQ(perform(way, {"release", id}), 1);
  }
  ::setenv("PATH", path.c_str(), 1);
}

TEST_F(WaysTest, a_nodes_json_has_each_key_once) {
  for (const Way way : {Way::store, Way::api}) {
    EXPECT_EQ(perform(way, {"request", "small", "--json"}), 0) << err();
    std::size_t labels = 0;
    for (std::size_t at = 0; (at = out().find("\"label\": ", at)) != std::string::npos; ++at) {
      ++labels;
    }
    EXPECT_EQ(labels, 2U) << "the node's, and one in its user_data: " << out();
  }
}

TEST_F(WaysTest, the_progress_is_shown_on_a_terminal_and_wiped_in_the_end) {
  terminal_ = true;
  launcher_.react(LauncherDouble::Reaction::ignore);
  for (const Way way : {Way::store, Way::api}) {
    when_it_waits(way, [this] { return pass_at_once(seconds(21)); });
    EXPECT_EQ(perform(way, {"request", "small", "--timeout", "20s"}), 3);
    EXPECT_THAT(err(), HasSubstr(" for small: requested, position 1"));
    EXPECT_THAT(err(), HasSubstr(" in the queue\r\x1b[Knodepool: request 200-"));
  }
}

TEST_F(WaysTest, the_api_refuses_what_needs_the_store) {
  for (const char* listing : {"list", "request-list", "label-list", "lease-list"}) {
    EXPECT_EQ(perform(Way::api, {listing, "--watch"}), 1);
    EXPECT_EQ(err(), "nodepool: --watch needs the store and does not work with --url\n");
  }
  EXPECT_EQ(perform(Way::api, {"explain", "small", "--online"}), 1);
  EXPECT_EQ(err(), "nodepool: --online needs the store and does not work with --url\n");
  EXPECT_EQ(perform(Way::api, {"status"}), 2);
  EXPECT_EQ(err(), "nodepool: this command needs the store and does not work with --url\n");
  EXPECT_EQ(perform(Way::store, {"request", "small", "--key", "job"}), 1);
  EXPECT_EQ(err(), "nodepool: --key needs the request API (--url)\n");
}

TEST_F(WaysTest, a_named_configuration_has_precedence_over_the_environment) {
  environment_.emplace_back("NODEPOOL_URL", "nowhere");
  EXPECT_EQ(nodepool_bare({"list"}), 1);
  EXPECT_THAT(err(), HasSubstr("invalid URL of the API"));
  EXPECT_EQ(nodepool({"list"}), 0) << err();
  // Also the usual one, which may not exist here.
  nodepool_bare({"-c", kUsualConfig, "list"});
  EXPECT_THAT(err(), testing::Not(HasSubstr("invalid URL")));
}

TEST_F(WaysTest, a_repeated_key_prints_the_whole_lease_with_the_labels_of_its_nodes) {
  EXPECT_EQ(perform(Way::api, {"request", "large", "small", "--key", "job"}), 0) << err();
  const std::string first = out();
  const std::vector<std::string> again = {"request", "large", "small", "--key", "job"};
  EXPECT_EQ(perform(Way::api, again), 0) << err();
  EXPECT_EQ(out(), first);
  EXPECT_EQ(perform(Way::api, {"request", "large", "small", "--key", "job", "--json"}), 0) << err();
  EXPECT_THAT(out(), HasSubstr(R"({"id": "0000000000", "label": "large", )"));
  EXPECT_THAT(out(), HasSubstr(R"({"id": "0000000001", "label": "small", )"));
  EXPECT_EQ(perform(Way::api, {"release", "0000000000"}), 0) << err();
  EXPECT_EQ(perform(Way::api, again), 0) << err();
  EXPECT_THAT(out(), HasSubstr("| small | 0000000001 |"));
}

TEST_F(WaysTest, a_lease_with_a_key_remains_if_it_cannot_be_printed) {
  out_is_full_ = true;
  EXPECT_EQ(perform(Way::api, {"request", "small", "--key", "job"}), 1);
  EXPECT_EQ(err(),
            "nodepool: lease 200-0000000000 remains for other jobs with its key. Release it with "
            "`nodepool release 200-0000000000`\nnodepool: cannot write to standard output\n");
  out_is_full_ = false;
  EXPECT_EQ(perform(Way::api, {"request", "small", "--key", "job"}), 0) << err();
  EXPECT_EQ(perform(Way::api, {"release", "200-0000000000"}), 0) << err();
  out_is_full_ = true;
  EXPECT_EQ(perform(Way::api, {"request", "small"}), 1);
  EXPECT_THAT(err(), HasSubstr("nodepool: lease 200-0000000001 has been released\n"));
}

TEST_F(WaysTest, a_key_of_a_lease_for_other_labels_is_refused) {
  EXPECT_EQ(perform(Way::api, {"request", "large", "small", "--key", "job"}), 0) << err();
  for (const std::vector<std::string>& labels :
       {std::vector<std::string>{"small"}, {"large"}, {"small", "large"}}) {
    std::vector<std::string> command = {"request", "--key", "job"};
    command.insert(command.end(), labels.begin(), labels.end());
    EXPECT_EQ(perform(Way::api, command), 1);
    EXPECT_EQ(err(), "nodepool: This idempotency key belongs to 200-0000000000 for large, small\n");
  }
}

TEST_F(WaysTest, an_interrupted_request_is_withdrawn_and_reported_in_this_order) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  for (const Way way : {Way::store, Way::api}) {
    when_it_waits(way, [] { return raise_signal(SIGTERM); });
    EXPECT_EQ(perform(way, {"request", "small"}), 128 + SIGTERM);
    EXPECT_THAT(err(), HasSubstr("nodepool: interrupted\nnodepool: request 200-"));
    EXPECT_THAT(err(), EndsWith(" has been withdrawn\n"));
    EXPECT_THAT(run(launcher_.requests()), testing::IsEmpty());
  }
}

TEST_F(WaysTest, an_interrupted_run_gives_back_the_nodes_that_it_was_just_granted) {
  for (const Way way : {Way::store, Way::api}) {
    launcher_.adorn = [](model::Node&, std::size_t) { std::raise(SIGTERM); };
    EXPECT_EQ(perform(way, {"run", "small", "--", "touch", directory_.path() / "started"}),
              128 + SIGTERM);
    EXPECT_THAT(err(), StartsWith("nodepool: interrupted\n"));
    EXPECT_THAT(err(), testing::Not(HasSubstr("could not")));
    EXPECT_FALSE(std::filesystem::exists(directory_.path() / "started"));
  }
}

TEST_F(WaysTest, a_command_whose_lease_has_ended_is_stopped_and_no_hold_is_claimed) {
  const std::string started = directory_.path() / "started";
  scope_.spawn("release", release_when_made(started, "200-0000000000", "0000000000"));
  EXPECT_EQ(perform(Way::api, {"run", "small", "--hold-on-failure", "--", "sh", "-c",
                               "trap 'exit 9' TERM; touch " + started +
                                   "; for i in $(seq 3000); do sleep 0.01; done; exit 3"}),
            9);
  EXPECT_EQ(err(),
            "nodepool: the lease of the nodes has ended: the nodes are lost, and the command is "
            "stopped\n"
            "nodepool: the command exited with status 9; 0000000000 lost, and not held\n");
  EXPECT_EQ(run(launcher_.node("0000000000")).state, model::NodeState::used);
}

}  // namespace
}  // namespace nodepool::cli
