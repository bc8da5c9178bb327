// Tests the request API with two launchers on an in-memory store.

#include "tests/api/api_test.h"

#include <gmock/gmock.h>

#include <deque>
#include <filesystem>
#include <set>

#include "model/lease.h"
#include "model/lease_request.h"
#include "model/paths.h"

namespace nodepool::api {
namespace {

using requestor::LauncherDouble;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

TEST_F(ApiTest, a_request_becomes_a_lease_with_all_that_is_needed_to_log_in) {
  const Got placed = call("POST", "/api/v1/requests", "gitlab",
                          {{"labels", {"small", "large"}}, {"lease", "30m"}, {"holder", "job 17"}});
  EXPECT_EQ(placed.status, 201);
  EXPECT_EQ(placed.headers.at("Location"), "/api/v1/requests/" + placed.id());
  const Got done = call("GET", "/api/v1/requests/" + placed.id() + "?wait=30s", "gitlab");
  EXPECT_EQ(done.body.at("state"), "fulfilled");
  const json& lease = done.body.at("lease");
  EXPECT_EQ(lease.at("owner"), "gitlab");
  EXPECT_EQ(lease.at("holder"), "job 17");
  EXPECT_DOUBLE_EQ(lease.at("expires").get<double>(), clock_.wall_seconds() + 1800);
  ASSERT_THAT(lease.at("nodes"), SizeIs(2));
  EXPECT_TRUE(lease.at("nodes").at(0).contains("host_keys"));
  EXPECT_TRUE(lease.at("nodes").at(0).contains("connection_port"));
  EXPECT_EQ(lease, call("GET", "/api/v1/leases/" + placed.id(), "gitlab").body);
  EXPECT_THAT(run(launcher_.requests()), IsEmpty());
}

TEST_F(ApiTest, the_request_call_can_wait_for_its_result) {
  const Got placed = call("POST", "/api/v1/requests?wait=30s", "gitlab", kSmall);
  EXPECT_EQ(placed.status, 201);
  EXPECT_EQ(placed.body.at("state"), "fulfilled");
}

TEST_F(ApiTest, a_waiting_request_reports_its_state_and_survives_its_launcher) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  const Got placed = call("POST", "/api/v1/requests", "gitlab", kSmall);
  EXPECT_EQ(placed.body.at("state"), "requested");
  EXPECT_EQ(placed.body.at("position"), 1);
  run(first_->die());
  settle();
  EXPECT_THAT(run(launcher_.requests()), SizeIs(1));
  const std::string path = "/api/v1/requests/" + placed.id();
  EXPECT_EQ(call(*second_, request("GET", path, "gitlab")).body.at("state"), "requested");
}

TEST_F(ApiTest, another_launcher_leases_the_nodes_if_the_first_one_dies) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  const Got placed = call("POST", "/api/v1/requests", "gitlab", kSmall);
  run(first_->die());
  run(launcher_.fulfil_now(placed.id()));
  pass(seconds(3));
  const Got done = call(*second_, request("GET", "/api/v1/leases/" + placed.id(), "gitlab"));
  EXPECT_EQ(done.status, 200) << done.text;
  EXPECT_EQ(done.body.at("owner"), "gitlab");
}

TEST_F(ApiTest, every_launcher_answers_for_every_other) {
  const Got done = leased("gitlab");
  const std::string path = "/api/v1/leases/" + done.id();
  EXPECT_EQ(call(*second_, request("GET", path, "gitlab")).body, done.body.at("lease"));
  EXPECT_EQ(call(*second_, request("POST", path + "/renew", "gitlab", {{"lease", 60}})).status,
            200);
  EXPECT_EQ(call(*second_, request("DELETE", path, "gitlab")).status, 204);
  settle();
  EXPECT_EQ(call("GET", path, "gitlab").status, 404);
}

TEST_F(ApiTest, a_lease_is_renewed_from_now_on) {
  const Got done = leased("gitlab");
  pass(minutes(10));
  const Got renewed =
      call("POST", "/api/v1/leases/" + done.id() + "/renew", "gitlab", {{"lease", "1h"}});
  EXPECT_DOUBLE_EQ(renewed.body.at("expires").get<double>(), clock_.wall_seconds() + 3600);
}

TEST_F(ApiTest, nodes_are_released_one_by_one_or_all_at_once) {
  const Got done = leased("gitlab", {{"labels", {"small", "small", "small"}}});
  const std::string path = "/api/v1/leases/" + done.id();
  const json& nodes = done.body.at("lease").at("nodes");
  const std::string one = nodes.at(1).at("id");
  EXPECT_EQ(call("DELETE", path + "?node=" + one, "gitlab").status, 204);
  settle();
  EXPECT_EQ(node(one).state, model::NodeState::used);
  EXPECT_THAT(call("GET", path, "gitlab").body.at("nodes"), SizeIs(2));
  EXPECT_EQ(call("DELETE", path + "?node=" + one, "gitlab").status, 404);
  EXPECT_EQ(call("DELETE", path, "gitlab").status, 204);
  settle();
  for (const json& each : nodes) {
    EXPECT_EQ(node(each.at("id")).state, model::NodeState::used);
  }
}

