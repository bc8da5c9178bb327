// Tests the files of the page, its data, and the stream of changes.

#include "page/status_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include <nlohmann/json.hpp>

#include "async/event.h"
#include "async/event_loop.h"
#include "coordination/memory/memory_server.h"
#include "coordination/memory/memory_store.h"
#include "coordination/path.h"
#include "coordination/tree.h"
#include "model/host_report.h"
#include "model/image_paths.h"
#include "model/observers.h"
#include "model/paths.h"
#include "tests/support/patience.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::page {
namespace {

using async::Task;
using coordination::CreateMode;
using nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

// A client that reads a stream of events while `is_there`.
class Client final : public web::StreamSink {
 public:
  using StreamSink::send;
  Task<bool> send(std::shared_ptr<const std::string> part) override {
    if (is_there) parts.push_back(std::move(part));
    co_return is_there;
  }

  std::string text() const {
    std::string text;
    for (const auto& part : parts) text += *part;
    return text;
  }

  bool is_there = true;
  std::vector<std::shared_ptr<const std::string>> parts;
};

class StatusPageTest : public testing::Test {
 protected:
  StatusPageTest() {
    model::Records::Kinds kinds = model::Records::all();
    kinds.insert(model::Records::Kind::hosts);
    loop_.run(records_.make_roots(kinds));
    records_.follow(scope_, kinds);
    settle();
  }
  ~StatusPageTest() override {
    loop_.run(scope_.stop());
    loop_.run(page_.stop());
  }

  void settle() {
    while (loop_.poll()) {
    }
  }

  void pass(std::chrono::milliseconds time) {
    constexpr std::chrono::milliseconds kStep(100);
    for (std::chrono::milliseconds passed(0); passed < time; passed += kStep) {
      clock_.advance_by(kStep);
      settle();
    }
  }

  void put(const std::string& path, const std::string& data) {
    loop_.run(coordination::ensure_path(store_, std::string(coordination::parent_path(path))));
    if (loop_.run(store_.exists(path))) {
      loop_.run(store_.set(path, data, coordination::kAnyVersion));
    } else {
      loop_.run(store_.create(path, data, CreateMode::persistent));
    }
    settle();
  }

  void put_node(const std::string& id, const std::string& state, const std::string& more = {}) {
    put(model::node_path(id), R"({"state_time": 1699999990, "provider": "cloud", "type": ["small"],
                                  "state": ")" +
                                  state + "\"" + more + "}");
  }

  web::Response get(const std::string& target, std::map<std::string, std::string> headers = {},
                    const std::string& method = "GET") {
    web::Request request{.method = method, .path = {}, .parameters = {}, .headers = {}};
    EXPECT_TRUE(parse_target(target, request));
    request.headers = std::move(headers);
    return loop_.run(page_.answer(std::move(request)));
  }

  json rows() {
    const web::Response response = get("/page/rows");
    EXPECT_EQ(response.status, 200U);
    return json::parse(*response.body);
  }

  // Starts to follow the changes.
  void follow(Client& client, const std::string& revision) {
    const web::Response response = get("/page/changes?after=" + revision);
    EXPECT_THAT(response.headers, Contains(Pair("Content-Type", "text/event-stream")));
    scope_.spawn("client", take(response.stream, client));
    settle();
  }

  static Task<> take(web::Stream stream, Client& client) {
    Task<> taking = stream(client);
    co_await std::move(taking);
  }

  PageSources sources() {
    return {.dashboard_url = "https://grafana.example.org/d/nodepool",
            .providers = [this] { return providers_; },
            .problems = [this] { return problems_; },
            .images = [this] { return images_; },
            .opinions = [this](const std::string& id) { return opinions_[id]; },
            .observe_opinions =
                [this](std::function<void(const std::string&)> observer) {
                  return opinion_changes_.subscribe(std::move(observer));
                }};
  }

