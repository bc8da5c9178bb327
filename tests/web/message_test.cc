// Tests request targets, forms, content negotiation, and dates.

#include "web/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "web/http_date.h"
#include "web/negotiation.h"
#include "web/request_reader.h"

namespace nodepool::web {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(TargetTest, a_path_and_its_parameters_are_decoded) {
  Request request;
  ASSERT_TRUE(parse_target("/node%2dlist?node_id=1%202&fields=a+b&empty&&=x", request));
  EXPECT_EQ(request.path, "/node-list");
  EXPECT_THAT(request.parameters, ElementsAre(Pair("node_id", "1 2"), Pair("fields", "a b"),
                                              Pair("empty", ""), Pair("", "x")));
}

TEST(TargetTest, what_is_no_path_is_refused) {
  for (const char* target : {"", "node-list", "*", "/a%zz", "/a%1", "/%"}) {
    Request request;
    EXPECT_FALSE(parse_target(target, request)) << target;
  }
}

TEST(TargetTest, a_parameter_that_cannot_be_decoded_does_not_count) {
  Request request;
  ASSERT_TRUE(parse_target("/a?b=%zz&c=d", request));
  EXPECT_THAT(request.parameters, ElementsAre(Pair("c", "d")));
}

TEST(TargetTest, of_a_repeated_parameter_the_last_counts) {
  Request request;
  ASSERT_TRUE(parse_target("/a?b=1&b=2", request));
  EXPECT_EQ(*request.parameter("b"), "2");
  EXPECT_EQ(request.parameter("c"), nullptr);
}

TEST(ResponseTest, private_responses_are_not_cached_or_shared_with_other_origins) {
  Response response{200,
                    {{"Access-Control-Allow-Origin", "*"},
                     {"Cache-Control", "max-age=1, public"},
                     {"Content-Type", "text/plain"}}};
  make_private(response);
  EXPECT_THAT(response.headers,
              ElementsAre(Pair("Content-Type", "text/plain"), Pair("Cache-Control", "no-store")));
}

TEST(RequestTest, logs_show_the_beginning_of_what_a_client_asks_for) {
  EXPECT_EQ(request_summary({.method = "GET", .path = "/a", .parameters = {}, .headers = {}}),
            "GET /a");
  const std::string text = request_summary({.method = std::string(100, 'X'),
                                            .path = "/" + std::string(1000, 'x'),
                                            .parameters = {},
                                            .headers = {}});
  EXPECT_EQ(text, std::string(20, 'X') + " /" + std::string(199, 'x') + "…");
}

TEST(RequestTest, a_request_is_one_line_of_a_log) {
  Request request{.method = "GET", .path = {}, .parameters = {}, .headers = {}};
  ASSERT_TRUE(parse_target("/a%0Aroot from 127.0.0.1:%0d%09%1b%C2%85", request));
  EXPECT_EQ(request_summary(request), R"(GET /a\x0aroot from 127.0.0.1:\x0d\x09\x1b\x85)");
  const Request long_one{
      .method = "GET", .path = "/" + std::string(1000, '\n'), .parameters = {}, .headers = {}};
  EXPECT_LT(request_summary(long_one).size(), 220U);
}

std::optional<MediaType> chosen(const std::string& accept) {
  return negotiate(&accept);
}

TEST(NegotiationTest, the_highest_quality_wins_and_of_equal_ones_the_first_offer) {
  EXPECT_EQ(negotiate(nullptr), MediaType::html);
  for (const char* accept : {"*/*", "text/*", "text/html", "application/json, text/html"}) {
    EXPECT_EQ(chosen(accept), MediaType::html) << accept;
  }
  EXPECT_EQ(chosen("text/plain"), MediaType::text);
  for (const char* accept :
       {"application/json", "application/*", "text/html;q=0.5, application/json",
        "*/*;q=0.1, application/json", "APPLICATION/JSON ; q=0.3, image/png", "text/*;q=0, */*"}) {
    EXPECT_EQ(chosen(accept), MediaType::json) << accept;
  }
}

TEST(NegotiationTest, a_client_may_want_nothing_that_there_is) {
  for (const char* accept :
       {"", ",", "image/png", "application/xml", "text/html;q=0", R"(image/png;a="b\",c/d")"}) {
    EXPECT_EQ(chosen(accept), std::nullopt) << accept;
  }
}

TEST(NegotiationTest, a_malformed_header_counts_as_missing) {
  for (const char* accept :
       {"json", "*", "text", ",;,", ";q=1", "application/json;q=2", "application/json;q=.5",
        "application/json;q=", "application/json;q=0.5x", "application/json;a", "application/",
        "application/json text/plain", "application/json, *", R"(application/json;a="b)"}) {
    EXPECT_EQ(chosen(accept), MediaType::html) << accept;
  }
  for (const char* accept : {"application/json;q=1;a", R"(application/json;a="b, \"c\";"; q=0.5)",
                             ", application/json;q=0.123 ,,"}) {
    EXPECT_EQ(chosen(accept), MediaType::json) << accept;
  }
}

TEST(HttpDateTest, dates_are_written_and_read) {
  EXPECT_EQ(http_date(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), 784111777);
}

TEST(HttpDateTest, what_is_no_date_is_none) {
  for (const char* text :
       {"", "yesterday", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 CET",
        "Mon, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:99:37 GMT",
        "Sun, 06 Nox 1994 08:49:37 GMT", "Sun, \xff\xff Nov 1994 08:49:37 GMT"}) {
    EXPECT_EQ(parse_http_date(text), std::nullopt) << text;
  }
}

TEST(RequestTest, a_multipart_form_is_a_form_without_parameters) {
  const auto read = [](const std::string& type, const std::string& body) {
    Connection::Parser::value_type message;
    message.target("/a?b=c");
    message.set(boost::beast::http::field::content_type, type);
    message.body() = body;
    Request request;
    EXPECT_FALSE(read_request({}, message, request));
    EXPECT_EQ(request.parameters.size(), 1U);
    return request.has_form;
  };
  EXPECT_TRUE(read("multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data\r\n"));
  EXPECT_FALSE(read("multipart/form-data; boundary=x", R"({"labels": ["small"]})"));
  EXPECT_FALSE(read("application/json", "broken"));
}

}  // namespace
}  // namespace nodepool::web