TEST_F(ApiTest, a_lease_can_be_held) {
  const Got done = leased("gitlab", {{"labels", {"small", "small"}}});
  const std::string path = "/api/v1/leases/" + done.id();
  const std::string first = done.body.at("lease").at("nodes").at(0).at("id");
  const std::string second = done.body.at("lease").at("nodes").at(1).at("id");
  EXPECT_EQ(call("POST", path + "/hold", "viewer").status, 403);
  EXPECT_EQ(call("POST", path + "/hold", "gitlab", {{"nodes", {"1"}}}).status, 404);
  const Got held =
      call("POST", path + "/hold", "gitlab", {{"nodes", {second}}, {"reason", "it broke"}});
  EXPECT_EQ(held.status, 204) << held.text;
  settle();
  EXPECT_EQ(node(second).state, model::NodeState::hold);
  EXPECT_EQ(node(second).comment, "it broke");
  EXPECT_THAT(call("GET", path, "gitlab").body.at("nodes"), SizeIs(1));
  EXPECT_EQ(call("DELETE", path, "gitlab").status, 204);
  settle();
  EXPECT_EQ(node(first).state, model::NodeState::used);
  EXPECT_EQ(node(second).state, model::NodeState::hold);
}

TEST_F(ApiTest, held_nodes_count_until_their_hold_ends) {
  const Got done = leased("jenkins", {{"labels", {"small", "small", "small"}}});
  const std::string id = done.body.at("lease").at("nodes").at(0).at("id");
  const std::string path = "/api/v1/leases/" + done.id();
  EXPECT_EQ(call("POST", path + "/hold", "jenkins", {{"duration", "61m"}}).status, 422);
  EXPECT_EQ(call("POST", path + "/hold", "jenkins", {{"duration", "10m"}}).status, 204);
  settle();
  EXPECT_EQ(node(id).hold_expiration, 600);
  // Held nodes are not part of the lease, but still count for jenkins.
  EXPECT_EQ(call("GET", "/api/v1/client", "jenkins").body.at("nodes"), 3);
  EXPECT_EQ(call("POST", "/api/v1/requests", "jenkins", kSmall).status, 403);
  EXPECT_EQ(call("DELETE", "/api/v1/nodes/" + id + "/hold", "gitlab").status, 403);
  EXPECT_EQ(call("DELETE", "/api/v1/nodes/" + id + "/hold", "jenkins").status, 204);
  settle();
  EXPECT_EQ(node(id).state, model::NodeState::used);
  EXPECT_EQ(call("DELETE", "/api/v1/nodes/" + id + "/hold", "jenkins").status, 404);
  EXPECT_EQ(call("POST", "/api/v1/requests", "jenkins", kSmall).status, 201);
}

TEST_F(ApiTest, a_held_node_shows_its_login_data_to_its_owner) {
  const Got done = leased("gitlab");
  const std::string id = done.body.at("lease").at("nodes").at(0).at("id");
  const std::string path = "/api/v1/nodes/" + id;
  EXPECT_FALSE(call("GET", path, "gitlab").body.contains("login")) << "the lease has it";
  EXPECT_EQ(call("POST", "/api/v1/leases/" + done.id() + "/hold", "gitlab").status, 204);
  // At once: the call returns when this launcher knows of the hold.
  const json login = call("GET", path, "gitlab").body.at("login");
  EXPECT_EQ(login.at("id"), id);
  EXPECT_EQ(login.at("label"), "small");
  EXPECT_TRUE(login.contains("host_keys"));
  EXPECT_EQ(login.at("hold_expiration"), 24 * 3600);
  EXPECT_TRUE(call("GET", path, "boss").body.contains("login"));
  for (const char* other : {"jenkins", "viewer", ""}) {
    EXPECT_FALSE(call("GET", path, other).body.contains("login")) << other;
  }
}

TEST_F(ApiTest, a_hold_ends_after_a_day_or_what_a_lease_may_last) {
  const std::string jenkins = leased("jenkins").id();
  EXPECT_EQ(call("POST", "/api/v1/leases/" + jenkins + "/hold", "jenkins").status, 204);
  const std::string gitlab = leased("gitlab").id();
  EXPECT_EQ(call("POST", "/api/v1/leases/" + gitlab + "/hold", "gitlab").status, 204);
  settle();
  std::vector<std::int64_t> ends;
  for (const auto& [id, node] : first_->records().nodes.all()) {
    ends.push_back(node.hold_expiration.value_or(0));
  }
  EXPECT_THAT(ends, testing::ElementsAre(3600, 24 * 3600));
}

TEST_F(ApiTest, renewals_add_up_to_no_more_than_a_lease_may_last) {
  const std::string path = "/api/v1/leases/" + leased("jenkins").id() + "/renew";
  const double begun = clock_.wall_seconds();
  pass(std::chrono::minutes(40));
  const Got renewed = call("POST", path, "jenkins", {{"lease", "30m"}});
  EXPECT_EQ(renewed.status, 200) << renewed.text;
  EXPECT_NEAR(renewed.body.at("expires").get<double>(), begun + 3600, 5);
  pass(std::chrono::minutes(10));
  EXPECT_EQ(call("POST", path, "jenkins").body.at("expires"), renewed.body.at("expires"));
}