  test_support::TemporaryDirectory directory_;
  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{3};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  coordination::MemoryServer server_;
  coordination::MemoryStore store_{server_, runtime_};
  telemetry::Logger log_{telemetry::Log::to_consumer([](auto&&...) {}), "test"};
  model::Records records_{runtime_, store_, log_};
  async::TaskScope scope_{runtime_, [](const std::string& name, const std::string& error) {
                            ADD_FAILURE() << name << ": " << error;
                          }};
  std::vector<ProviderView> providers_;
  std::vector<PageProblem> problems_;
  std::vector<ConfiguredImage> images_;
  std::map<std::string, std::vector<PoolDecision>> opinions_;
  model::Observers<const std::string&> opinion_changes_;
  StatusPage page_{
      runtime_, records_, log_, {.sources = sources(), .build_logs = directory_.path()}};
};

TEST_F(StatusPageTest, the_page_and_its_files_may_load_nothing_from_elsewhere) {
  for (const char* path : {"/", "/page/app.js", "/page/style.css", "/page/icon.svg"}) {
    const web::Response response = get(path);
    EXPECT_EQ(response.status, 200U) << path;
    EXPECT_THAT(response.headers,
                Contains(Pair("Content-Security-Policy",
                              HasSubstr("default-src 'none'; script-src 'self'"))));
    EXPECT_THAT(*response.body, Not(HasSubstr("http://www.w3.org/1999/xhtml")));
  }
  EXPECT_THAT(get("/").headers, Contains(Pair("Content-Type", "text/html; charset=UTF-8")));
  EXPECT_EQ(get("/page/nothing").status, 404U);
  EXPECT_EQ(get("/", {}, "POST").status, 405U);
}

TEST_F(StatusPageTest, the_trends_continue_after_a_restart) {
  const std::string directory = (directory_.path() / "history").string();
  const auto begin = [&] {
    return std::make_unique<StatusPage>(
        runtime_, records_, log_,
        StatusPage::Options{.sources = sources(),
                            .journal = history::Journal{.directory = directory}});
  };
  const auto ready_nodes = [this](StatusPage& page) {
    web::Request request{.method = "GET", .path = {}, .parameters = {}, .headers = {}};
    EXPECT_TRUE(parse_target("/page/trends?of=all", request));
    const json trends = json::parse(*loop_.run(page.answer(std::move(request))).body);
    return trends["series"].empty() ? json::array() : trends["series"][0]["ready"];
  };
  put_node("1", "ready");
  auto page = begin();
  page->start();
  while (ready_nodes(*page).empty()) settle();
  loop_.run(page->stop());
  page.reset();
  pass(std::chrono::minutes(2));
  put_node("2", "ready");
  page = begin();
  page->start();
  while (ready_nodes(*page).size() < 3) settle();
  EXPECT_EQ(ready_nodes(*page), json::parse("[1, null, 2]"));
  loop_.run(page->stop());
}

TEST_F(StatusPageTest, a_file_that_the_browser_has_is_not_sent_again) {
  std::string tag;
  for (const auto& [name, value] : get("/").headers) {
    if (name == "ETag") tag = value;
  }
  ASSERT_FALSE(tag.empty());
  EXPECT_EQ(get("/", {{"if-none-match", tag}}).status, 304U);
  EXPECT_EQ(get("/", {{"if-none-match", "\"another\""}}).status, 200U);
}

TEST_F(StatusPageTest, files_are_public_and_data_require_read_access) {
  const auto part = [](const std::string& path, const std::string& accept = "*/*") {
    return StatusPage::part_of(
        {.method = "GET", .path = path, .parameters = {}, .headers = {{"accept", accept}}});
  };
  using Part = StatusPage::Part;
  EXPECT_EQ(part("/"), Part::file);
  EXPECT_EQ(part("/", "application/json"), Part::none);
  EXPECT_EQ(part("/page/app.js"), Part::file);
  for (const char* path : {"/page/rows", "/page/changes", "/page/build-log"}) {
    EXPECT_EQ(part(path), Part::data);
  }
  EXPECT_EQ(part("/page/../page/rows"), Part::none);
  EXPECT_EQ(part("/node-list"), Part::none);
}

TEST_F(StatusPageTest, rows_contain_no_login_data) {
  put_node("0000000001", "in-use", R"(, "interface_ip": "192.0.2.1", "username": "ci",
      "connection_port": {"token": "secret"}, "host_keys": ["ssh-rsa KEY"], "allocated_to": "200-0000000001")");
  put(model::request_path("200-0000000001"),
      R"({"state": "requested", "state_time": 5, "created_time": 4, "declined_by": ["p1"],
          "decline_reasons": {"p1": "too large"}, "node_types": ["small", "large"], "nodes": [],
          "requestor": "zuul"})");
  const json all = rows()["rows"];
  EXPECT_EQ(all["node"], json::parse(R"([{"id": "0000000001", "labels": ["small"],
      "state": "in-use", "since": 1699999990, "provider": "cloud", "asked": 4,
      "request": "200-0000000001"}])"));
  const json request = all["request"].at(0);
  EXPECT_EQ(request["labels"], json::parse(R"(["small", "large"])"));
  EXPECT_EQ(request["declined"], json::parse(R"([{"pool": "p1", "reason": "too large"}])"));
  EXPECT_EQ(request["nodes"], json::parse(R"(["0000000001"])"));
  EXPECT_THAT(all.dump(), Not(HasSubstr("secret")));
  EXPECT_THAT(all.dump(), Not(HasSubstr("KEY")));
}

