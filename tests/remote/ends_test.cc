// How the uses of nodes and the waits for them end.

#include <gmock/gmock.h>

#include "remote/remote_installation.h"
#include "tests/remote/installation_test.h"

namespace nodepool::remote {
namespace {

using requestor::LauncherDouble;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;
using testing::SizeIs;

TEST_F(InstallationTest, nodes_of_a_process_are_leased_shortly_and_kept_until_it_ends_their_use) {
  RemoteInstallation installation = client("gitlab");
  const Installation::Outcome outcome =
      run(installation.request({.labels = {"small"}, .is_for_process = true}, nullptr));
  ASSERT_TRUE(outcome.leased);
  const std::string id = outcome.leased->nodes[0].id;
  EXPECT_DOUBLE_EQ(lease_of(node(id))->expires, clock_.wall_seconds() + 600);
  settle();  // the renewal waits for its time
  clock_.advance_by(seconds(45));
  while (lease_of(node(id))->expires < clock_.wall_seconds() + 600) settle();
  run(installation.end_use(std::nullopt));
  settle();
  EXPECT_EQ(node(id).state, model::NodeState::used);
  run(installation.end_use(std::nullopt));  // nothing is in use
  run(installation.close());
}

TEST_F(InstallationTest, nodes_whose_lease_has_ended_are_not_held) {
  run(doors_[0]->stop());
  doors_[0] = open_late([this] { return pass_at_once(seconds(0)); });
  RemoteInstallation installation = client("gitlab");
  const Installation::Outcome outcome =
      run(installation.request({.labels = {"small"}, .is_for_process = true}, nullptr));
  ASSERT_TRUE(outcome.leased);
  run(client("gitlab").release(outcome.leased->lease.id, std::nullopt));
  EXPECT_THAT(run(installation.end_use("look")), testing::IsEmpty());
  run(installation.close());
}

TEST_F(InstallationTest, the_end_of_a_use_waits_for_launchers_that_restart) {
  int left = 0;  // refusals
  run(doors_[0]->stop());
  doors_[0] = open_unavailable([&left](const web::Request&) { return left-- > 0; });
  for (const bool is_hold : {false, true}) {
    RemoteInstallation installation(runtime_, {.url = url(0), .token = "secret of gitlab"}, log_,
                                    keep_);
    use_node(installation);
    left = 6;
    const auto ended =
        in_time(installation.end_use(is_hold ? std::optional<std::string>("look") : std::nullopt));
    ASSERT_TRUE(ended) << failure_;
    ASSERT_THAT(*ended, SizeIs(1));
    EXPECT_EQ(node(ended->front()).state,
              is_hold ? model::NodeState::hold : model::NodeState::used);
    EXPECT_THAT(warnings_, ElementsAre("the API responded with status 503; retrying"));
    warnings_.clear();
    run(installation.close());
  }
}

TEST_F(InstallationTest, a_use_that_cannot_be_ended_ends_with_its_lease) {
  bool is_away = false;
  run(doors_[0]->stop());
  doors_[0] = open_unavailable([&is_away](const web::Request&) { return is_away; });
  for (const bool is_hold : {false, true}) {
    RemoteInstallation installation(runtime_, {.url = url(0), .token = "secret of gitlab"}, log_,
                                    keep_);
    use_node(installation);
    is_away = true;
    const async::Clock::TimePoint begun = clock_.now();
    EXPECT_FALSE(
        in_time(installation.end_use(is_hold ? std::optional<std::string>("look") : std::nullopt)));
    is_away = false;
    EXPECT_EQ(failure_, "that happens when their lease expires: the API responded with status 503");
    EXPECT_GE(clock_.now() - begun, seconds(is_hold ? 590 : 60));
    EXPECT_LT(clock_.now() - begun, seconds(is_hold ? 900 : 300));
    run(installation.close());
  }
}

TEST_F(InstallationTest, a_certificate_that_is_no_longer_trusted_is_an_outage) {
  const std::string trusted = new_certificate("trusted");
  std::unique_ptr<web::Server> launcher = open_with_certificate(trusted);
  const std::uint16_t port = launcher->port();
  RemoteInstallation installation(runtime_,
                                  {.url = "https://127.0.0.1:" + std::to_string(port),
                                   .token = "secret of gitlab",
                                   .ca_file = trusted + ".crt"},
                                  log_, keep_);
  use_node(installation);
  run(launcher->stop());
  launcher = open_with_certificate(new_certificate("another"), port);
  const async::Clock::TimePoint begun = clock_.now();
  EXPECT_FALSE(in_time(installation.end_use("look")));
  EXPECT_THAT(failure_, HasSubstr("the launcher's certificate is not trusted: "));
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("; retrying")));
  EXPECT_GE(clock_.now() - begun, seconds(590)) << "until the lease ends";
  run(installation.close());
  run(launcher->stop());
}