TEST_F(ApiTest, the_maximum_lease_of_the_launcher_applies_to_all_tokens) {
  first_->max_lease = std::chrono::minutes(10);
  EXPECT_EQ(
      call("POST", "/api/v1/requests", "gitlab", {{"labels", {"small"}}, {"lease", "24h"}}).status,
      422);
  const Got done = leased("gitlab");
  EXPECT_NEAR(done.body.at("lease").at("expires").get<double>(), clock_.wall_seconds() + 600, 60);
  EXPECT_EQ(
      call("POST", "/api/v1/leases/" + done.id() + "/renew", "gitlab", {{"lease", "7d"}}).status,
      422);
}

TEST_F(ApiTest, giving_up_withdraws_a_request_that_waits_and_releases_one_that_does_not) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  const Got waiting = call("POST", "/api/v1/requests", "gitlab", kSmall);
  EXPECT_EQ(call("DELETE", "/api/v1/requests/" + waiting.id(), "gitlab").status, 204);
  EXPECT_THAT(run(launcher_.requests()), IsEmpty());
  EXPECT_EQ(call("GET", "/api/v1/requests/" + waiting.id(), "gitlab").status, 404);
  launcher_.react(LauncherDouble::Reaction::fulfil);
  const Got done = leased("gitlab");
  EXPECT_EQ(call("DELETE", "/api/v1/requests/" + done.id(), "gitlab").status, 204);
  settle();
  EXPECT_EQ(node(done.body.at("lease").at("nodes").at(0).at("id")).state, model::NodeState::used);
}

TEST_F(ApiTest, a_failed_request_reports_its_reasons_for_a_while) {
  launcher_.react(LauncherDouble::Reaction::decline);
  run(launcher_.add_pool("rack", {"small"}));
  const Got placed = call("POST", "/api/v1/requests?wait=5s", "gitlab", kSmall);
  EXPECT_EQ(placed.body.at("state"), "failed");
  EXPECT_THAT(placed.body.at("declined"), SizeIs(1));
  pass(seconds(590));
  EXPECT_EQ(call("GET", "/api/v1/requests/" + placed.id(), "gitlab").status, 200);
  pass(seconds(20));
  EXPECT_EQ(call("GET", "/api/v1/requests/" + placed.id(), "gitlab").status, 404);
  EXPECT_THAT(run(launcher_.requests()), IsEmpty());
}

TEST_F(ApiTest, a_request_says_why_no_pool_can_serve_it) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  run(launcher_.add_pool("rack", {"small"}));
  run(launcher_.add_pool("cloud", {"large"}));
  settle();
  const auto shortage = [this](const json& labels) {
    return call("POST", "/api/v1/requests", "gitlab", {{"labels", labels}}).body.at("shortage");
  };
  EXPECT_EQ(shortage({"small", "small"}), nullptr);
  EXPECT_EQ(shortage({"smal", "large", "smal"}), "no pool offers smal; did you mean `small`?");
  EXPECT_THAT(shortage({"small", "large"}), HasSubstr("come from one pool"));
  launcher_.react(LauncherDouble::Reaction::fulfil);
  EXPECT_EQ(leased("gitlab", {{"labels", {"huge"}}}).body.at("shortage"), nullptr);
}

TEST_F(ApiTest, a_request_is_withdrawn_at_its_timeout) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  json body = kSmall;
  body["timeout"] = "90s";
  call("POST", "/api/v1/requests", "gitlab", body);
  pass(seconds(88));
  EXPECT_THAT(run(launcher_.requests()), SizeIs(1));
  pass(seconds(4));
  EXPECT_THAT(run(launcher_.requests()), IsEmpty());
}

TEST_F(ApiTest, a_node_that_vanishes_before_it_is_leased_is_requested_again) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  const Got placed = call("POST", "/api/v1/requests", "gitlab", kSmall);
  run(launcher_.fulfil_with(placed.id(), {"0000009999"}));
  settle();
  const std::string path = "/api/v1/requests/" + placed.id();
  EXPECT_EQ(call("GET", path, "gitlab").body.at("state"), "requested");
  run(launcher_.fulfil_now(placed.id()));
  pass(seconds(2));
  EXPECT_EQ(call("GET", path, "gitlab").body.at("state"), "fulfilled");
}

TEST_F(ApiTest, an_idempotency_key_is_valid_at_every_launcher) {
  json body = kSmall;
  body["idempotency_key"] = "pipeline 4711";
  const Got first = call("POST", "/api/v1/requests", "gitlab", body);
  const Got again = call(*second_, request("POST", "/api/v1/requests", "gitlab", body));
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(first.id(), again.id());
  // Keys of different clients are independent.
  EXPECT_NE(call("POST", "/api/v1/requests", "boss", body).id(), first.id());
  body["labels"] = {"large"};
  launcher_.react(LauncherDouble::Reaction::ignore);
  call("DELETE", "/api/v1/requests/" + first.id(), "gitlab");
  settle();
  const Got ended = call("POST", "/api/v1/requests", "gitlab", body);
  EXPECT_EQ(ended.status, 409);
}