TEST_F(StatusPageTest, clients_get_changes_in_batches) {
  put_node("0000000001", "ready");
  Client client;
  follow(client, rows()["revision"]);
  pass(std::chrono::seconds(3));
  client.parts.clear();
  for (const char* state : {"in-use", "used", "deleting"}) put_node("0000000001", state);
  put_node("0000000002", "ready");
  pass(std::chrono::seconds(1));
  ASSERT_LE(client.parts.size(), 3U);
  EXPECT_THAT(client.text(), HasSubstr(R"("state":"deleting")"));
  EXPECT_THAT(client.text(), HasSubstr("0000000002"));
  client.parts.clear();
  loop_.run(store_.remove(model::node_path("0000000002"), coordination::kAnyVersion));
  pass(std::chrono::seconds(1));
  EXPECT_THAT(client.text(), HasSubstr(R"("gone":{"node":["0000000002"]})"));
}

TEST_F(StatusPageTest, without_the_store_a_client_is_asked_to_retry) {
  store_.suspend_for_tests();
  settle();
  const auto ask = [](StatusPage& page, std::string target,
                      std::vector<unsigned>& statuses) -> Task<> {
    web::Request request{.method = "GET", .path = {}, .parameters = {}, .headers = {}};
    EXPECT_TRUE(parse_target(target, request));
    const web::Response response = co_await page.answer(std::move(request));
    EXPECT_THAT(response.headers, Contains(Pair("Retry-After", "5")));
    statuses.push_back(response.status);
  };
  std::vector<unsigned> statuses;
  for (const char* target : {"/page/rows", "/page/changes", "/page/build-log"}) {
    scope_.spawn("client", ask(page_, target, statuses));
  }
  pass(std::chrono::seconds(14));
  EXPECT_THAT(statuses, IsEmpty());
  pass(std::chrono::seconds(2));
  EXPECT_THAT(statuses, ElementsAre(503U, 503U, 503U));
}

TEST_F(StatusPageTest, clients_are_told_when_the_store_is_lost_and_when_it_is_back) {
  Client client;
  follow(client, rows()["revision"]);
  pass(std::chrono::seconds(3));
  EXPECT_THAT(client.text(), Not(HasSubstr("event: stale")));
  client.parts.clear();
  store_.suspend_for_tests();
  settle();
  EXPECT_THAT(client.text(),
              HasSubstr("event: stale\ndata: {\"reason\":\"The launcher has lost its store"));
  EXPECT_THAT(client.text(), Not(HasSubstr("event: current")));
  client.parts.clear();
  store_.resume_for_tests();
  pass(std::chrono::seconds(5));
  EXPECT_THAT(client.text(), HasSubstr("event: current\n"));
  EXPECT_THAT(client.text(), Not(HasSubstr("event: stale")));
}

