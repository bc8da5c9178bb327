// A client without a store, against the API of two launchers on real sockets.

#include "remote/remote_installation.h"

#include <gmock/gmock.h>

#include <functional>
#include <map>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "async/finally.h"
#include "model/paths.h"
#include "report/lease_listing.h"
#include "report/listings.h"
#include "requestor/error.h"
#include "tests/api/api_test.h"
#include "web/server.h"

namespace nodepool::remote {
namespace {

using api::ApiServer;
using requestor::LauncherDouble;
using requestor::RequestError;
using std::chrono::hours;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class InstallationTest : public api::ApiTest {
 protected:
  InstallationTest() {
    doors_.push_back(open(*first_));
    doors_.push_back(open(*second_));
  }

  ~InstallationTest() override {
    for (const auto& listen_address : doors_) run(listen_address->stop());
  }

  std::unique_ptr<web::Server> open(ApiServer& server) {
    auto listen_address = std::make_unique<web::Server>(
        runtime_, log_,
        [&server](web::Request request) { return server.api().answer(std::move(request)); });
    run(listen_address->start({.host = "127.0.0.1", .port = 0}));
    return listen_address;
  }

  // A launcher that answers a call that waits when `happening` has been, and the request is gone.
  std::unique_ptr<web::Server> open_late(std::function<Task<>()> happening) {
    auto listen_address = std::make_unique<web::Server>(
        runtime_, log_,
        [this, happening](web::Request call) { return answer_late(std::move(call), happening); });
    run(listen_address->start({.host = "127.0.0.1", .port = 0}));
    return listen_address;
  }

  // What the API waits for before it says that something is not there: it may just not be seen yet.
  Task<> advance_time(const bool& is_answered) {
    while (!is_answered) {
      clock_.advance_by(std::chrono::milliseconds(10));
      co_await boost::asio::post(boost::asio::use_awaitable);
    }
  }

  Task<web::Response> answer_late(web::Request call, std::function<Task<>()> happening) {
    if (call.parameter("wait") != nullptr) {
      co_await happening();
      while (!(co_await launcher_.requests()).empty()) {
        co_await boost::asio::post(boost::asio::use_awaitable);
      }
    }
    bool is_answered = false;
    async::TaskScope scope(runtime_, [](const auto& name, const auto& error) {
      ADD_FAILURE() << name << ": " << error;
    });
    scope.spawn("time", advance_time(is_answered));
    Task<web::Response> answering = first_->api().answer(std::move(call));
    const auto stop = [&scope, &is_answered] {
      is_answered = true;
      return scope.join();
    };
    co_return co_await async::finally(std::move(answering), stop);
  }

  // A launcher that is unavailable for the calls for which `is_down` returns true. A proxy in front
  // of it may have a status of its own for this.
  std::unique_ptr<web::Server> open_unavailable(std::function<bool(const web::Request&)> is_down,
                                                unsigned status = 503) {
    auto listen_address =
        std::make_unique<web::Server>(runtime_, log_, [this, is_down, status](web::Request call) {
          return answer_if_up(std::move(call), is_down, status);
        });
    run(listen_address->start({.host = "127.0.0.1", .port = 0}));
    return listen_address;
  }

  Task<web::Response> answer_if_up(web::Request call,
                                   std::function<bool(const web::Request&)> is_down,
                                   unsigned status) {
    if (is_down(call)) co_return web::Response{status};
    Task<web::Response> answering = first_->api().answer(std::move(call));
    co_return co_await std::move(answering);
  }

  // A server that gives this response to every call.
  std::unique_ptr<web::Server> open_page(web::Response page) {
    const auto give = [](web::Response page) -> Task<web::Response> { co_return page; };
    auto listen_address = std::make_unique<web::Server>(
        runtime_, log_, [give, page](const web::Request&) { return give(page); });
    run(listen_address->start({.host = "127.0.0.1", .port = 0}));
    return listen_address;
  }

  // What becomes of a request while time passes. Its error is in `failure_`.
  std::optional<Installation::Outcome> outcome_in_time(RemoteInstallation& installation,
                                                       Installation::Request order) {
    std::optional<Installation::Outcome> outcome;
    const auto ask = [](RemoteInstallation& installation, Installation::Request order,
                        std::optional<Installation::Outcome>& outcome,
                        std::string& failure) -> Task<> {
      try {
        outcome = co_await installation.request(std::move(order), nullptr);
      } catch (const RequestError& error) {
        failure = error.what();
      }
      co_await installation.close();
    };
    async::TaskScope scope(runtime_, [](const auto& name, const auto& error) {
      ADD_FAILURE() << name << ": " << error;
    });
    scope.spawn("request", ask(installation, std::move(order), outcome, failure_));
    while (!scope.empty()) {
      if (!loop_.poll()) clock_.advance_by(std::chrono::milliseconds(10));
    }
    run(scope.join());
    return outcome;
  }

  Task<> pass_at_once(seconds time) {
    clock_.advance_by(time);
    co_return;
  }

  Task<> remove_request() {
    const std::vector<std::string> requests = co_await launcher_.requests();
    co_await launcher_store_.remove(model::request_path(requests.front()),
                                    coordination::kAnyVersion);
  }

  std::string url(std::size_t launcher) const {
    return "http://127.0.0.1:" + std::to_string(doors_.at(launcher)->port());
  }

  RemoteInstallation client(const std::string& name) {
    return {runtime_, {.url = url(0), .token = "secret of " + name}, log_, warn_};
  }

  template <typename Result>
  std::string refusal(Task<Result> task) {
    try {
      run(std::move(task));
    } catch (const RequestError& error) {
      return error.what();
    }
    return "none";
  }

  // Leases a node for this process.
  void use_node(RemoteInstallation& installation) {
    const Installation::Outcome outcome =
        run(installation.request({.labels = {"small"},
                                  .is_for_process = true,
                                  .on_lost = [this](const std::string& reason) { loss_ = reason; }},
                                 nullptr));
    ASSERT_TRUE(outcome.leased);
    settle();  // the renewal waits for its time
  }

  // Advances the time until the nodes in use are lost. Returns how long that took.
  seconds time_until_lost() {
    const async::Clock::TimePoint begun = clock_.now();
    while (loss_.empty() && clock_.now() < begun + hours(1)) {
      if (!loop_.poll()) clock_.advance_by(std::chrono::milliseconds(10));
    }
    return std::chrono::duration_cast<seconds>(clock_.now() - begun);
  }

  std::string loss_;  // the reason
  telemetry::Logger log_{telemetry::Log::to_consumer([](auto&&...) {}), "test"};
  RemoteInstallation::Warn warn_ = [](const std::string& text) { ADD_FAILURE() << text; };
  std::vector<std::unique_ptr<web::Server>> doors_;
  std::string failure_;
  std::vector<std::string> warnings_;
  RemoteInstallation::Warn keep_ = [this](const std::string& text) { warnings_.push_back(text); };
};

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

TEST_F(InstallationTest, a_use_that_cannot_be_ended_ends_with_its_lease) {
  run(doors_[0]->stop());
  doors_[0] = open_late([this] { return pass_at_once(seconds(0)); });
  RemoteInstallation installation = client("gitlab");
  const Installation::Outcome outcome =
      run(installation.request({.labels = {"small"}, .is_for_process = true}, nullptr));
  ASSERT_TRUE(outcome.leased);
  run(client("gitlab").release(outcome.leased->lease.id, std::nullopt));
  EXPECT_THAT(refusal(installation.end_use("look")),
              testing::StartsWith("that happens when their lease expires: "));
  run(installation.close());
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

TEST_F(InstallationTest, a_cancelled_wait_leaves_no_request_behind) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  RemoteInstallation installation = client("gitlab");
  async::TaskScope scope(runtime_, [](const auto& name, const auto& error) {
    ADD_FAILURE() << name << ": " << error;
  });
  bool is_seen = false;
  const auto wait = [](RemoteInstallation& installation, bool& is_seen) -> Task<> {
    co_await installation.request({.labels = {"small"}},
                                  [&is_seen](const Installation::Progress&) { is_seen = true; });
  };
  scope.spawn("request", wait(installation, is_seen));
  // The call that waits for the end is under way.
  while (run(launcher_.requests()).empty()) loop_.poll();
  run(scope.stop());
  run(installation.close());
  settle();
  EXPECT_TRUE(run(launcher_.requests()).empty());
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