TEST_F(ApiTest, a_key_of_a_request_or_lease_for_other_labels_is_refused) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  const auto place = [this](const json& labels) {
    const json body = {{"labels", labels}, {"idempotency_key", "pipeline 4711"}};
    return call("POST", "/api/v1/requests", "gitlab", body);
  };
  const std::string id = place({"small", "large"}).id();
  const auto expect_refusals = [&] {
    for (const json& other :
         {json::array({"small"}), json::array({"large"}), json::array({"large", "small"})}) {
      const Got refused = place(other);
      EXPECT_EQ(refused.status, 409) << refused.text;
      EXPECT_THAT(refused.text, HasSubstr("key belongs to " + id + " for small, large"));
    }
    EXPECT_EQ(place({"small", "large"}).id(), id);
  };
  expect_refusals();
  EXPECT_EQ(place({"small", "large", "small"}).status, 409);
  run(launcher_.fulfil_now(id));
  pass(seconds(3));
  const Got lease = call("GET", "/api/v1/leases/" + id, "gitlab");
  ASSERT_EQ(lease.status, 200);
  expect_refusals();
  // The labels of released nodes are not known.
  const std::string first = lease.body.at("nodes").at(0).at("id");
  EXPECT_EQ(call("DELETE", "/api/v1/leases/" + id + "?node=" + first, "gitlab").status, 204);
  settle();
  EXPECT_EQ(place({"small", "large"}).id(), id);
  EXPECT_EQ(place({"small", "small"}).status, 409);
}

TEST_F(ApiTest, concurrent_calls_with_the_same_key_create_one_request) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  json body = kSmall;
  body["idempotency_key"] = "pipeline 4711";
  std::vector<Got> answers;
  async::TaskScope clients(runtime_, [](const auto& name, const auto& error) {
    ADD_FAILURE() << name << ": " << error;
  });
  const auto ask = [](ApiServer& server, web::Request request,
                      std::vector<Got>& answers) -> async::Task<> {
    answers.push_back(got(co_await server.api().answer(std::move(request))));
  };
  clients.spawn("one", ask(*first_, request("POST", "/api/v1/requests", "gitlab", body), answers));
  clients.spawn("two", ask(*second_, request("POST", "/api/v1/requests", "gitlab", body), answers));
  run(clients.join());
  ASSERT_THAT(answers, SizeIs(2));
  EXPECT_EQ(answers[0].id(), answers[1].id());
  EXPECT_THAT(run(launcher_.requests()), SizeIs(1));
}

TEST_F(ApiTest, a_client_has_no_more_nodes_and_no_longer_leases_than_it_may) {
  EXPECT_EQ(
      call("POST", "/api/v1/requests", "jenkins", {{"labels", {"small"}}, {"lease", "61m"}}).status,
      422);
  const Got two = leased("jenkins", {{"labels", {"small", "small"}}});
  EXPECT_DOUBLE_EQ(two.body.at("lease").at("expires").get<double>(), clock_.wall_seconds() + 3600);
  const json more = {{"labels", {"small", "small"}}};
  const Got refused = call("POST", "/api/v1/requests", "jenkins", more);
  EXPECT_EQ(refused.status, 403);
  EXPECT_TRUE(refused.headers.contains("Retry-After")) << "it has nodes to release";
  EXPECT_EQ(call("GET", "/api/v1/client", "jenkins").body.at("nodes"), 2);
  call("DELETE", "/api/v1/leases/" + two.id(), "jenkins");
  settle();
  EXPECT_EQ(call("POST", "/api/v1/requests", "jenkins", more).status, 201);
  const json too_many = {{"labels", {"small", "small", "small", "small"}}};
  const Got never = call("POST", "/api/v1/requests", "jenkins", too_many);
  EXPECT_EQ(never.status, 403);
  EXPECT_FALSE(never.headers.contains("Retry-After"));
}

TEST_F(ApiTest, a_request_that_gets_another_owner_counts_for_that_one_only) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  const Got placed = call("POST", "/api/v1/requests", "gitlab", kSmall);
  const auto nodes_of = [this](const std::string& client) {
    return call("GET", "/api/v1/client", client).body.at("nodes").get<int>();
  };
  EXPECT_EQ(nodes_of("gitlab"), 1);
  model::NodeRequest request = *first_->records().requests.find(placed.id());
  model::LeaseRequest lease_request = model::lease_request_of(request).value();
  lease_request.owner = "boss";
  request.requestor_data = model::lease_request_data(lease_request);
  run(launcher_store_.set(model::request_path(request.id), model::to_record(request),
                          request.stat.version));
  settle();
  EXPECT_EQ(nodes_of("boss"), 1);
  EXPECT_EQ(nodes_of("gitlab"), 0);
  EXPECT_EQ(call("DELETE", "/api/v1/requests/" + placed.id(), "boss").status, 204);
  settle();
  EXPECT_EQ(nodes_of("boss"), 0);
  EXPECT_EQ(nodes_of("gitlab"), 0);
}