TEST_F(InstallationTest, a_release_or_hold_whose_response_is_lost_has_been_done) {
  for (const bool is_hold : {false, true}) {
    const auto reason = is_hold ? std::optional<std::string>("look") : std::nullopt;
    const auto state = is_hold ? model::NodeState::hold : model::NodeState::used;
    const auto lose_response = [this, is_hold] {
      run(doors_[0]->stop());
      doors_[0] = open_losing([is_hold](const web::Request& call) {
        return is_hold ? call.path.ends_with("/hold") : call.method == "DELETE";
      });
    };
    const Installation::Outcome outcome =
        run(client("gitlab").request({.labels = {"small", "small"}}, nullptr));
    ASSERT_TRUE(outcome.leased);
    const std::string first = outcome.leased->nodes[0].id;
    const std::string second = outcome.leased->nodes[1].id;

    lose_response();
    EXPECT_THAT(in_time(client("gitlab").release(first, reason)), Optional(ElementsAre(first)))
        << failure_;
    EXPECT_EQ(node(first).state, state);
    EXPECT_EQ(node(second).state, model::NodeState::in_use);

    lose_response();
    EXPECT_THAT(in_time(client("gitlab").release(outcome.leased->lease.id, reason)),
                Optional(ElementsAre(second)))
        << failure_;
    EXPECT_EQ(node(second).state, state);

    lose_response();
    RemoteInstallation installation = client("gitlab");
    use_node(installation);
    const auto ended = in_time(installation.end_use(reason));
    ASSERT_THAT(ended, Optional(SizeIs(1))) << failure_;
    EXPECT_EQ(node(ended->front()).state, state);
    run(installation.close());
  }
}

TEST_F(InstallationTest, the_end_of_a_hold_or_request_whose_response_is_lost_has_been_done) {
  const auto lose_response = [this] {
    run(doors_[0]->stop());
    doors_[0] = open_losing([](const web::Request& call) { return call.method == "DELETE"; });
  };
  const Installation::Outcome outcome =
      run(client("gitlab").request({.labels = {"small"}}, nullptr));
  ASSERT_TRUE(outcome.leased);
  const std::string id = outcome.leased->nodes[0].id;
  run(client("gitlab").release(id, "look"));
  lose_response();
  EXPECT_THAT(in_time(client("gitlab").end_hold(id)), Optional(true)) << failure_;
  EXPECT_EQ(node(id).state, model::NodeState::used);
  EXPECT_THAT(in_time(client("gitlab").end_hold(id)), Optional(false)) << failure_;

  launcher_.react(LauncherDouble::Reaction::ignore);
  const std::string waiting = call("POST", "/api/v1/requests", "gitlab", api::kSmall).id();
  lose_response();
  EXPECT_THAT(in_time(client("gitlab").withdraw(waiting)), Optional(true)) << failure_;
  EXPECT_THAT(run(launcher_.requests()), testing::IsEmpty());
  EXPECT_THAT(in_time(client("gitlab").withdraw(waiting)), Optional(false)) << failure_;
}

TEST_F(InstallationTest, a_hold_of_a_node_that_is_released_at_the_same_time_is_an_error) {
  const Installation::Outcome outcome =
      run(client("gitlab").request({.labels = {"small"}}, nullptr));
  ASSERT_TRUE(outcome.leased);
  model::Node released = node(outcome.leased->nodes[0].id);
  released.set_state(model::NodeState::used, clock_.wall_seconds());
  run(doors_[0]->stop());
  doors_[0] = open_unavailable([this, &released](const web::Request& call) {
    if (!call.path.ends_with("/hold")) return false;
    coordination::Transaction change;
    change.set(model::node_path(released.id), to_record(released));
    server_.commit(operator_, change, 0);
    return false;
  });
  EXPECT_FALSE(in_time(client("gitlab").release(outcome.leased->lease.id, "look")));
  EXPECT_EQ(failure_, outcome.leased->lease.id + " is no longer leased, and not held");
}

TEST_F(InstallationTest, the_end_of_the_lease_of_nodes_in_use_is_reported) {
  run(doors_[0]->stop());
  doors_[0] = open_late([this] { return pass_at_once(seconds(0)); });
  RemoteInstallation installation(runtime_, {.url = url(0), .token = "secret of gitlab"}, log_,
                                  keep_);
  std::vector<std::string> reasons;
  const Installation::Outcome outcome = run(installation.request(
      {.labels = {"small"},
       .is_for_process = true,
       .on_lost = [&reasons](const std::string& reason) { reasons.push_back(reason); }},
      nullptr));
  ASSERT_TRUE(outcome.leased);
  run(client("gitlab").release(outcome.leased->lease.id, std::nullopt));
  settle();  // the renewal waits for its time, and the launchers know the end of the lease
  clock_.advance_by(seconds(45));
  while (reasons.empty() && warnings_.empty()) loop_.poll();
  EXPECT_THAT(warnings_, testing::IsEmpty());
  EXPECT_THAT(reasons, ElementsAre("the lease of the nodes has ended"));
  EXPECT_THAT(run(installation.end_use("look")), testing::IsEmpty()) << "there is nothing to hold";
  run(installation.close());
}

