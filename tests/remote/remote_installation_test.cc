#include "remote/remote_installation.h"

#include <gmock/gmock.h>

#include <map>

#include "report/lease_listing.h"
#include "report/listings.h"
#include "tests/remote/installation_test.h"

namespace nodepool::remote {
namespace {

using requestor::LauncherDouble;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

TEST_F(InstallationTest, nodes_are_leased_in_the_order_of_the_labels_and_given_back) {
  RemoteInstallation installation = client("gitlab");
  const Installation::Outcome outcome = run(installation.request(
      {.labels = {"large", "small"}, .holder = "job 4", .lease = hours(1)}, nullptr));
  ASSERT_TRUE(outcome.leased);
  const requestor::LeasedNodes& leased = *outcome.leased;
  EXPECT_EQ(leased.lease.holder, "job 4");
  EXPECT_EQ(leased.lease.owner, "gitlab");
  ASSERT_THAT(leased.nodes, SizeIs(2));
  EXPECT_THAT(leased.nodes[0].type, ElementsAre("large"));
  EXPECT_THAT(leased.nodes[1].type, ElementsAre("small"));
  EXPECT_EQ(leased.nodes[0].interface_ip, "192.0.2.1");
  clock_.advance_by(seconds(60));
  const Installation::Renewal renewal = run(installation.renew(leased.lease.id, seconds(120)));
  EXPECT_DOUBLE_EQ(renewal.lease.expires, clock_.wall_seconds() + 120);
  EXPECT_DOUBLE_EQ(renewal.before, leased.lease.expires);
  EXPECT_THAT(run(installation.find_nodes(leased.lease.id)), SizeIs(2));
  EXPECT_THAT(run(installation.find_nodes(leased.nodes[1].id)), SizeIs(1));
  EXPECT_THAT(run(installation.release(leased.nodes[0].id, std::nullopt)),
              ElementsAre(leased.nodes[0].id));
  settle();
  EXPECT_EQ(node(leased.nodes[0].id).state, model::NodeState::used);
  EXPECT_THAT(run(installation.release(leased.lease.id, "look")), ElementsAre(leased.nodes[1].id));
  settle();
  EXPECT_EQ(node(leased.nodes[1].id).state, model::NodeState::hold);
  run(doors_[0]->stop());
  doors_[0] = open_late([this] { return pass_at_once(seconds(0)); });
  EXPECT_THAT(refusal(client("gitlab").release(leased.lease.id, std::nullopt)),
              HasSubstr("there is no lease or leased node"));
}

TEST_F(InstallationTest, a_node_that_was_held_from_a_lease_is_found_and_its_hold_is_ended) {
  RemoteInstallation installation = client("gitlab");
  const Installation::Outcome outcome =
      run(installation.request({.labels = {"small", "small"}}, nullptr));
  ASSERT_TRUE(outcome.leased);
  const std::string id = outcome.leased->nodes[0].id;
  EXPECT_THAT(run(installation.release(id, "look")), ElementsAre(id));
  const std::vector<model::Node> found = run(installation.find_nodes(id));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].state, model::NodeState::hold);
  EXPECT_EQ(found[0].interface_ip, outcome.leased->nodes[0].interface_ip);
  // Its former lease has another node.
  EXPECT_EQ(refusal(client("gitlab").release(id, std::nullopt)), "node " + id + " is not leased");
  EXPECT_TRUE(run(installation.end_hold(id)));
  settle();
  EXPECT_EQ(node(id).state, model::NodeState::used);
  EXPECT_FALSE(run(installation.end_hold(id)));
}

TEST_F(InstallationTest, a_nodes_record_has_no_key_of_the_api) {
  const Installation::Outcome outcome =
      run(client("gitlab").request({.labels = {"small"}}, nullptr));
  ASSERT_TRUE(outcome.leased);
  EXPECT_TRUE(outcome.leased->nodes[0].unknown.empty());
}

TEST_F(InstallationTest, two_requests_with_one_key_get_one_lease) {
  RemoteInstallation installation = client("gitlab");
  const Installation::Request order{.labels = {"small"}, .key = "job 4"};
  const Installation::Outcome first = run(installation.request(order, nullptr));
  const Installation::Outcome second = run(client("gitlab").request(order, nullptr));
  ASSERT_TRUE(first.leased && second.leased);
  EXPECT_EQ(first.leased->lease.id, second.leased->lease.id);
  EXPECT_THAT(run(installation.leases()), SizeIs(1));
}

