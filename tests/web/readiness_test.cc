#include "web/readiness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nodepool::web {
namespace {

using telemetry::Health;
using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Key;
using testing::Not;
using testing::Pair;

Response ask(const Health& health, const std::string& target = "/ready",
             const std::string& accept = "") {
  Request request;
  EXPECT_TRUE(parse_target(target, request));
  if (!accept.empty()) request.headers["accept"] = accept;
  return readiness_page(health, request);
}

const Health kAway{.obstacles = {"no connection to <zk1> for 12 s", "the start is not over"},
                   .warnings = {"provider sky is not in service"}};
const Health kWell{.obstacles = {}, .warnings = {"provider sky is not in service"}};

TEST(ReadinessTest, the_response_of_a_ready_daemon_equals_the_python_nodepool) {
  EXPECT_EQ(ask(kWell).status, 200U);
  EXPECT_EQ(*ask(kWell).body, "OK");
  EXPECT_EQ(*ask(kWell, "/ready", "application/json").body, "OK");
  EXPECT_EQ(ask(kWell, "/ready", "image/png").status, 406U);
}

TEST(ReadinessTest, other_origins_may_read_it_as_with_the_python_nodepool) {
  EXPECT_THAT(ask(kWell).headers, IsSupersetOf({Pair("Access-Control-Allow-Origin", "*"),
                                                Pair("Cache-Control", "max-age=1, public")}));
  EXPECT_THAT(ask(kAway).headers, Not(Contains(Key("Access-Control-Allow-Origin"))));
}

TEST(ReadinessTest, a_daemon_that_is_not_ready_reports_the_reason) {
  const Response text = ask(kAway);
  EXPECT_EQ(text.status, 503U);
  EXPECT_THAT(*text.body, HasSubstr("Not ready: no connection to <zk1> for 12 s; the start"));
  EXPECT_THAT(*ask(kAway, "/ready", "application/json").body,
              HasSubstr("\"message\": \"The server"));
  EXPECT_THAT(*ask(kAway, "/ready", "text/html").body, HasSubstr("connection to &lt;zk1> for"));
}

TEST(ReadinessTest, the_details_list_what_needs_attention) {
  EXPECT_EQ(*ask(kWell, "/ready?detail").body, "OK\nwarning: provider sky is not in service\n");
  EXPECT_EQ(*ask(kWell, "/ready?detail=1", "application/json").body,
            R"({"ready": true, "obstacles": [], "warnings": ["provider sky is not in service"]})");
  const Response away = ask(kAway, "/ready?detail");
  EXPECT_EQ(away.status, 503U);
  EXPECT_EQ(*away.body,
            "not ready\nobstacle: no connection to <zk1> for 12 s\n"
            "obstacle: the start is not over\nwarning: provider sky is not in service\n");
}

}  // namespace
}  // namespace nodepool::web
