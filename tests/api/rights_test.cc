// Tests access control: creates the table of docs/api.md from the responses of the API.

#include <gmock/gmock.h>

#include <filesystem>
#include <sstream>

#include "model/paths.h"
#include "tests/api/api_test.h"

namespace nodepool::api {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// A row for each call, a column for each kind of client: the status of the response.
constexpr std::string_view kRights = R"(
                          nobody  read  foreign  owner  admin
see the request              200   200      404    200    200
stream it                    200   200      404    200    200
see the lease                200   200      404    200    200
see its host keys             no    no       no    yes    yes
see its node                 200   200      404    200    200
see its history              200   200      403    403    200
see its explanation          200   200      404    200    200
see the labels               200   200      200    200    200
renew the lease              401   403      404    200    200
withdraw the request         401   403      404    204    204
hold a node                  401   403      404    204    204
end its hold                 401   403      404    204    204
release a node               401   403      404    204    204
release the lease            401   403      404    204    204
ask for a node               401   403      201    201    201
hold any node                401   403      403    403    204
delete a node                401   403      403    403    204
)";

// Two requests of a tenant's client: one fulfilled, one waiting.
class RightsTest : public ApiTest {
 protected:
  RightsTest() {
    token("owner", "scope: request, tenant: theirs");
    write_tokens();
    while (call("GET", "/api/v1/client", "owner").status == 401) pass(std::chrono::seconds(1));
  }

  // The owner holds a node, and the client ends the hold.
  std::string end_of_hold(const std::string& client, const std::string& lease_path,
                          const std::string& node) {
    call("POST", lease_path + "/hold", "owner", {{"nodes", {node}}});
    settle();
    return std::to_string(call("DELETE", "/api/v1/nodes/" + node + "/hold", client).status);
  }

  // The statuses of one kind of client, in the order of the rows.
  std::vector<std::string> column(const std::string& client) {
    const Got lease = leased("owner", {{"labels", {"small", "small", "small"}}});
    launcher_.react(requestor::LauncherDouble::Reaction::ignore);
    const Got waiting = call("POST", "/api/v1/requests", "owner", {{"labels", {"small"}}});
    const std::string request_path = "/api/v1/requests/" + waiting.id();
    const std::string lease_path = "/api/v1/leases/" + lease.id();
    const std::string node = lease.body.at("lease").at("nodes").at(0).at("id");
    const std::string other = lease.body.at("lease").at("nodes").at(1).at("id");
    const std::string held = lease.body.at("lease").at("nodes").at(2).at("id");
    const auto status = [&](const std::string& method, const std::string& path,
                            const json& body = nullptr) {
      return std::to_string(run(first_->api().answer(request(method, path, client, body))).status);
    };
    history::JournalEntry entry;
    entry.id = waiting.id();
    entry.event = "requested";
    history::append(*journal_, history::to_line(entry));
    std::vector<std::string> rows = {
        status("GET", request_path),
        status("GET", request_path + "/events"),
        status("GET", lease_path),
        call("GET", lease_path, client).text.find("host_keys") == std::string::npos ? "no" : "yes",
        status("GET", "/api/v1/nodes/" + node),
        call("GET", "/api/v1/history/" + waiting.id(), client).status == 403 ? "403" : "200",
        status("GET", "/api/v1/explain/" + waiting.id()),
        status("GET", "/api/v1/labels"),
        status("POST", lease_path + "/renew"),
        status("DELETE", request_path),
        status("POST", lease_path + "/hold", {{"nodes", {node}}}),
        end_of_hold(client, lease_path, held),
        status("DELETE", lease_path + "?node=" + other),
        status("DELETE", lease_path),
        status("POST", "/api/v1/requests", {{"labels", {"small"}}}),
        status("POST", "/api/v1/nodes/" + held + "/hold"),
        status("DELETE", "/api/v1/nodes/" + held)};
    launcher_.react(requestor::LauncherDouble::Reaction::fulfil);
    return rows;
  }
};

TEST_F(RightsTest, each_scope_allows_what_the_table_lists) {
  const std::vector<std::vector<std::string>> columns{column(""), column("viewer"), column("acme"),
                                                      column("owner"), column("boss")};
  std::string table;
  std::istringstream lines{std::string(kRights)};
  std::string line;
  std::getline(lines, line);
  std::getline(lines, line);
  table = "\n" + line + "\n";
  for (std::size_t row = 0; std::getline(lines, line); ++row) {
    std::string made = line.substr(0, 26);
    const std::size_t widths[] = {6, 6, 9, 7, 7};
    for (std::size_t i = 0; i < columns.size(); ++i) {
      made += fmt::format("{:>{}}", columns[i].at(row), widths[i]);
    }
    table += made + "\n";
  }
  EXPECT_EQ(table, kRights);
}