TEST_F(InstallationTest, a_rejection_names_the_reason) {
  EXPECT_THAT(refusal(client("viewer").request({.labels = {"small"}}, nullptr)),
              HasSubstr("has scope `read`"));
  EXPECT_THAT(refusal(client("nobody").request({.labels = {"small"}}, nullptr)),
              HasSubstr("token is unknown"));
  EXPECT_THAT(refusal(client("jenkins").request({.labels = {"small"}, .lease = hours(2)}, nullptr)),
              HasSubstr("limited to 1h"));
  EXPECT_THROW(RemoteInstallation(runtime_, {.url = "launcher:8006"}, log_, warn_), RequestError);
  EXPECT_THROW(RemoteInstallation(runtime_, {.url = ""}, log_, warn_), RequestError);
}

TEST_F(InstallationTest, a_failed_request_names_the_declining_pools) {
  launcher_.react(LauncherDouble::Reaction::decline);
  run(launcher_.add_pool("rack", {"small"}));
  RemoteInstallation installation = client("gitlab");
  const Installation::Outcome outcome = run(installation.request({.labels = {"small"}}, nullptr));
  EXPECT_FALSE(outcome.leased);
  EXPECT_EQ(outcome.progress.state, model::RequestState::failed);
  ASSERT_THAT(outcome.progress.declined, SizeIs(1));
  EXPECT_EQ(outcome.progress.declined[0].second, "it would exceed quota");
}

TEST_F(InstallationTest, a_request_withdrawn_at_its_timeout_is_a_timeout) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  run(doors_[0]->stop());
  doors_[0] = open_late([this] { return pass_at_once(seconds(21)); });
  RemoteInstallation installation = client("gitlab");
  const Installation::Outcome outcome =
      run(installation.request({.labels = {"small"}, .timeout = seconds(20)}, nullptr));
  EXPECT_FALSE(outcome.leased);
  EXPECT_EQ(outcome.progress.state, model::RequestState::requested);
  EXPECT_EQ(outcome.progress.id, "200-0000000000");
}

TEST_F(InstallationTest, a_repeated_key_uses_the_timeout_of_the_first_request) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  web::Request first =
      request("POST", "/api/v1/requests", "gitlab", {{"labels", {"small"}}, {"timeout", 30}});
  first.headers["idempotency-key"] = "job 4";
  ASSERT_EQ(call(*first_, std::move(first)).status, 201);
  pass(seconds(15));
  run(doors_[0]->stop());
  doors_[0] = open_late([this] { return pass_at_once(seconds(16)); });
  RemoteInstallation installation = client("gitlab");
  const Installation::Outcome outcome = run(installation.request(
      {.labels = {"small"}, .timeout = seconds(120), .key = "job 4"}, nullptr));
  EXPECT_FALSE(outcome.leased);
  EXPECT_EQ(outcome.progress.state, model::RequestState::requested);
}

TEST_F(InstallationTest, a_request_removed_before_its_timeout_is_an_error) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  run(doors_[0]->stop());
  doors_[0] = open_late([this] { return remove_request(); });
  RemoteInstallation installation = client("gitlab");
  EXPECT_EQ(refusal(installation.request({.labels = {"small"}}, nullptr)),
            "request 200-0000000000 was removed by another client");
  run(installation.close());
}

TEST_F(InstallationTest, the_next_launcher_is_asked_if_one_does_not_answer) {
  run(doors_[0]->stop());
  const std::string dead = "http://127.0.0.1:1";
  RemoteInstallation installation(
      runtime_, {.url = dead + "," + url(1), .token = "secret of gitlab"}, log_, warn_);
  async::TaskScope scope(runtime_, [](const auto& name, const auto& error) {
    ADD_FAILURE() << name << ": " << error;
  });
  std::optional<Installation::Outcome> outcome;
  const auto request = [](RemoteInstallation& installation,
                          std::optional<Installation::Outcome>& outcome) -> Task<> {
    outcome = co_await installation.request({.labels = {"small"}}, nullptr);
  };
  scope.spawn("request", request(installation, outcome));
  while (!scope.empty()) {
    if (!loop_.poll()) clock_.advance_by(std::chrono::milliseconds(10));
  }
  run(scope.join());
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->leased);
}

TEST_F(InstallationTest, a_request_waits_for_launchers_that_are_unavailable_for_a_while) {
  std::map<std::string, int> refused;
  run(doors_[0]->stop());
  doors_[0] = open_unavailable(
      [&refused](const web::Request& call) { return ++refused[call.method] <= 6; });
  RemoteInstallation installation(runtime_, {.url = url(0), .token = "secret of gitlab"}, log_,
                                  keep_);
  const std::optional<Installation::Outcome> outcome =
      outcome_in_time(installation, {.labels = {"small"}, .timeout = hours(20)});
  ASSERT_TRUE(outcome) << failure_;
  EXPECT_TRUE(outcome->leased);
  EXPECT_THAT(warnings_, ElementsAre("the API responded with status 503; retrying"));
  EXPECT_THAT(run(launcher_.requests()), testing::IsEmpty());
}

