// Calls of the request API while other processes change the same records, at each moment.

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "model/lease.h"
#include "model/paths.h"
#include "tests/api/api_test.h"

namespace nodepool::api {
namespace {

using requestor::LauncherDouble;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class ApiMomentsTest : public ApiTest {
 protected:
  static void fail(const std::string& name, const std::string& error) {
    ADD_FAILURE() << name << ": " << error;
  }

  // Makes the call at a launcher that loses the store at this moment. Returns whether the response
  // says that nothing has been changed. Sets `is_over` if there was a response before.
  bool is_reported_unchanged(web::Request change, std::size_t moment, bool& is_over) {
    std::optional<web::Response> response;
    async::TaskScope scope(runtime_, fail);
    scope.spawn("call", answer(*first_, std::move(change), response));
    loop_.poll(moment);
    is_over = response.has_value();
    first_->store().suspend_for_tests();
    while (!response) pass(seconds(1));
    run(scope.join());
    first_->store().resume_for_tests();
    pass(seconds(1));
    return got(*response).text.find("nothing has been changed") != std::string::npos;
  }

  // How many nodes of the lease of this response are still leased.
  std::size_t count_leased(const Got& done) {
    const json& nodes = done.body.at("lease").at("nodes");
    return static_cast<std::size_t>(std::ranges::count_if(nodes, [this](const json& each) {
      return node(each.at("id")).state == model::NodeState::in_use;
    }));
  }
};

TEST_F(ApiMomentsTest, a_fulfilled_answer_has_all_nodes_whatever_the_moment_of_the_call) {
  constexpr std::size_t kNodes = 600;  // more than a launcher reads at once
  launcher_.react(LauncherDouble::Reaction::ignore);
  const std::vector<std::string> labels(kNodes, "small");
  const Got placed = call("POST", "/api/v1/requests", "gitlab", {{"labels", labels}});
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < kNodes; ++i) {
    model::Node ready;
    ready.set_state(model::NodeState::ready, clock_.wall_seconds());
    ready.allocated_to = placed.id();
    ids.push_back(run(launcher_.add_node(ready)));
  }
  settle();
  const std::string path = "/api/v1/requests/" + placed.id();
  std::deque<std::optional<web::Response>> shown;
  async::TaskScope scope(runtime_, fail);
  scope.spawn("launcher", launcher_.fulfil_with(placed.id(), ids));
  do {
    scope.spawn("call", answer(*second_, request("GET", path, "gitlab"), shown.emplace_back()));
  } while (loop_.poll(300) == 300);
  while (!scope.empty()) pass(seconds(1));
  run(scope.join());
  for (const std::optional<web::Response>& each : shown) {
    const json lease = got(*each).body.value("lease", json());
    if (!lease.is_null()) EXPECT_THAT(lease.at("nodes"), SizeIs(kNodes));
  }
  EXPECT_THAT(call("GET", path, "gitlab").body.at("lease").at("nodes"), SizeIs(kNodes));
}

TEST_F(ApiMomentsTest, a_request_may_end_at_any_moment_between_the_end_of_a_wait_and_the_response) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  std::set<unsigned> statuses;
  bool is_answered = false;
  for (std::size_t moment = 0; !is_answered; ++moment) {
    const Got placed = call("POST", "/api/v1/requests", "gitlab", kSmall);
    std::optional<web::Response> response;
    async::TaskScope scope(runtime_, fail);
    const std::string target = "/api/v1/requests/" + placed.id() + "?wait=5s";
    scope.spawn("call", answer(*first_, request("GET", target, "gitlab"), response));
    settle();
    clock_.advance_by(seconds(5));
    loop_.poll(moment);
    is_answered = response.has_value();
    first_->records().requests.removed(placed.id());
    while (!response) pass(seconds(1));
    statuses.insert(response->status);
    run(scope.join());
  }
  EXPECT_THAT(statuses, testing::ElementsAre(200, 404));
}

TEST_F(ApiMomentsTest,
       a_request_that_is_leased_during_an_outage_is_found_once_all_records_are_read) {
  constexpr int kNodes = 4000;  // reading them takes many steps
  coordination::Transaction others;
  for (int i = 0; i < kNodes; ++i) {
    others.create(model::node_path(""), to_record(model::Node()),
                  coordination::CreateMode::persistent_sequential);
  }
  server_.commit(operator_, others, 0);
  settle();
  launcher_.react(LauncherDouble::Reaction::ignore);
  const Got placed = call("POST", "/api/v1/requests", "gitlab", kSmall);
  std::optional<web::Response> response;
  async::TaskScope scope(runtime_, fail);
  const std::string target = "/api/v1/requests/" + placed.id() + "?wait=60s";
  scope.spawn("call", answer(*first_, request("GET", target, "gitlab"), response));
  settle();
  first_->store().suspend_for_tests();
  run(launcher_.fulfil_now(placed.id()));
  pass(seconds(3));
  EXPECT_EQ(node("0000004000").state, model::NodeState::in_use);
  EXPECT_FALSE(response);
  first_->store().resume_for_tests();
  // Time passes while the records are read.
  while (!response) {
    if (loop_.poll(500) == 0) clock_.advance_by(seconds(1));
    if (!first_->records().ready()) clock_.advance_by(std::chrono::milliseconds(501));
  }
  run(scope.join());
  const Got done = got(*response);
  EXPECT_EQ(done.status, 200) << done.text;
  EXPECT_EQ(done.body.value("state", ""), "fulfilled");
}