TEST_F(ApiTest, calls_over_the_rate_limit_are_rejected) {
  Got last;
  int calls = 0;
  for (; calls < 500 && last.status != 429; ++calls) last = call("GET", "/api/v1/client", "gitlab");
  EXPECT_EQ(last.status, 429);
  EXPECT_EQ(last.headers.at("Retry-After"), "1");
  EXPECT_EQ(call("GET", "/api/v1/client", "boss").status, 200);
  clock_.advance_by(seconds(1));
  EXPECT_EQ(call("GET", "/api/v1/client", "gitlab").status, 200);
}

TEST_F(ApiTest, unauthenticated_calls_are_rate_limited_by_address) {
  const auto look = [this](const std::string& address) {
    web::Request asked = request("GET", "/api/v1/client", "");
    asked.peer = {.address = address};
    return call(*first_, asked).status;
  };
  unsigned last = 0;
  for (int calls = 0; calls < 5000 && last != 429; ++calls) last = look("2001:db8::1");
  EXPECT_EQ(last, 429U);
  EXPECT_EQ(look("2001:db8::2"), 429U) << "it is the same network";
  EXPECT_EQ(look("2001:db8:0:1::1"), 200U);
  EXPECT_EQ(look("192.0.2.1"), 200U);
}

TEST_F(ApiTest, long_lists_without_a_token_count_as_several_calls) {
  model::Node node;
  node.set_state(model::NodeState::ready, clock_.wall_seconds());
  node.type = {"small"};
  for (int i = 0; i < 400; ++i) run(launcher_.add_node(node));
  settle();
  const auto status = [this](const std::string& target) {
    web::Request asked = request("GET", target, "");
    asked.peer = {.address = "192.0.2.1"};
    return call(*first_, asked).status;
  };
  const std::string cheap = "/api/v1/client";
  const auto use_up = [&status, &cheap] {
    for (int calls = 0; calls < 5000 && status(cheap) != 429; ++calls) {
    }
  };
  constexpr auto kFourCalls = std::chrono::milliseconds(20);
  use_up();
  clock_.advance_by(kFourCalls);
  EXPECT_EQ(status(cheap), 200);
  EXPECT_EQ(status(cheap), 200);
  const std::string list = "/api/v1/nodes?limit=1000";
  use_up();
  clock_.advance_by(kFourCalls);
  EXPECT_EQ(status(list), 200);
  EXPECT_EQ(status(cheap), 429);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(call("GET", list, "viewer").status, 200);
}

TEST(PaceTest, a_charge_delays_the_next_call) {
  TokenBucket bucket;
  EXPECT_TRUE(bucket.allows("a", 1, 100));
  bucket.charge("a", 12, 1, 100);
  EXPECT_FALSE(bucket.allows("a", 1, 103.5));
  EXPECT_TRUE(bucket.allows("a", 1, 104));
  EXPECT_TRUE(bucket.allows("b", 1, 100)) << "it has its own";
}

TEST_F(ApiTest, explanations_for_clients_without_a_token_are_limited_while_they_wait) {
  first_->explanation_time = seconds(5);
  async::TaskScope scope(runtime_, [](const auto& name, const auto& error) {
    ADD_FAILURE() << name << ": " << error;
  });
  const std::string path = "/api/v1/explain/small";
  std::vector<std::optional<web::Response>> responses(100);
  for (std::optional<web::Response>& response : responses) {
    scope.spawn("call", answer(*first_, request("GET", path, ""), response));
  }
  settle();
  std::optional<web::Response> with_token;
  scope.spawn("call", answer(*first_, request("GET", path, "viewer"), with_token));
  settle();
  std::size_t refused = 0;
  for (const std::optional<web::Response>& response : responses) {
    if (!response) continue;
    ++refused;
    EXPECT_EQ(response->status, 503);
    EXPECT_EQ(got(*response).headers.at("Retry-After"), "1");
  }
  EXPECT_GT(refused, 0U);
  EXPECT_LT(refused, responses.size());
  EXPECT_FALSE(with_token) << "it waits for its turn";
  pass(seconds(6));
  run(scope.join());
  ASSERT_TRUE(with_token);
  EXPECT_EQ(with_token->status, 200);
  EXPECT_EQ(call("GET", path, "").status, 200);
}

TEST(PaceTest, memory_for_rate_limits_is_bounded) {
  TokenBucket bucket;
  const auto others_share = [&bucket](double now) {
    bool is_allowed = true;
    for (int i = 0; i < 10'100; ++i) {
      is_allowed = bucket.allows(std::to_string(now) + " " + std::to_string(i), 1, now);
    }
    return !is_allowed;
  };
  EXPECT_TRUE(others_share(100));
  EXPECT_TRUE(others_share(200)) << "full buckets are removed";
  EXPECT_TRUE(bucket.allows("200.000000 7", 1, 200)) << "a known client keeps its bucket";
}