TEST_F(ApiTest, a_token_over_an_unencrypted_connection_is_refused) {
  web::Request open = request("GET", "/api/v1/client", "gitlab");
  open.peer = {.address = "192.0.2.1", .is_private = false, .user = {}};
  const Got answer = call(*first_, open);
  EXPECT_EQ(answer.status, 403);
  EXPECT_THAT(answer.body.at("detail"), HasSubstr("TLS"));
}

TEST_F(ApiTest, the_unix_socket_identifies_the_user_of_the_client) {
  web::Request local = request("POST", "/api/v1/requests", "", {{"labels", {"small"}}});
  local.peer = {.address = {}, .is_private = true, .user = 4711};
  const Got placed = call(*first_, local);
  EXPECT_EQ(placed.status, 201);
  EXPECT_EQ(placed.body.at("owner"), "user:4711");
  local.peer.user = 4712;
  local.method = "DELETE";
  local.path = "/api/v1/requests/" + placed.id();
  EXPECT_EQ(call(*first_, local).status, 403);
  local.peer.user = 0;
  EXPECT_EQ(call(*first_, local).status, 204);
}

TEST_F(ApiTest, reading_may_require_a_token) {
  const std::unique_ptr<ApiServer> closed = serve(/*anonymous_read=*/false);
  EXPECT_EQ(call(*closed, request("GET", "/api/v1/nodes", "")).status, 401);
  EXPECT_EQ(call(*closed, request("GET", "/api/v1/nodes", "viewer")).status, 200);
  using Subject = Authorizer::Subject;
  Authorizer& authorizer = closed->api().authorizer();
  EXPECT_TRUE(authorizer.refuse_reading(request("GET", "/node-list", ""), Subject::records));
  EXPECT_FALSE(authorizer.refuse_reading(request("GET", "/node-list", "viewer"), Subject::records));
  EXPECT_FALSE(first_->api().authorizer().refuse_reading(request("GET", "/node-list", ""),
                                                         Subject::records));
  EXPECT_FALSE(authorizer.may_read(request("GET", "/ready", "")));
  EXPECT_TRUE(authorizer.may_read(request("GET", "/ready", "viewer")));
  EXPECT_EQ(authorizer.refuse_reading(request("GET", "/page/rows", "acme"), Subject::records)
                .value_or(web::Response{})
                .status,
            403);
  EXPECT_FALSE(authorizer.may_read(request("GET", "/ready", "acme")));
  run(closed->stop());
}

TEST_F(ApiTest, build_logs_require_a_token_by_default) {
  using Subject = Authorizer::Subject;
  const auto status = [this](const std::string& client) {
    const auto refusal = first_->api().authorizer().refuse_reading(
        request("GET", "/page/build-log", client), Subject::build_log);
    return refusal ? refusal->status : 200;
  };
  EXPECT_EQ(status(""), 401);
  EXPECT_EQ(status("unknown"), 401);
  EXPECT_EQ(status("acme"), 403);
  EXPECT_EQ(status("viewer"), 200);
  Authorizer open(runtime_, log_, log_,
                  {.tokens = {}, .anonymous_read = true, .anonymous_build_logs = true});
  EXPECT_FALSE(open.refuse_reading(request("GET", "/page/build-log", ""), Subject::build_log));
  run(open.stop());
}

TEST_F(RightsTest, an_explanation_names_no_requests_and_nodes_of_other_tenants) {
  const Got lease = leased("owner");
  const std::string node = lease.body.at("lease").at("nodes").at(0).at("id");
  launcher_.react(requestor::LauncherDouble::Reaction::ignore);
  const Got own = call("POST", "/api/v1/requests", "acme", {{"labels", {"small"}}});
  const Got sibling = call("POST", "/api/v1/requests", "acme", {{"labels", {"small"}}});
  model::NodeRequest of_zuul;
  of_zuul.node_types = {"small"};
  of_zuul.tenant_name = "acme";
  const std::string zuuls = "100-0000000777";
  run(launcher_store_.create(model::request_path(zuuls), to_record(of_zuul),
                             coordination::CreateMode::persistent));
  settle();
  first_->mentioned = {lease.id(), node, sibling.id(), zuuls, "0000009999"};
  const std::string path = "/api/v1/explain/" + own.id();
  const std::string text = call("GET", path, "acme").text;
  EXPECT_THAT(text, HasSubstr("another client's request"));
  EXPECT_THAT(text, HasSubstr("request " + sibling.id()));
  EXPECT_THAT(text, HasSubstr("request " + zuuls));
  EXPECT_THAT(text, Not(HasSubstr(lease.id())));
  EXPECT_THAT(text, Not(HasSubstr(node)));
  for (const char* client : {"viewer", "boss"}) {
    const std::string complete = call("GET", path, client).text;
    EXPECT_THAT(complete, HasSubstr(lease.id())) << client;
    EXPECT_THAT(complete, HasSubstr(node)) << client;
  }
}