TEST_F(InstallationTest, a_request_waits_while_its_client_is_above_the_rate_limit) {
  std::map<std::string, int> refused;
  run(doors_[0]->stop());
  doors_[0] = open_unavailable(
      [&refused](const web::Request& call) { return ++refused[call.method] <= 6; }, 429);
  RemoteInstallation installation(runtime_, {.url = url(0), .token = "secret of gitlab"}, log_,
                                  keep_);
  const std::optional<Installation::Outcome> outcome =
      outcome_in_time(installation, {.labels = {"small"}, .timeout = hours(20)});
  ASSERT_TRUE(outcome) << failure_;
  EXPECT_TRUE(outcome->leased);
  EXPECT_THAT(warnings_, ElementsAre("the API responded with status 429; retrying"));
}

TEST_F(InstallationTest, a_request_whose_wait_is_refused_is_withdrawn) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  run(doors_[0]->stop());
  doors_[0] = open_unavailable([](const web::Request& call) { return call.method == "GET"; }, 403);
  RemoteInstallation installation = client("gitlab");
  EXPECT_FALSE(outcome_in_time(installation, {.labels = {"small"}, .timeout = hours(20)}));
  EXPECT_EQ(failure_, "the API responded with status 403");
  EXPECT_THAT(run(launcher_.requests()), testing::IsEmpty());
}

TEST_F(InstallationTest, a_submitted_request_waits_also_after_internal_errors) {
  int failed = 0;
  run(doors_[0]->stop());
  doors_[0] = open_unavailable(
      [&failed](const web::Request& call) { return call.method == "GET" && ++failed <= 6; }, 500);
  RemoteInstallation installation(runtime_, {.url = url(0), .token = "secret of gitlab"}, log_,
                                  keep_);
  const std::optional<Installation::Outcome> outcome =
      outcome_in_time(installation, {.labels = {"small"}, .timeout = hours(20)});
  ASSERT_TRUE(outcome) << failure_;
  EXPECT_TRUE(outcome->leased);
  EXPECT_THAT(warnings_, ElementsAre("the API responded with status 500; retrying"));
}

TEST_F(InstallationTest,
       launchers_that_are_unavailable_until_the_timeout_are_reported_with_the_id) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  run(doors_[0]->stop());
  doors_[0] = open_unavailable([](const web::Request& call) { return call.method != "POST"; });
  RemoteInstallation installation(runtime_, {.url = url(0), .token = "secret of gitlab"}, log_,
                                  keep_);
  EXPECT_FALSE(outcome_in_time(installation, {.labels = {"small"}, .timeout = seconds(20)}));
  EXPECT_EQ(failure_,
            "request 200-0000000000 could not be withdrawn: the API responded with status 503");
}

TEST_F(InstallationTest, a_launcher_that_never_responds_is_reported_long_before_the_timeout) {
  RemoteInstallation installation(runtime_, {.url = "http://127.0.0.1:1"}, log_, keep_);
  const async::Clock::TimePoint begun = clock_.now();
  EXPECT_FALSE(outcome_in_time(installation, {.labels = {"small"}, .timeout = hours(20)}));
  EXPECT_LT(clock_.now(), begun + hours(1));
  EXPECT_THAT(failure_, HasSubstr("no launcher responds: "));
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("; retrying")));
}

TEST_F(InstallationTest, a_unix_socket_that_does_not_exist_is_named) {
  const std::string path = directory_.path() / "missing";
  RemoteInstallation installation(runtime_, {.url = "unix://" + path}, log_, keep_);
  EXPECT_FALSE(in_time(installation.nodes()));
  EXPECT_THAT(failure_, HasSubstr(path + ": No such file or directory; check that the launcher"));
}

TEST_F(InstallationTest, a_launcher_without_a_trusted_certificate_is_refused_at_once) {
  const std::unique_ptr<web::Server> launcher = open_with_certificate(new_certificate("own"));
  const std::string address = "https://127.0.0.1:" + std::to_string(launcher->port());
  RemoteInstallation installation(runtime_, {.url = address}, log_, keep_);
  EXPECT_FALSE(outcome_in_time(installation, {.labels = {"small"}, .timeout = hours(20)}));
  EXPECT_THAT(failure_, HasSubstr("certificate"));
  EXPECT_THAT(failure_, HasSubstr("--ca-file or NODEPOOL_CA_FILE"));
  EXPECT_THAT(warnings_, testing::IsEmpty()) << "it is not retried";
  // Another launcher serves the request.
  RemoteInstallation either(runtime_, {.url = address + "," + url(0), .token = "secret of gitlab"},
                            log_, keep_);
  const std::optional<Installation::Outcome> outcome =
      outcome_in_time(either, {.labels = {"small"}, .timeout = hours(20)});
  ASSERT_TRUE(outcome) << failure_;
  EXPECT_TRUE(outcome->leased);
  run(launcher->stop());
}

