// Tests the pages of the Python Nodepool's web app.

#include "web/reference_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "async/event_loop.h"
#include "async/task_scope.h"
#include "coordination/memory/memory_server.h"
#include "coordination/memory/memory_store.h"
#include "coordination/path.h"
#include "coordination/tree.h"
#include "model/image_paths.h"
#include "model/paths.h"
#include "web/error_pages.h"

namespace nodepool::web {
namespace {

using coordination::CreateMode;
using testing::Contains;
using testing::HasSubstr;
using testing::Key;
using testing::Not;
using testing::Pair;

constexpr double kNow = 1'700'000'000;

class ReferencePagesTest : public testing::Test {
 protected:
  ReferencePagesTest() {
    loop_.run(records_.make_roots(model::Records::all()));
    records_.follow(scope_, model::Records::all());
    loop_.poll();
  }
  ~ReferencePagesTest() override { loop_.run(scope_.stop()); }

  void add(const std::string& path, const std::string& data) {
    loop_.run(coordination::ensure_path(store_, std::string(coordination::parent_path(path))));
    loop_.run(store_.create(path, data, CreateMode::persistent));
    loop_.poll();
  }

  void add_node(const std::string& id, const std::string& fields) {
    add(model::node_path(id), R"({"state": "ready", "state_time": 1699999990, )" + fields + "}");
  }

  Response get(const std::string& target, std::map<std::string, std::string> headers = {}) {
    Request request;
    request.method = "GET";
    EXPECT_TRUE(parse_target(target, request));
    request.headers = std::move(headers);
    return loop_.run(pages_.answer(std::move(request)));
  }

  std::string text(const std::string& target) { return *get(target).body; }
  std::string json(const std::string& target) {
    const Response response = get(target, {{"accept", "application/json"}});
    EXPECT_THAT(response.headers, Contains(Pair("Content-Type", "application/json")));
    return *response.body;
  }