TEST_F(ApiTest, refusals_are_counted_and_not_logged_one_by_one) {
  const std::string path = "/api/v1/leases/" + std::string(10'000, 'x');
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(call("DELETE", path, "").status, 401U);
    EXPECT_EQ(call("DELETE", path, "unknown").status, 401U);
  }
  EXPECT_THAT(audit_, SizeIs(1));  // the wrong token
  ASSERT_THAT(first_->lines(), SizeIs(1));
  EXPECT_THAT(first_->lines()[0], testing::StartsWith("Calls refused with 401: DELETE /api/v1/"));
  EXPECT_LT(first_->lines()[0].size(), 300U);
  pass(seconds(61));
  ASSERT_THAT(first_->lines(), SizeIs(2));
  EXPECT_THAT(first_->lines()[1], HasSubstr("refused with 401: 9 times more"));
  EXPECT_EQ(call("DELETE", path, "gitlab").status, 404U);
  ASSERT_THAT(audit_, SizeIs(3));
  for (const std::string& line : audit_) EXPECT_LT(line.size(), 300U);
}

TEST_F(ApiTest, a_form_is_refused_as_a_whole) {
  web::Request form = request("POST", "/api/v1/requests", "gitlab");
  form.body = "labels=small&wait=60s";
  form.has_form = true;
  const Got answer = call(*first_, form);
  EXPECT_EQ(answer.status, 415U);
  EXPECT_THAT(answer.body.at("detail"), HasSubstr("send JSON"));
}

TEST_F(ApiTest, a_parameter_that_the_call_does_not_have_is_refused) {
  const Got done = leased("gitlab", {{"labels", {"small", "small"}}});
  const std::string path = "/api/v1/leases/" + done.id();
  const std::string node = done.body.at("lease").at("nodes").at(0).at("id");
  const Got refused = call("DELETE", path + "?nodes=" + node, "gitlab");
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.text, HasSubstr("Unknown parameter `nodes`"));
  EXPECT_THAT(call("GET", path, "gitlab").body.at("nodes"), SizeIs(2));
  EXPECT_EQ(call("GET", "/api/v1/nodes?limit=5&after=0&label=a&state=hold&provider=b", "").status,
            200);
  EXPECT_EQ(call("GET", "/api/v1/labels?limit=1000", "").status, 200);
}

TEST_F(ApiTest, every_change_is_written_down_and_no_token_is) {
  const Got done = leased("gitlab");
  call("POST", "/api/v1/leases/" + done.id() + "/renew", "boss");
  call("DELETE", "/api/v1/leases/" + done.id(), "viewer");
  ASSERT_THAT(audit_, SizeIs(3));
  EXPECT_THAT(audit_[0], HasSubstr("gitlab from 127.0.0.1: POST /api/v1/requests: 201, placed " +
                                   done.id() + " [small]"));
  EXPECT_THAT(audit_[1], HasSubstr("boss from 127.0.0.1: POST /api/v1/leases/"));
  EXPECT_THAT(audit_[2], HasSubstr("viewer from 127.0.0.1: DELETE"));
  for (const std::string& line : audit_) EXPECT_THAT(line, Not(HasSubstr("secret")));
}

TEST_F(ApiTest, no_client_can_write_lines_of_the_audit_log) {
  const std::string forged = "\nboss from 127.0.0.1: DELETE /api/v1/nodes/1: 204";
  const Got failed = call("POST", "/api/v1/requests", "gitlab", {{"labels", {"x" + forged}}});
  EXPECT_EQ(failed.status, 201);
  call("DELETE", "/api/v1/leases/1%0Aboss", "gitlab");
  ASSERT_THAT(audit_, SizeIs(2));
  EXPECT_THAT(audit_[0], HasSubstr(R"([x\x0aboss from)"));
  EXPECT_THAT(audit_[1], HasSubstr(R"(DELETE /api/v1/leases/1\x0aboss)"));
  for (const std::string& line : audit_) EXPECT_THAT(line, Not(HasSubstr("\n")));
}

TEST_F(ApiTest, a_request_is_written_down_when_it_is_placed_and_once) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  std::optional<web::Response> response;
  async::TaskScope scope(runtime_, [](const auto& name, const auto& error) {
    ADD_FAILURE() << name << ": " << error;
  });
  const std::string target = "/api/v1/requests?wait=60s";
  scope.spawn("call", answer(*first_, request("POST", target, "gitlab", kSmall), response));
  settle();
  EXPECT_FALSE(response) << "it waits";
  ASSERT_THAT(audit_, SizeIs(1));
  EXPECT_THAT(audit_[0], HasSubstr("gitlab from 127.0.0.1: POST /api/v1/requests"));
  EXPECT_THAT(audit_[0], HasSubstr(": 201, placed "));
  pass(seconds(61));
  EXPECT_TRUE(response);
  EXPECT_THAT(audit_, SizeIs(1));
  run(scope.join());
}