TEST_F(InstallationTest, what_is_refused_until_something_is_changed_has_an_error_of_its_own) {
  EXPECT_THROW(run(client("unknown").request({.labels = {"small"}}, nullptr)), requestor::Refused);
  EXPECT_THROW(run(client("viewer").request({.labels = {"small"}}, nullptr)), requestor::Refused);
  EXPECT_THROW(run(client("jenkins").request({.labels = {"small"}, .lease = hours(2)}, nullptr)),
               requestor::Refused);
}

TEST_F(InstallationTest, a_token_that_has_all_its_nodes_is_refused_until_it_releases_some) {
  RemoteInstallation installation = client("jenkins");  // at most three
  const auto request_nodes = [this, &installation](std::size_t nodes) {
    return run(installation.request({.labels = std::vector<std::string>(nodes, "small")}, nullptr));
  };
  const Installation::Outcome outcome = request_nodes(3);
  ASSERT_TRUE(outcome.leased);
  const auto request_more = [&request_nodes] { request_nodes(1); };
  EXPECT_THAT(request_more, testing::ThrowsMessage<RequestError>(HasSubstr("(max-nodes 3)")));
  EXPECT_THAT(request_more, testing::Not(testing::Throws<requestor::Refused>()));
  // Other calls are not delayed: the time stands still.
  run(installation.release(outcome.leased->lease.id, std::nullopt));
  settle();
  EXPECT_THROW(request_nodes(4), requestor::Refused) << "that never fits";
  EXPECT_TRUE(request_nodes(1).leased);
}

TEST_F(InstallationTest, an_error_that_is_not_the_apis_is_reported_with_its_status) {
  struct Case {
    unsigned status;
    std::string type;
    std::string text;
    std::string failure;
  };
  const std::vector<Case> cases{
      {404, "text/html", "<html>\nNot Found", "the API responded with status 404"},
      {401, "application/json", "[]", "the API responded with status 401"},
      {413, "text/plain", "", "the API responded with status 413"},
      {421, "text/plain; charset=UTF-8", "Unknown host name\r\nUse another one\n",
       "the API responded with status 421: Unknown host name"},
  };
  for (const Case& each : cases) {
    run(doors_[0]->stop());
    doors_[0] = open_page({.status = each.status,
                           .headers = {{"Content-Type", each.type}},
                           .body = std::make_shared<const std::string>(each.text)});
    EXPECT_EQ(refusal(client("gitlab").renew("200-0000000000", seconds(60))), each.failure);
    EXPECT_EQ(refusal(client("gitlab").release("200-0000000000", std::nullopt)), each.failure);
    EXPECT_EQ(refusal(client("gitlab").request({.labels = {"small"}}, nullptr)), each.failure);
  }
}

TEST_F(InstallationTest, lists_are_those_of_the_commands) {
  RemoteInstallation installation = client("gitlab");
  for (int i = 0; i < 3; ++i) run(installation.request({.labels = {"small"}}, nullptr));
  settle();
  const std::vector<report::Column> columns = report::node_columns(report::Detail::wide).columns();
  const report::Table nodes = run(installation.nodes());
  EXPECT_THAT(nodes.rows(), SizeIs(3));
  EXPECT_EQ(nodes.columns().size(), columns.size());
  EXPECT_THAT(run(installation.leases()), SizeIs(3));
  EXPECT_THAT(run(client("viewer").leases()), SizeIs(3));
  EXPECT_THAT(run(installation.explain("small", /*online=*/false)).statements, SizeIs(1));
}

TEST_F(InstallationTest, a_unix_socket_can_be_used) {
  const std::string path = directory_.path() / "socket";
  web::Server listen_address(runtime_, log_, [this](web::Request request) {
    return first_->api().answer(std::move(request));
  });
  run(listen_address.start({.kind = web::ListenAddress::Kind::local, .path = path}));
  RemoteInstallation installation(runtime_, {.url = "unix://" + path}, log_, warn_);
  const Installation::Outcome outcome = run(installation.request({.labels = {"small"}}, nullptr));
  EXPECT_EQ(outcome.leased->lease.owner, "user:" + std::to_string(::geteuid()));
  run(listen_address.stop());
}

}  // namespace
}  // namespace nodepool::remote