TEST_F(StatusPageTest, all_clients_share_one_text) {
  const std::string revision = rows()["revision"];
  std::vector<Client> clients(20);
  for (Client& client : clients) follow(client, revision);
  put_node("0000000001", "ready");
  pass(std::chrono::seconds(3));
  for (const Client& client : clients) {
    ASSERT_EQ(client.parts.size(), clients.front().parts.size());
    EXPECT_EQ(client.parts.back(), clients.front().parts.back());
  }
}

TEST_F(StatusPageTest, a_slow_client_does_not_keep_old_changes_in_memory) {
  class SlowClient final : public web::StreamSink {
   public:
    Task<bool> send(std::shared_ptr<const std::string> part) override {
      parts.push_back(*part);
      if (parts.size() == 2) co_await goes_on.wait();
      co_return true;
    }
    std::vector<std::string> parts;
    async::Event goes_on;
  };
  const std::string revision = rows()["revision"];
  Client other;
  follow(other, revision);
  const auto change = [this, &other](int times) {
    for (int i = 0; i < times; ++i) {
      put_node("0000000001", i % 2 == 0 ? "ready" : "in-use");
      pass(std::chrono::milliseconds(500));
      other.parts.clear();
    }
  };
  change(3);
  SlowClient slow;
  const web::Response response = get("/page/changes?after=" + revision);
  const auto take_slowly = [](web::Stream stream, web::StreamSink& sink) -> Task<> {
    Task<> taking = stream(sink);
    co_await std::move(taking);
  };
  scope_.spawn("slow client", take_slowly(response.stream, slow));
  settle();
  ASSERT_EQ(slow.parts.size(), 2U);
  change(600);
  slow.goes_on.set();
  settle();
  ASSERT_EQ(slow.parts.size(), 3U);
  EXPECT_THAT(slow.parts.back(), HasSubstr("event: behind"));
}

TEST_F(StatusPageTest, a_client_of_an_earlier_launcher_gets_all_rows) {
  Client client;
  follow(client, "00000000-17");
  EXPECT_THAT(client.text(), HasSubstr("event: behind\n"));
}

TEST_F(StatusPageTest, a_client_that_has_left_is_noticed_and_a_stream_ends_some_time) {
  Client gone;
  Client faithful;
  const std::string revision = rows()["revision"];
  follow(gone, revision);
  follow(faithful, revision);
  gone.is_there = false;
  pass(web::kStreamSilence);
  const std::size_t parts = faithful.parts.size();
  pass(web::kStreamSilence);
  EXPECT_GT(faithful.parts.size(), parts);
  pass(std::chrono::minutes(10));
  const std::size_t at_the_end = faithful.parts.size();
  pass(std::chrono::minutes(2));
  EXPECT_EQ(faithful.parts.size(), at_the_end);
}

TEST_F(StatusPageTest, decisions_of_pools_are_sent_when_they_change) {
  put(model::request_path("200-0000000001"),
      R"({"state": "requested", "state_time": 5, "node_types": ["small"]})");
  Client client;
  follow(client, rows()["revision"]);
  opinions_["200-0000000001"] = {{"pool", "waits: it is full", "pool-full"}};
  opinion_changes_.notify("200-0000000001");
  pass(std::chrono::seconds(1));
  EXPECT_THAT(client.text(), HasSubstr("waits: it is full"));
}