TEST_F(ApiTest, consoles_require_a_token_if_there_are_tokens) {
  history::append(
      *journal_,
      history::to_line({1,
                        history::JournalEntry::Subject::node,
                        "0000000003",
                        "launch",
                        {},
                        "no",
                        history::Attempted{
                            "no", R"({"failure":"no","notes":[],"console":"password: xyzzy"})"}}));
  history::JournalEntry of_other_release;
  of_other_release.subject = history::JournalEntry::Subject::node;
  of_other_release.id = "0000000003";
  of_other_release.event = "launch";
  of_other_release.details = "no longer";
  of_other_release.facts = history::OtherFacts{R"({"failure":7,"console":"xyzzy"})"};
  history::append(*journal_, history::to_line(of_other_release));
  const auto console = [this](ApiServer& server, const std::string& client) {
    const Got got = call(server, request("GET", "/api/v1/history/0000000003", client));
    EXPECT_EQ(got.status, 200);
    EXPECT_THAT(got.text, HasSubstr("notes"));
    return got.text.contains("xyzzy");
  };
  EXPECT_FALSE(console(*first_, ""));
  EXPECT_TRUE(console(*first_, "viewer"));
  EXPECT_THAT(call("GET", "/api/v1/history/0000000003", "").text, HasSubstr("not shown"));
  token_file_.clear();
  const std::unique_ptr<ApiServer> without_tokens = serve();
  EXPECT_TRUE(console(*without_tokens, ""));
  run(without_tokens->stop());
}

// All read-only calls, including future ones, with the ids of another tenant's requests, leases and
// nodes in all states.
TEST_F(RightsTest, no_call_shows_records_of_other_tenants) {
  const Got lease = leased("owner", {{"labels", {"small", "small"}}, {"holder", "their holder"}});
  const auto node_id = [&lease](int i) {
    return lease.body.at("lease").at("nodes").at(i).at("id").get<std::string>();
  };
  call("POST", "/api/v1/leases/" + lease.id() + "/hold", "owner", {{"nodes", {node_id(1)}}});
  launcher_.react(requestor::LauncherDouble::Reaction::ignore);
  const Got waiting = call("POST", "/api/v1/requests", "owner",
                           {{"labels", {"small"}}, {"holder", "their holder"}});
  settle();
  std::size_t answers = 0;
  for (const std::string& each : Api::calls()) {
    if (!each.starts_with("GET ") || each == "GET /api/v1/openapi.json") continue;
    const std::string pattern = each.substr(4);
    for (const std::string& id : {lease.id(), waiting.id(), node_id(0), node_id(1)}) {
      std::string target = pattern;
      const std::size_t hole = target.find("{id}");
      if (hole != std::string::npos) target.replace(hole, 4, id);
      const Got answer = call("GET", target, "acme");
      if (hole != std::string::npos) EXPECT_GE(answer.status, 400U) << target;
      std::string text = answer.text;
      // The response may repeat the request.
      for (auto at = text.find(id); at != std::string::npos; at = text.find(id)) text.erase(at, 10);
      for (const std::string& theirs :
           {std::string("their"), lease.id(), waiting.id(), node_id(0), node_id(1)}) {
        EXPECT_THAT(text, Not(HasSubstr("\"" + theirs))) << target;
      }
      ++answers;
    }
  }
  EXPECT_GE(answers, 40U);
  // The same calls return them to their owner and to tokens without a tenant.
  for (const std::string client : {"owner", "viewer"}) {
    EXPECT_THAT(call("GET", "/api/v1/leases", client).text, HasSubstr(lease.id()));
    EXPECT_THAT(call("GET", "/api/v1/requests", client).text, HasSubstr(waiting.id()));
    EXPECT_THAT(call("GET", "/api/v1/nodes", client).text, HasSubstr(node_id(0)));
    EXPECT_THAT(call("GET", "/api/v1/nodes", client).text, HasSubstr(node_id(1)));
  }
}