  async::EventLoop loop_;
  async::VirtualClock clock_{kNow};
  async::Random random_{3};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  coordination::MemoryServer server_;
  coordination::MemoryStore store_{server_, runtime_};
  telemetry::Logger log_{
      telemetry::Log::to_consumer([](telemetry::LogLevel, std::string_view, std::string_view) {},
                                  telemetry::LogLevel::error),
      "test"};
  model::Records records_{runtime_, store_, log_};
  async::TaskScope scope_{runtime_, [](const std::string& name, const std::string& error) {
                            ADD_FAILURE() << name << ": " << error;
                          }};
  ReferencePages pages_{runtime_, records_};
};

TEST_F(ReferencePagesTest, nodes_are_listed_for_people_and_for_programs) {
  add_node("0000000001", R"("type": ["small", "b"], "provider": "rack", "pool": "main",
                            "connection_port": {"token": "t"}, "external_id": "x")");
  EXPECT_THAT(text("/node-list"),
              HasSubstr("| 0000000001 | rack     | small,b | x         |             |      | "
                        "ready | 00:00:00:10 | unlocked | main |"));
  EXPECT_EQ(json("/node-list"),
            R"([{"id": "0000000001", "provider": "rack", "label": ["small", "b"], )"
            R"("server_id": "x", "public_ipv4": null, "ipv6": null, "state": "ready", )"
            R"("age": "00:00:00:10", "locked": "unlocked", "pool": "main", "hostname": null, )"
            R"("private_ipv4": null, "AZ": null, "username": "zuul", )"
            R"("connection_port": "redacted", "launcher": null, "allocated_to": null, )"
            R"("hold_job": null, "comment": null, "user_data": null, "driver_data": null}])");
}

TEST_F(ReferencePagesTest, one_node_may_be_asked_for) {
  add_node("0000000001", R"("type": ["small"])");
  add_node("0000000002", R"("type": ["small"])");
  EXPECT_THAT(json("/node-list?node_id=0000000002"), Not(HasSubstr("0000000001")));
  EXPECT_EQ(json("/node-list?node_id=7"), "[]");
  EXPECT_THAT(json("/node-list?node_id="), HasSubstr("0000000001"));
  EXPECT_THAT(json("/node-list?node_id=7&node_id=0000000001"), HasSubstr("0000000001"));
}

TEST_F(ReferencePagesTest, fields_restrict_the_text_alone) {
  add_node("0000000001", R"("type": ["small"])");
  EXPECT_EQ(text("/node-list?fields=state,id,nothing"),
            "+------------+-------+\n"
            "| ID         | State |\n"
            "+------------+-------+\n"
            "| 0000000001 | ready |\n"
            "+------------+-------+");
  EXPECT_EQ(text("/node-list?fields=nothing"), "++\n||\n++\n\n++");
  EXPECT_THAT(json("/node-list?fields=id"), HasSubstr("state"));
  EXPECT_EQ(text("/node-list?fields="), text("/node-list"));
}

TEST_F(ReferencePagesTest, builds_and_uploads_say_to_programs_since_when) {
  add(model::image_path("img"), "");
  add(model::build_path("img", "b2"),
      R"({"state": "ready", "state_time": 1699999940.7, "builder": "host", "formats": "qcow2"})");
  add(model::build_path("img", "b1"), R"({"state": "building", "state_time": 1699999950})");
  add(model::upload_path("img", "b2", "cloud", "0000000001"),
      R"({"state": "ready", "state_time": 1699999990, "external_id": "e", "external_name": "n"})");
  EXPECT_EQ(json("/dib-image-list"),
            R"([{"id": "img-b1", "image": "img", "builder": null, "formats": [], )"
            R"("state": "building", "age": 1699999950}, )"
            R"({"id": "img-b2", "image": "img", "builder": "host", "formats": ["qcow2"], )"
            R"("state": "ready", "age": 1699999940}])");
  EXPECT_EQ(json("/image-list"),
            R"([{"id": "b2", "upload_id": "0000000001", "provider": "cloud", "image": "img", )"
            R"("external_name": "n", "external_id": "e", "state": "ready", "age": 1699999990}])");
  EXPECT_THAT(text("/image-list"), HasSubstr("00:00:00:10"));
  EXPECT_EQ(json("/image-status"), R"([{"image": "img", "paused": false, "build_request": null, )"
                                   R"("build_request_age": null}])");
}

TEST_F(ReferencePagesTest, requests_and_labels_are_listed) {
  add(model::request_path("200-0000000001"),
      R"({"state": "requested", "state_time": 1, "node_types": ["small"], "requestor": "zuul"})");
  EXPECT_EQ(json("/request-list"),
            R"([{"id": "200-0000000001", "relative_priority": 0, "state": "requested", )"
            R"("requestor": "zuul", "node_types": ["small"], "nodes": [], "declined_by": [], )"
            R"("event_id": null}])");
  EXPECT_EQ(json("/label-list"), "[]");
}

TEST_F(ReferencePagesTest, what_is_not_there_is_not_found_in_the_form_of_the_client) {
  const Response plain = get("/node-list/");
  EXPECT_EQ(plain.status, 404U);
  EXPECT_THAT(*plain.body, testing::StartsWith("404 Not Found\n\nThe resource could not"));
  EXPECT_THAT(*get("/x", {{"accept", "text/html"}}).body, HasSubstr("<h1>404 Not Found</h1>"));
  EXPECT_EQ(*get("/x", {{"accept", "application/json"}}).body,
            R"({"message": "The resource could not be found.<br /><br />\n\n\n", )"
            R"("code": "404 Not Found", "title": "Not Found"})");
  EXPECT_EQ(get("/node-list", {{"accept", "image/png"}}).status, 406U);
}

TEST_F(ReferencePagesTest, other_sites_may_embed_lists_that_require_no_token) {
  Response response = get("/node-list");
  EXPECT_THAT(response.headers, Contains(Pair("Content-Security-Policy", "default-src 'none'")));
  make_private(response);
  EXPECT_THAT(response.headers, Not(Contains(Key("Content-Security-Policy"))))
      << "the server's default forbids it";
}

TEST_F(ReferencePagesTest, within_a_second_the_same_is_shown) {
  add_node("0000000001", R"("type": ["small"])");
  const Response first = get("/node-list");
  EXPECT_THAT(first.headers, Contains(Pair("Last-Modified", "Tue, 14 Nov 2023 22:13:20 GMT")));
  EXPECT_THAT(first.headers, Contains(Pair("Expires", "Tue, 14 Nov 2023 22:13:21 GMT")));
  EXPECT_THAT(first.headers, Contains(Pair("Cache-Control", "max-age=1, public")));
  EXPECT_THAT(first.headers, Contains(Pair("Access-Control-Allow-Origin", "*")));
  add_node("0000000002", R"("type": ["small"])");
  EXPECT_EQ(get("/node-list?more=1").body, first.body);
  clock_.advance_by(std::chrono::seconds(1));
  EXPECT_THAT(text("/node-list"), HasSubstr("0000000002"));
}

TEST_F(ReferencePagesTest, columns_are_known_by_what_they_are_however_they_are_asked_for) {
  add_node("0000000001", R"("type": ["small"])");
  const auto body = [this](const std::string& target) { return get(target).body; };
  EXPECT_EQ(body("/node-list?fields=id,state"), body("/node-list?fields=state,id,state,,x17&y=1"));
  EXPECT_EQ(body("/node-list?fields=nothing"), body("/node-list?fields=nothing-else"));
  EXPECT_EQ(body("/label-list?fields=label,x"), body("/label-list"));
  EXPECT_EQ(get("/node-list?fields=id", {{"accept", "application/json"}}).body,
            get("/node-list", {{"accept", "application/json"}}).body);
}

TEST_F(ReferencePagesTest, the_loop_turns_while_a_long_list_is_made) {
  for (int i = 0; i < 1000; ++i) add_node(std::to_string(1'000'000 + i), R"("type": ["small"])");
  Request request;
  ASSERT_TRUE(parse_target("/node-list", request));
  std::optional<Response> response;
  const auto ask = [](ReferencePages& pages, Request asked,
                      std::optional<Response>& answer) -> async::Task<> {
    answer = co_await pages.answer(std::move(asked));
  };
  const auto count = [](std::optional<Response>& answer, int& turns) -> async::Task<> {
    for (; !answer; ++turns) co_await boost::asio::post(boost::asio::use_awaitable);
  };
  int turns = 0;
  scope_.spawn("asks", ask(pages_, request, response));
  loop_.run(count(response, turns));
  EXPECT_GE(turns, 5);
  EXPECT_THAT(*response->body, HasSubstr("| 1000999 "));
}

TEST_F(ReferencePagesTest, without_the_store_a_client_is_asked_to_retry) {
  store_.suspend_for_tests();
  loop_.poll();
  ASSERT_FALSE(records_.ready());
  Request request;
  ASSERT_TRUE(parse_target("/node-list", request));
  std::optional<Response> response;
  const auto ask = [](ReferencePages& pages, Request asked,
                      std::optional<Response>& answer) -> async::Task<> {
    answer = co_await pages.answer(std::move(asked));
  };
  scope_.spawn("asks", ask(pages_, request, response));
  loop_.poll();
  clock_.advance_by(kRecordsTimeout - std::chrono::seconds(1));
  loop_.poll();
  EXPECT_FALSE(response) << "the store may come back";
  clock_.advance_by(std::chrono::seconds(1));
  loop_.poll();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 503U);
  EXPECT_THAT(response->headers, Contains(Key("Retry-After")));
}

TEST_F(ReferencePagesTest, many_column_selections_do_not_delay_other_clients) {
  add_node("0000000001", R"("type": ["small"])");
  std::vector<unsigned> statuses;
  const auto ask = [](ReferencePages& pages, std::string target,
                      std::vector<unsigned>& all) -> async::Task<> {
    Request request;
    EXPECT_TRUE(parse_target(target, request));
    const Response response = co_await pages.answer(std::move(request));
    all.push_back(response.status);
  };
  async::TaskScope clients(runtime_, [](const auto&, const auto& error) { FAIL() << error; });
  for (int i = 0; i < 100; ++i) {
    clients.spawn("chooses", ask(pages_, "/node-list?fields=id," + std::to_string(i), statuses));
  }
  clients.spawn("takes all", ask(pages_, "/node-list", statuses));
  loop_.run(clients.join());
  EXPECT_EQ(std::ranges::count(statuses, 200U), 65);
  EXPECT_EQ(std::ranges::count(statuses, 503U), 36);
}

TEST_F(ReferencePagesTest, an_unmodified_page_is_not_sent_again) {
  const Response same = get("/node-list", {{"if-modified-since", "Tue, 14 Nov 2023 22:13:20 GMT"}});
  EXPECT_EQ(same.status, 304U);
  EXPECT_EQ(same.body, nullptr);
  EXPECT_THAT(same.headers, Contains(Key("Last-Modified")));
  EXPECT_EQ(get("/node-list", {{"if-modified-since", "Tue, 14 Nov 2023 22:13:19 GMT"}}).status,
            200U);
}

TEST_F(ReferencePagesTest, a_part_may_be_asked_for) {
  const std::string all = text("/label-list");
  const auto part = [this](const std::string& range) {
    return get("/label-list", {{"range", range}});
  };
  EXPECT_EQ(*part("bytes=1-3").body, all.substr(1, 3));
  EXPECT_EQ(part("bytes=1-3").status, 206U);
  EXPECT_THAT(part("bytes=1-3").headers,
              Contains(Pair("Content-Range", "bytes 1-3/" + std::to_string(all.size()))));
  EXPECT_EQ(*part("bytes=5-").body, all.substr(5));
  EXPECT_EQ(*part("bytes=-2").body, all.substr(all.size() - 2));
  EXPECT_EQ(*part("bytes=0-99999999").body, all);
  EXPECT_EQ(part("bytes=99999999-").status, 416U);
  for (const char* range : {"lines=1-2", "bytes=", "bytes=-", "bytes=3-1", "bytes=a-b",
                            "bytes=1-2,4-5", "bytes=99999999999999999999-"}) {
    EXPECT_EQ(part(range).status, 200U) << range;
  }
}

}  // namespace
}  // namespace nodepool::web