TEST_F(StatusPageTest, providers_are_shown_with_what_they_take_and_may_take) {
  providers_ = {{.name = "cloud",
                 .launches_machines = true,
                 .launches = 2,
                 .is_refusing = true,
                 .amounts = {{"instances", 3, 10}, {"ram", 4096}},
                 .errors = {{"503", 7}}}};
  const json provider = rows()["rows"]["provider"].at(0);
  EXPECT_EQ(provider["amounts"], json::parse(R"([{"resource": "instances", "used": 3, "limit": 10},
                                                 {"resource": "ram", "used": 4096}])"));
  EXPECT_EQ(provider["refusing"], true);
  EXPECT_EQ(provider["errors"].at(0)["count"], 7);
  Client client;
  follow(client, rows()["revision"]);
  providers_.clear();
  pass(std::chrono::seconds(3));
  EXPECT_THAT(client.text(), HasSubstr(R"("gone":{"provider":["cloud"]})"));
}

TEST_F(StatusPageTest, unhealthy_hosts_appear_and_disappear) {
  Client client;
  follow(client, rows()["revision"]);
  const std::string path = std::string(model::kHostsRoot) + "/1";
  model::HostReport report;
  report.provider = "rack";
  report.host = "host1";
  report.problem = "no route";
  put(path, to_record(report));
  pass(std::chrono::seconds(1));
  EXPECT_THAT(client.text(), HasSubstr("no route"));
  client.parts.clear();
  loop_.run(store_.remove(path, coordination::kAnyVersion));
  pass(std::chrono::seconds(1));
  EXPECT_THAT(client.text(), HasSubstr(R"("gone":{"host":)"));
}

TEST_F(StatusPageTest, problems_are_listed_in_order_until_they_are_over) {
  problems_ = {{"critical", "no launcher is alive", "", ""},
               {"attention", "image debian has no build", "image", "debian"}};
  const json first = rows();
  const json& problems = first["rows"]["problem"];
  EXPECT_EQ(problems.at(0),
            json({{"id", "0"}, {"level", "critical"}, {"text", "no launcher is alive"}}));
  EXPECT_EQ(problems.at(1)["subject"], "debian");
  Client client;
  follow(client, first["revision"]);
  problems_.erase(problems_.begin());
  pass(std::chrono::seconds(3));
  EXPECT_THAT(client.text(), HasSubstr(R"("gone":{"problem":["1"]})"));
}

TEST_F(StatusPageTest, an_image_has_its_builds_and_their_uploads) {
  put(model::build_path("debian", "abc"),
      R"({"state": "failed", "state_time": 5, "builder": "b1", "failure": "no disk"})");
  const json image = rows()["rows"]["image"].at(0);
  EXPECT_EQ(image["builds"].at(0)["failure"], "no disk");
  EXPECT_EQ(image["builds"].at(0)["builder"], "b1");
}

TEST_F(StatusPageTest, the_end_of_a_log_is_shown_of_builds_that_there_are) {
  put(model::build_path("debian", "abc"), R"({"state": "building", "state_time": 5})");
  EXPECT_EQ(get("/page/build-log?image=debian&build=abc").status, 404U);
  std::ofstream(directory_.path() / "debian-abc.log") << "one\ntwo\n";
  const auto part = [this](const std::string& from) {
    return json::parse(*get("/page/build-log?image=debian&build=abc" + from).body);
  };
  EXPECT_EQ(part(""),
            json::parse(R"({"begin": 0, "end": 8, "going_on": true, "text": "one\ntwo\n"})"));
  EXPECT_EQ(part("&from=4")["text"], "two\n");
  EXPECT_EQ(part("&from=8"), json::parse(R"({"begin": 8, "end": 8, "going_on": true})"));
  EXPECT_EQ(part("&from=900")["begin"], 8);
  EXPECT_EQ(part("&from=-900")["begin"], 0);
  std::ofstream(directory_.path() / "debian-abc.log") << std::string(1 << 20, 'x');
  EXPECT_EQ(part("")["text"].get<std::string>().size(), std::size_t{64} << 10);
}