TEST_F(ApiTest, a_token_may_be_limited_to_labels_priorities_and_tenants) {
  token("night", "scope: request, labels: [small, large], priorities: [low, normal]");
  token("broker", "scope: request, tenant: any");
  write_tokens();
  while (call("GET", "/api/v1/client", "broker").status == 401) pass(std::chrono::seconds(1));
  const auto ask = [this](const std::string& client, const json& more) {
    json body = {{"labels", {"small"}}};
    body.update(more);
    return call("POST", "/api/v1/requests", client, body);
  };
  EXPECT_EQ(ask("night", {{"priority", "low"}}).status, 201);
  EXPECT_EQ(ask("night", {{"priority", "high"}}).status, 403);
  const Got refused = ask("night", {{"labels", {"small", "huge"}}});
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.text, HasSubstr("night may not request label huge, only small, large"));
  EXPECT_EQ(ask("gitlab", {{"tenant", "acme"}}).status, 403);
  const Got brokered = ask("broker", {{"tenant", "acme"}});
  EXPECT_EQ(brokered.status, 201);
  EXPECT_EQ(brokered.body.at("tenant"), "acme");
  EXPECT_EQ(ask("broker", json::object()).body.at("tenant"), nullptr);
  EXPECT_EQ(call("GET", "/api/v1/client", "night").body.at("labels"), json({"small", "large"}));
}

TEST_F(ApiTest, wrong_tokens_are_rate_limited_by_address) {
  const auto status = [this](const std::string& address, const std::string& client) {
    web::Request each = request("GET", "/api/v1/client", client);
    each.peer.address = address;
    return call(*first_, each).status;
  };
  unsigned last = 401;
  for (int calls = 0; calls < 5000 && last == 401; ++calls) last = status("192.0.2.1", "stranger");
  EXPECT_EQ(last, 429U);
  EXPECT_EQ(status("192.0.2.2", "stranger"), 401U);
  EXPECT_EQ(status("192.0.2.1", "gitlab"), 200U) << "a valid token has its own limit";
  using Subject = Authorizer::Subject;
  const std::unique_ptr<ApiServer> closed = serve(/*anonymous_read=*/false);
  std::optional<web::Response> page;
  for (int calls = 0; calls < 5000 && (!page || page->status == 401); ++calls) {
    page = closed->api().authorizer().refuse_reading(request("GET", "/node-list", "stranger"),
                                                     Subject::records);
  }
  EXPECT_EQ(page->status, 429U);
  run(closed->stop());
}

TEST_F(ApiTest, a_token_file_that_an_editor_replaces_revokes_no_token) {
  const auto status = [this] { return call("GET", "/api/v1/client", "gitlab").status; };
  settle();
  std::filesystem::rename(token_file_, token_file_ + "~");
  settle();
  EXPECT_EQ(status(), 200);
  write_tokens();
  pass(std::chrono::seconds(12));  // longer than changes without an event take
  EXPECT_EQ(status(), 200);
  std::filesystem::remove(token_file_);
  pass(std::chrono::seconds(12));
  EXPECT_EQ(status(), 401);
}

TEST_F(ApiTest, a_token_file_that_cannot_be_read_is_a_problem) {
  const auto problem = [this] { return first_->api().authorizer().problem(); };
  const auto refusal = [this] {
    const Got refused = call("GET", "/api/v1/client", "stranger");
    EXPECT_EQ(refused.status, 401);
    return refused.body.at("detail").get<std::string>();
  };
  EXPECT_EQ(problem(), "");
  EXPECT_EQ(refusal(), "The token is unknown or no longer valid");
  directory_.write("tokens.yaml", "tokens: [\n");
  pass(std::chrono::seconds(12));  // longer than changes without an event take
  EXPECT_THAT(problem(), HasSubstr("keeping the previous 5 tokens: " + token_file_));
  EXPECT_THAT(refusal(), HasSubstr("cannot read its token file"));
  EXPECT_EQ(call("GET", "/api/v1/client", "gitlab").status, 200);
  write_tokens();
  pass(std::chrono::seconds(12));
  EXPECT_EQ(problem(), "");
}

TEST_F(ApiTest, a_launcher_without_a_token_file_says_so) {
  token_file_.clear();
  const std::unique_ptr<ApiServer> server = serve();
  const Got refused = call(*server, request("GET", "/api/v1/client", "gitlab"));
  EXPECT_EQ(refused.status, 401);
  EXPECT_THAT(refused.text, HasSubstr("its configuration has no `tokens` in `api`"));
  run(server->stop());
}

TEST_F(ApiTest, a_token_of_a_tenant_is_limited_to_its_tenant) {
  leased("gitlab");
  leased("acme");
  const Got own = call("GET", "/api/v1/leases", "acme");
  ASSERT_THAT(own.body.at("leases"), SizeIs(1));
  EXPECT_EQ(own.body.at("leases").at(0).at("owner"), "acme");
  EXPECT_THAT(call("GET", "/api/v1/leases", "gitlab").body.at("leases"), SizeIs(2));
  EXPECT_EQ(
      call("POST", "/api/v1/requests", "acme", {{"labels", {"small"}}, {"tenant", "other"}}).status,
      403);
  const Got placed = call("POST", "/api/v1/requests", "acme", {{"labels", {"small"}}});
  EXPECT_EQ(placed.body.at("tenant"), "acme");
}

}  // namespace
}  // namespace nodepool::api