TEST_F(ApiTest, malformed_requests_get_an_error_that_names_the_fault) {
  const auto problem = [this](const json& body) {
    const Got answer = call("POST", "/api/v1/requests", "gitlab", body);
    EXPECT_EQ(answer.headers.at("Content-Type"), "application/problem+json");
    EXPECT_EQ(answer.body.at("status"), answer.status);
    return answer.body.at("detail").get<std::string>();
  };
  EXPECT_THAT(problem({{"label", "small"}}), HasSubstr("`labels`"));
  EXPECT_THAT(problem({{"labels", "small"}}), HasSubstr("list of at most"));
  EXPECT_THAT(problem({{"labels", {"small"}}, {"lase", "1h"}}), HasSubstr("Unknown key `lase`"));
  EXPECT_THAT(problem({{"labels", {"small"}}, {"lease", "soon"}}), HasSubstr("`lease`"));
  EXPECT_THAT(problem({{"labels", {"small"}}, {"lease", -1}}), HasSubstr("`lease`"));
  EXPECT_THAT(problem({{"labels", {"small"}}, {"timeout", "2d"}}), HasSubstr("24 hours"));
  EXPECT_THAT(problem({{"labels", {"small"}}, {"priority", "urgent"}}), HasSubstr("`priority`"));
  EXPECT_THAT(problem(json::array()), HasSubstr("JSON object"));
  web::Request broken = request("POST", "/api/v1/requests", "gitlab");
  broken.body = "{labels";
  EXPECT_EQ(call(*first_, broken).status, 400);
  EXPECT_EQ(call("GET", "/api/v1/requests/1-2?wait=ever", "gitlab").status, 422);
  EXPECT_EQ(call("GET", "/api/v1/nodes?limit=1000000", "gitlab").status, 422);
  EXPECT_EQ(call("GET", "/api/v1/nothing", "gitlab").status, 404);
  const Got wrong_method = call("PUT", "/api/v1/requests", "gitlab");
  EXPECT_EQ(wrong_method.status, 405);
  EXPECT_EQ(wrong_method.headers.at("Allow"), "POST, GET");
}

TEST_F(ApiTest, an_unreachable_store_is_reported_and_loses_nothing) {
  first_->store().suspend_for_tests();
  settle();
  const Got answer = call("POST", "/api/v1/requests", "gitlab", kSmall);
  EXPECT_EQ(answer.status, 503);
  EXPECT_TRUE(answer.headers.contains("Retry-After"));
  first_->store().resume_for_tests();
  settle();
  EXPECT_EQ(call("POST", "/api/v1/requests", "gitlab", kSmall).status, 201);
}

TEST_F(ApiTest, tokens_are_read_again_when_their_file_changes) {
  EXPECT_EQ(call("GET", "/api/v1/client", "newcomer").status, 401);
  token("newcomer", "scope: read");
  write_tokens();
  for (int i = 0; i < 1000 && call("GET", "/api/v1/client", "newcomer").status == 401; ++i) {
    clock_.advance_by(std::chrono::milliseconds(100));
    settle();
  }
  EXPECT_EQ(call("GET", "/api/v1/client", "newcomer").status, 200);
}

// The file has a second name in another directory: the kernel reports changes to those who watch
// that one.
TEST_F(ApiTest, a_token_is_revoked_also_if_the_kernel_does_not_report_the_change) {
  std::filesystem::create_directory(directory_.path() / "elsewhere");
  const std::filesystem::path elsewhere = directory_.path() / "elsewhere" / "tokens.yaml";
  std::filesystem::create_hard_link(token_file_, elsewhere);
  settle();
  EXPECT_EQ(call("GET", "/api/v1/client", "viewer").status, 200);
  drop_token("viewer");
  directory_.write("elsewhere/tokens.yaml", "tokens:\n" + tokens_);
  pass(seconds(11));
  EXPECT_EQ(call("GET", "/api/v1/client", "viewer").status, 401);
  EXPECT_EQ(call("GET", "/api/v1/client", "gitlab").status, 200);
}

TEST_F(ApiTest, lists_come_in_pages) {
  for (int i = 0; i < 5; ++i) leased("gitlab");
  const Got first = call("GET", "/api/v1/leases?limit=3", "gitlab");
  EXPECT_THAT(first.body.at("leases"), SizeIs(3));
  const Got rest = call("GET", first.body.at("next"), "gitlab");
  EXPECT_THAT(rest.body.at("leases"), SizeIs(2));
  EXPECT_FALSE(rest.body.contains("next"));
  const Got nodes = call("GET", "/api/v1/nodes?limit=2&label=small&state=in-use", "gitlab");
  EXPECT_THAT(nodes.body.at("nodes"), SizeIs(2));
  EXPECT_TRUE(nodes.body.contains("next"));
  EXPECT_EQ(nodes.body.at("nodes").at(0).at("age_seconds"), 0);
  const Got mistyped = call("GET", "/api/v1/nodes?state=redy", "gitlab");
  EXPECT_EQ(mistyped.status, 422);
  EXPECT_THAT(mistyped.text, HasSubstr("one of init, building, testing, ready, in-use"));
}