TEST_F(StatusPageTest, no_other_file_can_be_read_as_a_log) {
  std::ofstream(directory_.path() / "secret") << "secret";
  std::ofstream(directory_.path() / "debian-xyz.log") << "secret";
  for (const char* query : {"image=debian&build=xyz", "image=../x&build=abc", "image=debian", ""}) {
    EXPECT_EQ(get(std::string("/page/build-log?") + query).status, 404U) << query;
  }
  put(model::build_path("debian", "abc"), R"({"state": "ready", "state_time": 5})");
  std::filesystem::create_symlink(directory_.path() / "secret",
                                  directory_.path() / "debian-abc.log");
  EXPECT_EQ(get("/page/build-log?image=debian&build=abc").status, 404U);
}

TEST_F(StatusPageTest, the_latest_failures_of_the_history_are_listed) {
  const history::Journal journal{.directory = directory_.path() / "history"};
  const auto add = [&journal](const std::string& id, const std::string& event,
                              const std::string& details = "why", history::Facts facts = {}) {
    append(
        journal,
        history::to_line(
            {1, history::JournalEntry::Subject::node, id, event, {}, details, std::move(facts)}));
  };
  for (int i = 0; i < 300; ++i) add(std::to_string(i), i % 2 == 0 ? "failed" : "ready");
  StatusPage page(runtime_, records_, log_, {.sources = sources(), .journal = journal});
  Client client;
  web::Request request{.method = "GET", .path = "/page/changes", .parameters = {}, .headers = {}};
  request.parameters.emplace_back(
      "after",
      json::parse(
          *loop_
               .run(page.answer(
                   {.method = "GET", .path = "/page/rows", .parameters = {}, .headers = {}}))
               .body)["revision"]);
  const web::Response response = loop_.run(page.answer(request));
  scope_.spawn("client", take(response.stream, client));
  const auto until = [this, &client](const std::string& text) {
    const auto deadline = std::chrono::steady_clock::now() + test_support::kPatience;
    while (!client.text().contains(text) && std::chrono::steady_clock::now() < deadline) {
      pass(std::chrono::milliseconds(500));
    }
    return client.text();
  };
  EXPECT_THAT(until(R"("of":"298","event":"failed","details":"why")"), Not(HasSubstr("ready")));
  for (int i = 300; i < 400; ++i) add(std::to_string(i), "failed");
  EXPECT_THAT(until(R"("of":"399")"),
              HasSubstr(R"("gone":{"failure":["1.000-0-failed","1.000-10-failed",)"));
  // The reason of a failed launch is in the entry of its last attempt.
  const auto attempt = [](const std::string& failure) {
    return history::Attempted{failure, R"({"failure":")" + failure + R"("})"};
  };
  add("500", "launch", "attempt 1 of 2 failed after 1.0 s: no host", attempt("no host"));
  add("500", "launch", "attempt 2 of 2 failed after 2.0 s: no disk", attempt("no disk"));
  add("500", "failed", "");
  EXPECT_THAT(
      until(R"("of":"500")"),
      AllOf(HasSubstr(R"("event":"failed","details":"attempt 2 of 2 failed after 2.0 s: no disk")"),
            Not(HasSubstr("no host"))));
  // Only declines after failed launches are failures.
  add("600", "declined", "rack: too small", history::Declined{"rack", "pool-disabled"});
  add("601", "declined", "sky: too small", std::monostate());
  add("602", "declined", "rack: launch failed", history::Declined{"rack", "launch-failed"});
  add("603", "declined", "sky: launch failed: no capacity", history::Declined{"sky", ""});
  add("604", "declined", "sky: launch failed: no capacity", std::monostate());
  EXPECT_THAT(until(R"("of":"604")"),
              AllOf(HasSubstr(R"("of":"602")"), HasSubstr(R"("of":"603")"),
                    Not(HasSubstr(R"("of":"600")")), Not(HasSubstr(R"("of":"601")"))));
  // A failed request has its reason, or gets it from its declines.
  const auto failed = [](const std::string& reason) {
    return history::DeclinedByAll{{history::Declined{"rack", reason}}};
  };
  add("700", "failed", "rack: pool is disabled", failed("pool-disabled"));
  add("701", "declined", "rack: pool is disabled", history::Declined{"rack", "pool-disabled"});
  add("701", "declined", "sky: not available", history::Declined{"sky", "labels-not-offered"});
  add("701", "failed", "");
  add("702", "failed", "rack: the pool is full", failed("pool-full"));
  add("703", "reclaim-failed", "conflict");
  EXPECT_THAT(until(R"("of":"703")"),
              AllOf(HasSubstr(R"("of":"700","event":"failed","details":"rack: pool is disabled")"),
                    HasSubstr(R"("of":"701","event":"failed","details":"rack: pool is disabled")"),
                    HasSubstr(R"("of":"703","event":"reclaim-failed","details":"conflict")"),
                    Not(HasSubstr(R"("of":"702")"))));
  loop_.run(scope_.stop());
  loop_.run(page.stop());
}