TEST_F(InstallationTest, a_404_of_a_proxy_is_no_end_of_the_lease) {
  bool is_away = false;
  run(doors_[0]->stop());
  doors_[0] = open_unavailable([&is_away](const web::Request&) { return is_away; }, 404);
  RemoteInstallation installation(runtime_, {.url = url(0), .token = "secret of gitlab"}, log_,
                                  keep_);
  const Installation::Outcome outcome = run(
      installation.request({.labels = {"small"},
                            .is_for_process = true,
                            .on_lost = [](const std::string& reason) { ADD_FAILURE() << reason; }},
                           nullptr));
  ASSERT_TRUE(outcome.leased);
  const std::string id = outcome.leased->nodes[0].id;
  settle();  // the renewal waits for its time
  is_away = true;
  clock_.advance_by(seconds(45));
  while (warnings_.empty()) loop_.poll();
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("the lease could not be renewed, retrying: ")));
  is_away = false;
  settle();
  clock_.advance_by(seconds(45));
  while (lease_of(node(id))->expires < clock_.wall_seconds() + 600) settle();
  run(installation.end_use(std::nullopt));
  run(installation.close());
}

TEST_F(InstallationTest, nodes_in_use_are_lost_when_their_lease_reaches_the_maximum) {
  first_->max_lease = seconds(700);
  RemoteInstallation installation(runtime_, {.url = url(0), .token = "secret of gitlab"}, log_,
                                  keep_);
  use_node(installation);
  const seconds time = time_until_lost();
  EXPECT_GE(time, seconds(690));
  EXPECT_LT(time, seconds(900));
  EXPECT_EQ(loss_, "the lease of the nodes has ended");
  EXPECT_THAT(warnings_, testing::Contains(HasSubstr("the launchers limit the lease (max-lease)")));
  EXPECT_THAT(run(installation.end_use("look")), testing::IsEmpty());
  run(installation.close());
}

TEST_F(InstallationTest, nodes_in_use_are_lost_when_their_lease_has_ended_without_a_renewal) {
  run(doors_[0]->stop());
  doors_[0] =
      open_unavailable([](const web::Request& call) { return call.path.ends_with("/renew"); });
  RemoteInstallation installation(runtime_, {.url = url(0), .token = "secret of gitlab"}, log_,
                                  keep_);
  use_node(installation);
  const seconds time = time_until_lost();
  EXPECT_GE(time, seconds(590));
  EXPECT_LT(time, seconds(900));
  EXPECT_EQ(loss_, "the lease of the nodes has ended");
  EXPECT_THAT(warnings_,
              ElementsAre(testing::StartsWith("the lease could not be renewed, retrying: ")));
  run(installation.close());
}

TEST_F(InstallationTest, a_cancelled_wait_leaves_no_request_behind) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  RemoteInstallation installation(runtime_, {.url = url(0), .token = "secret of gitlab"}, log_,
                                  keep_);
  // The call that waits for the end is under way.
  cancel_request(installation, {.labels = {"small"}},
                 [this] { return !run(launcher_.requests()).empty(); });
  run(installation.close());
  EXPECT_THAT(warnings_, ElementsAre("request 200-0000000000 has been withdrawn"));
  settle();
  EXPECT_TRUE(run(launcher_.requests()).empty());
}

TEST_F(InstallationTest, a_cancelled_request_that_cannot_be_withdrawn_is_reported_as_unknown) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  bool is_away = false;
  run(doors_[0]->stop());
  doors_[0] = open_unavailable([&is_away](const web::Request&) { return is_away; });
  RemoteInstallation installation(runtime_, {.url = url(0), .token = "secret of gitlab"}, log_,
                                  keep_);
  cancel_request(installation, {.labels = {"small"}}, [&] {
    is_away = !run(launcher_.requests()).empty();
    return is_away;
  });
  pass_until_ended(installation.close());
  EXPECT_THAT(warnings_, ElementsAre("the request may be served until its timeout: the API "
                                     "responded with status 503"));
}

TEST_F(InstallationTest, a_cancelled_wait_ends_no_lease_that_others_with_the_key_may_use) {
  run(doors_[0]->stop());
  doors_[0] = open_unavailable([](const web::Request& call) { return call.method == "GET"; });
  const auto is_leased = [this](const std::string& id) {
    const model::Node* node = first_->records().nodes.find(id);
    return node != nullptr && node->state == model::NodeState::in_use;
  };
  const auto cancel_when_leased = [&](const std::string& key, const std::string& node) {
    warnings_.clear();
    RemoteInstallation installation(runtime_, {.url = url(0), .token = "secret of gitlab"}, log_,
                                    keep_);
    cancel_request(installation, {.labels = {"small"}, .timeout = hours(20), .key = key},
                   [&] { return is_leased(node); });
    pass_until_ended(installation.close());
  };
  cancel_when_leased("job 4", "0000000000");
  EXPECT_EQ(node("0000000000").state, model::NodeState::in_use);
  EXPECT_EQ(warnings_.back(),
            "request 200-0000000000 has been fulfilled, and its lease remains: release it with "
            "`nodepool release 200-0000000000`");
  cancel_when_leased("", "0000000001");
  EXPECT_EQ(node("0000000001").state, model::NodeState::used);
  EXPECT_THAT(warnings_.back(), HasSubstr(" has been withdrawn"));
}

}  // namespace
}  // namespace nodepool::remote