TEST_F(ApiTest, a_stream_sends_each_change_until_the_request_ends) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  const Got placed = call("POST", "/api/v1/requests", "gitlab", kSmall);
  const web::Response response = run(first_->api().answer(
      request("GET", "/api/v1/requests/" + placed.id() + "/events", "gitlab")));
  ASSERT_TRUE(response.stream);
  Sink sink;
  async::TaskScope scope(runtime_, [](const auto& name, const auto& error) {
    ADD_FAILURE() << name << ": " << error;
  });
  scope.spawn("stream", response.stream(sink));
  settle();
  ASSERT_THAT(sink.parts, SizeIs(1));
  EXPECT_THAT(sink.parts[0], testing::StartsWith("event: request\ndata: {\"id\":"));
  pass(seconds(16));
  EXPECT_EQ(sink.parts.back(), ":\n\n");
  run(launcher_.fulfil_now(placed.id()));
  pass(seconds(3));
  EXPECT_THAT(sink.parts.back(), HasSubstr("\"state\":\"fulfilled\""));
  EXPECT_TRUE(scope.empty());
  run(scope.join());
}

TEST_F(ApiTest, waiting_calls_end_when_their_token_is_revoked) {
  token("leaver", "scope: request");
  token("guest", "scope: read, expires: 2023-11-15");
  write_tokens();
  while (call("GET", "/api/v1/client", "guest").status == 401) pass(seconds(1));
  launcher_.react(LauncherDouble::Reaction::ignore);
  const Got placed =
      call("POST", "/api/v1/requests", "leaver", {{"labels", {"small"}}, {"timeout", "24h"}});
  const std::string path = "/api/v1/requests/" + placed.id();
  std::map<std::string, Sink> sinks;
  std::vector<web::Response> streams;
  streams.reserve(3);
  async::TaskScope scope(runtime_, [](const auto& name, const auto& error) {
    ADD_FAILURE() << name << ": " << error;
  });
  std::map<std::string, bool> is_over;
  const auto follow = [](web::Stream stream, web::StreamSink& sink, bool& over) -> async::Task<> {
    async::Task<> streaming = stream(sink);
    co_await std::move(streaming);
    over = true;
  };
  for (const std::string client : {"leaver", "guest", "gitlab"}) {
    streams.push_back(run(first_->api().answer(request("GET", path + "/events", client))));
    scope.spawn("stream", follow(streams.back().stream, sinks[client], is_over[client]));
  }
  std::optional<web::Response> waited;
  scope.spawn("wait", answer(*first_, request("GET", path + "?wait=60s", "leaver"), waited));
  settle();
  EXPECT_EQ(sinks["leaver"].parts.size(), 1U);
  drop_token("leaver");
  write_tokens();
  while (!waited || !is_over["leaver"]) pass(seconds(1));
  EXPECT_EQ(waited->status, 401);
  EXPECT_FALSE(is_over["guest"]);
  pass(std::chrono::hours(2));  // it was 22:13 on the day before
  EXPECT_TRUE(is_over["guest"]);
  EXPECT_FALSE(is_over["gitlab"]);
  scope.cancel();
  run(scope.join());
}

TEST_F(ApiTest, wrong_tokens_are_in_the_audit_log_by_address) {
  const auto from = [this](const std::string& address, const std::string& client) {
    web::Request each = request("GET", "/api/v1/nodes", client);
    each.peer.address = address;
    return call(*first_, each).status;
  };
  for (int i = 0; i < 100; ++i) EXPECT_EQ(from("192.0.2.1", "stranger"), 401);
  EXPECT_EQ(from("192.0.2.2", "stranger"), 401);
  EXPECT_EQ(audit_, (std::vector<std::string>{"Wrong token from 192.0.2.1: GET /api/v1/nodes",
                                              "Wrong token from 192.0.2.2: GET /api/v1/nodes"}));
  pass(seconds(60));
  EXPECT_EQ(audit_.back(),
            "Wrong token from 192.0.2.1: 99 times more within a minute; the last: "
            "GET /api/v1/nodes");
}

TEST_F(ApiTest, stored_texts_have_a_maximum_length) {
  const std::string longest(256, 'x');
  const std::string longer = longest + "x";
  const auto status = [this](const std::string& key, const json& value) {
    json body = kSmall;
    body[key] = value;
    return call("POST", "/api/v1/requests", "gitlab", body).status;
  };
  EXPECT_EQ(status("holder", longest), 201);
  EXPECT_EQ(status("holder", longer), 422);
  EXPECT_EQ(status("labels", json{longest}), 201);
  EXPECT_EQ(status("labels", json{longer}), 422);
  EXPECT_EQ(status("idempotency_key", longer), 422);
  web::Request keyed = request("POST", "/api/v1/requests", "gitlab", kSmall);
  keyed.headers["idempotency-key"] = longer;
  EXPECT_EQ(call(*first_, keyed).status, 422);
}

TEST_F(ApiTest, the_description_has_every_call_and_no_other) {
  const Got description = call("GET", "/api/v1/openapi.json", "");
  std::set<std::string> described;
  for (const auto& [path, methods] : description.body.at("paths").items()) {
    for (const auto& [method, operation] : methods.items()) {
      std::string name = method;
      for (char& letter : name) letter = static_cast<char>(std::toupper(letter));
      described.insert(name + " " + path);
    }
  }
  const std::vector<std::string> calls = Api::calls();
  EXPECT_EQ(described, std::set<std::string>(calls.begin(), calls.end()));
}

}  // namespace
}  // namespace nodepool::api