TEST_F(StatusPageTest, without_clients_no_changes_are_kept) {
  const std::string revision = rows()["revision"];
  pass(std::chrono::minutes(2));
  Client client;
  follow(client, revision);
  EXPECT_THAT(client.text(), HasSubstr("event: behind\n"));
}

TEST_F(StatusPageTest, the_last_hours_are_sampled_every_minute) {
  put_node("0000000001", "in-use");
  put_node("0000000002", "building");
  put_node("0000000003", "failed");  // before the start: when is unknown
  put(model::request_path("200-0000000001"),
      R"({"state": "requested", "state_time": 1699999990, "node_types": ["small", "small"]})");
  page_.start();
  settle();
  put_node("0000000002", "failed");
  put_node("0000000002", "deleting");
  pass(std::chrono::minutes(1));
  const json all = json::parse(*get("/page/trends?of=all").body);
  EXPECT_EQ(all["series"], json::parse(R"([{"waiting": [1, 1], "in_use": [1, 1], "ready": [0, 0],
                                            "launching": [1, 0], "failed": [0, 1]}])"));
  const json label = json::parse(*get("/page/trends?of=label&name=small").body);
  EXPECT_EQ(label["series"][0]["waiting"], json::parse("[1, 1]"));
  EXPECT_EQ(label["series"][0]["failed"], json::parse("[0, 1]"));
  const json providers = json::parse(*get("/page/trends?of=provider").body);
  EXPECT_EQ(providers["step"], 600);
  EXPECT_EQ(providers["series"][0]["name"], "cloud");
  EXPECT_EQ(providers["series"][0]["in_use"], json::parse("[1]"));
  EXPECT_EQ(get("/page/trends?of=hosts").status, 400U);
}

TEST_F(StatusPageTest, the_trends_of_all_labels_are_rendered_once_a_sample) {
  put_node("0000000001", "in-use");
  EXPECT_THAT(*get("/page/trends?of=label").body, Not(HasSubstr("small")));
  page_.start();
  settle();
  const auto body = get("/page/trends?of=label").body;
  EXPECT_THAT(*body, HasSubstr("small"));
  pass(std::chrono::seconds(1));
  EXPECT_EQ(get("/page/trends?of=label").body, body);
  EXPECT_NE(get("/page/trends?of=provider").body, body);
  pass(std::chrono::minutes(1));
  EXPECT_NE(get("/page/trends?of=label").body, body);
}

TEST_F(StatusPageTest, the_images_of_the_configuration_and_the_dashboard_are_shown) {
  images_ = {{"debian", false}, {"fedora", true}};
  const json before = rows();
  EXPECT_EQ(before["rows"]["configured_image"],
            json::parse(R"([{"id": "debian"}, {"id": "fedora", "paused": true}])"));
  EXPECT_EQ(before["rows"]["dashboard"][0]["url"], "https://grafana.example.org/d/nodepool");
  images_.pop_back();
  Client client;
  follow(client, before["revision"]);
  pass(std::chrono::seconds(3));
  EXPECT_THAT(client.text(), HasSubstr(R"("gone":{"configured_image":["fedora"]})"));
  client.is_there = false;
}

}  // namespace
}  // namespace nodepool::page