TEST_F(ApiMomentsTest, a_lease_that_arrives_late_at_a_launcher_is_found_there) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  for (const auto& [method, status] : {std::pair("GET", 200U), std::pair("DELETE", 204U)}) {
    const Got placed = call("POST", "/api/v1/requests", "gitlab", {{"labels", {"small", "small"}}});
    const std::string target = "/api/v1/leases/" + placed.id();
    std::optional<web::Response> response;
    async::TaskScope scope(runtime_, fail);
    scope.spawn("call", answer(*second_, request(method, target, "gitlab"), response));
    settle();
    EXPECT_FALSE(response) << method;
    run(launcher_.fulfil_now(placed.id()));
    while (!response) {
      if (!loop_.poll()) clock_.advance_by(std::chrono::milliseconds(10));
    }
    run(scope.join());
    EXPECT_EQ(response->status, status) << method;
  }
  const model::NodeTable& nodes = second_->records().nodes;
  settle();
  EXPECT_EQ(std::ranges::count(nodes.all(), model::NodeState::used,
                               [](const auto& each) { return each.second.state; }),
            2);
}

TEST_F(ApiMomentsTest, nodes_of_a_request_count_until_their_records_show_what_became_of_them) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  const json two = {{"labels", {"small", "small"}}};
  const Got placed = call("POST", "/api/v1/requests", "jenkins", two);
  std::vector<std::string> ids;
  for (int i = 0; i < 2; ++i) {
    model::Node ready;
    ready.set_state(model::NodeState::ready, clock_.wall_seconds());
    ready.allocated_to = placed.id();
    ids.push_back(run(launcher_.add_node(ready)));
  }
  settle();
  const auto counted = [this] {
    return call("GET", "/api/v1/client", "jenkins").body.at("nodes").get<int>();
  };
  EXPECT_EQ(counted(), 2);
  first_->records().requests.removed(placed.id());  // as if it was leased: the nodes arrive later
  EXPECT_EQ(counted(), 2);
  EXPECT_EQ(call("POST", "/api/v1/requests", "jenkins", two).status, 403);
  model::Node leased = node(ids.front());
  leased.set_state(model::NodeState::in_use, clock_.wall_seconds());
  leased.user_data = model::lease_user_data({.id = placed.id(),
                                             .expires = clock_.wall_seconds() + 600,
                                             .holder = "",
                                             .owner = "jenkins"});
  coordination::Stat written = leased.stat;
  ++written.mzxid;
  first_->records().nodes.written(leased, written);
  EXPECT_EQ(counted(), 2);
  for (const std::string& id : ids) first_->records().nodes.removed(id);
  EXPECT_EQ(counted(), 0);
  EXPECT_EQ(call("POST", "/api/v1/requests", "jenkins", two).status, 201);
}

TEST_F(ApiMomentsTest, a_release_that_others_prevent_is_refused) {
  const Got done = leased("gitlab");
  const std::string id = done.body.at("lease").at("nodes").at(0).at("id");
  async::TaskScope others(runtime_, fail);
  bool is_over = false;
  others.spawn("changes", keep_changing(model::node_path(id), is_over));
  const Got refused =
      got(run(first_->api().answer(request("DELETE", "/api/v1/leases/" + done.id(), "gitlab"))));
  is_over = true;
  run(others.join());
  EXPECT_EQ(refused.status, 409) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("is being changed by another process"));
  EXPECT_EQ(node(id).state, model::NodeState::in_use);
  settle();
  EXPECT_EQ(call("DELETE", "/api/v1/leases/" + done.id(), "gitlab").status, 204);
}

TEST_F(ApiMomentsTest, what_is_held_is_written_down_even_if_the_next_node_cannot_be) {
  const Got done = leased("gitlab", {{"labels", {"small", "small"}}});
  const json& nodes = done.body.at("lease").at("nodes");
  const std::string first = nodes.at(0).at("id");
  const std::string second = nodes.at(1).at("id");
  async::TaskScope others(runtime_, fail);
  bool is_over = false;
  others.spawn("changes", keep_changing(model::node_path(second), is_over));
  const web::Request hold = request("POST", "/api/v1/leases/" + done.id() + "/hold", "gitlab",
                                    {{"nodes", {first, second}}});
  const Got refused = got(run(first_->api().answer(hold)));
  is_over = true;
  run(others.join());
  EXPECT_EQ(refused.status, 409) << refused.text;
  EXPECT_EQ(node(first).state, model::NodeState::hold);
  EXPECT_EQ(node(second).state, model::NodeState::in_use);
  EXPECT_THAT(audit_.back(), HasSubstr("/hold: 409, held " + first + " of " + done.id()));
}

