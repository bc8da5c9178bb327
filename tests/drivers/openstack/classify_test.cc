#include "drivers/openstack/api/classify.h"

#include <gtest/gtest.h>

namespace nodepool::drivers::openstack {
namespace {

using cloud::Effect;
using Kind = driver::CloudError::Kind;

// What a service answers, and what the driver does.
struct Meaning {
  int status;
  const char* body;
  Effect effect;
  Kind kind;
  const char* code;
  const char* message;
};

constexpr Meaning kMeanings[] = {
    {403, R"({"forbidden": {"message": "Quota exceeded for cores", "code": 403}})", Effect::creates,
     Kind::quota, "forbidden", "HTTP 403: Quota exceeded for cores"},
    {409, R"({"NeutronError": {"type": "OverQuota", "message": "Quota exceeded for: ['port']"}})",
     Effect::creates, Kind::quota, "OverQuota", "HTTP 409: Quota exceeded for: ['port']"},
    {403, R"({"forbidden": {"message": "Maximum number of ports exceeded"}})", Effect::creates,
     Kind::quota, "forbidden", "HTTP 403: Maximum number of ports exceeded"},
    {403, R"({"forbidden": {"message": "policy"}})", Effect::creates, Kind::failed, "forbidden",
     "HTTP 403: policy"},
    {403, R"({"forbidden": {"message": "policy"}})", Effect::none, Kind::permanent, "forbidden",
     "HTTP 403: policy"},
    {404, R"({"itemNotFound": {"message": "no server"}})", Effect::none, Kind::not_found,
     "itemNotFound", "HTTP 404: no server"},
    {401, R"({"error": {"message": "no", "title": "Unauthorized"}})", Effect::none, Kind::auth,
     "error", "HTTP 401: no"},
    {429, "", Effect::creates, Kind::transient, "", "HTTP 429"},
    {503, "<html>", Effect::none, Kind::transient, "", "HTTP 503: <html>"},
    {500, "", Effect::creates, Kind::unknown_outcome, "", "HTTP 500"},
    {400, R"({"badRequest": {"message": "bad flavor"}})", Effect::creates, Kind::failed,
     "badRequest", "HTTP 400: bad flavor"},
};

TEST(Classify, knows_openstack_errors) {
  for (const Meaning& meaning : kMeanings) {
    const cloud::Refusal refusal =
        classify({.status = meaning.status, .headers = {}, .body = meaning.body}, meaning.effect);
    EXPECT_EQ(refusal.kind, meaning.kind) << meaning.message;
    EXPECT_EQ(refusal.code, meaning.code) << meaning.message;
    EXPECT_EQ(refusal.message, meaning.message);
    EXPECT_EQ(refusal.renew_credentials, meaning.status == 401);
    EXPECT_EQ(refusal.slow_down, meaning.status == 429);
  }
}

// Bodies of a 404: of Nova and Cinder, of Neutron, of their routers for a wrong URL, of proxies.
TEST(Classify, knows_what_a_service_itself_does_not_find) {
  const auto kind_of = [](int status, const char* body, cloud::Classify by) {
    return by({.status = status, .headers = {}, .body = body}, Effect::none).kind;
  };
  for (const char* body :
       {R"({"itemNotFound": {"code": 404, "message": "Instance a could not be found."}})",
        R"({"computeFault": {"code": 404, "message": "gone"}})",
        R"({"NeutronError": {"type": "FloatingIPNotFound", "message": "gone", "detail": ""}})",
        R"({"NeutronError": {"type": "HTTPNotFound", "message": "not found.", "detail": ""}})"}) {
    EXPECT_EQ(kind_of(404, body, classify_named), Kind::not_found) << body;
  }
  EXPECT_EQ(kind_of(403, R"({"forbidden": {"message": "policy"}})", classify_named),
            Kind::permanent);
  EXPECT_EQ(kind_of(403, "<html>quota exceeded</html>", classify_named), Kind::quota);
  for (const char* body :
       {"", "{}", "<html>404 Not Found</html>", "404 page not found",
        R"({"message": "no Route matched with those values"})",
        R"({"message": "not found.<br />", "code": "404 Not Found", "title": "Not Found"})"}) {
    EXPECT_EQ(kind_of(404, body, classify_named), Kind::transient) << body;
    EXPECT_EQ(kind_of(403, body, classify_named), Kind::transient) << body;
    EXPECT_EQ(kind_of(404, body, classify), Kind::not_found) << body;
  }
  EXPECT_EQ(kind_of(400, "", classify_named), Kind::failed);
}

}  // namespace
}  // namespace nodepool::drivers::openstack