TEST_F(ApiMomentsTest, an_outage_at_any_moment_of_a_release_or_hold_hides_no_change) {
  for (const auto& [method, call] : {std::pair("DELETE", ""), std::pair("POST", "/hold")}) {
    bool is_over = false;
    for (std::size_t moment = 0; !is_over; ++moment) {
      const Got done = leased("gitlab", {{"labels", {"small", "small"}}});
      web::Request change = request(method, "/api/v1/leases/" + done.id() + call, "gitlab");
      if (is_reported_unchanged(std::move(change), moment, is_over)) {
        EXPECT_EQ(count_leased(done), 2U) << method << moment;
      }
    }
  }
}

TEST_F(ApiMomentsTest, an_outage_at_any_moment_of_a_new_request_hides_no_request) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  bool is_over = false;
  for (std::size_t moment = 0; !is_over; ++moment) {
    const std::size_t before = run(launcher_.requests()).size();
    web::Request placing = request("POST", "/api/v1/requests", "gitlab", kSmall);
    if (is_reported_unchanged(std::move(placing), moment, is_over)) {
      EXPECT_THAT(run(launcher_.requests()), SizeIs(before)) << moment;
    }
  }
}

TEST_F(ApiMomentsTest, a_hold_whose_node_changes_at_any_moment_is_ended_or_the_call_is_refused) {
  std::set<unsigned> statuses;
  bool is_answered = false;
  for (std::size_t moment = 0; !is_answered; ++moment) {
    model::Node held;
    held.set_state(model::NodeState::hold, clock_.wall_seconds());
    held.user_data = model::hold_user_data({.owner = "gitlab", .lease = "200-0000000000"});
    const std::string id = run(launcher_.add_node(held));
    settle();
    std::optional<web::Response> response;
    async::TaskScope scope(runtime_, fail);
    const std::string target = "/api/v1/nodes/" + id + "/hold";
    scope.spawn("call", answer(*first_, request("DELETE", target, "gitlab"), response));
    loop_.poll(moment);
    is_answered = response.has_value();
    change_at_once(model::node_path(id));
    while (!response) pass(seconds(1));
    statuses.insert(response->status);
    run(scope.join());
  }
  EXPECT_THAT(statuses, testing::ElementsAre(204, 409));
}

TEST_F(ApiMomentsTest, giving_up_at_the_moment_of_the_lease_releases_it) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  const auto fulfil = [](LauncherDouble& launcher, std::string id) -> async::Task<> {
    try {
      co_await launcher.fulfil_now(std::move(id));
    } catch (const coordination::StoreError& error) {
      if (!error.is_rejection()) throw;  // it has been withdrawn meanwhile
    }
  };
  bool is_idle = false;
  for (std::size_t moment = 0; !is_idle; ++moment) {
    const Got placed = call("POST", "/api/v1/requests", "gitlab", kSmall);
    async::TaskScope scope(runtime_, fail);
    scope.spawn("launcher", fulfil(launcher_, placed.id()));
    is_idle = loop_.poll(moment) < moment;
    std::optional<web::Response> response;
    const std::string target = "/api/v1/requests/" + placed.id();
    scope.spawn("call", answer(*second_, request("DELETE", target, "gitlab"), response));
    while (!response) pass(seconds(1));
    pass(seconds(3));
    run(scope.join());
    EXPECT_EQ(response->status, 204) << moment;
    const model::NodeTable& nodes = second_->records().nodes;
    for (const std::string& id : nodes.allocated_to(placed.id())) {
      EXPECT_NE(nodes.find(id)->state, model::NodeState::in_use) << moment;
    }
    EXPECT_THAT(run(launcher_.requests()), IsEmpty()) << moment;
  }
}

TEST_F(ApiMomentsTest, a_request_that_others_keep_changing_is_not_withdrawn) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  const std::string id = call("POST", "/api/v1/requests", "gitlab", kSmall).id();
  async::TaskScope others(runtime_, fail);
  bool is_over = false;
  change_at_once(model::request_path(id));  // the other task may begin later than the call
  others.spawn("changes", keep_changing(model::request_path(id), is_over));
  const Got refused =
      got(run(first_->api().answer(request("DELETE", "/api/v1/requests/" + id, "gitlab"))));
  is_over = true;
  run(others.join());
  EXPECT_EQ(refused.status, 409) << refused.text;
  EXPECT_THAT(run(launcher_.requests()), SizeIs(1));
}

}  // namespace
}  // namespace nodepool::api
