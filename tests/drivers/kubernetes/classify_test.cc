#include "drivers/kubernetes/api/classify.h"

#include <gtest/gtest.h>

namespace nodepool::drivers::kubernetes {
namespace {

using cloud::Effect;
using ErrorKind = driver::CloudError::Kind;

// What a cluster answers, and what the driver does.
struct Meaning {
  int status;
  const char* body;
  Effect effect;
  ErrorKind kind;
  std::string_view code;
  const char* message;
};

constexpr Meaning kMeanings[] = {
    {403, R"({"message": "pods \"a\" is forbidden: exceeded quota: q", "reason": "Forbidden"})",
     Effect::creates, ErrorKind::quota, "Forbidden",
     "HTTP 403: pods \"a\" is forbidden: exceeded quota: q"},
    {403, R"({"message": "cannot list pods", "reason": "Forbidden"})", Effect::none,
     ErrorKind::permanent, "Forbidden", "HTTP 403: cannot list pods"},
    {403, R"({"message": "pods is forbidden", "reason": "Forbidden"})", Effect::creates,
     ErrorKind::failed, "Forbidden", "HTTP 403: pods is forbidden"},
    {403,
     R"({"message": "forbidden: error looking up service account a/default", "reason": "Forbidden"})",
     Effect::creates_named, ErrorKind::failed, kNewNamespace,
     "HTTP 403: forbidden: error looking up service account a/default"},
    {403,
     R"({"message": "pods \"a\" is forbidden: status unknown for quota: q", "reason": "Forbidden"})",
     Effect::creates_named, ErrorKind::failed, kNewNamespace,
     "HTTP 403: pods \"a\" is forbidden: status unknown for quota: q"},
    {403, R"({"message": "secrets is forbidden", "reason": "Forbidden"})", Effect::creates_named,
     ErrorKind::failed, "Forbidden", "HTTP 403: secrets is forbidden"},
    {409, R"({"message": "exists", "reason": "AlreadyExists"})", Effect::creates, ErrorKind::failed,
     kAlreadyExists, "HTTP 409: exists"},
    {409, R"({"message": "of resourcequotas", "reason": "Conflict"})", Effect::creates,
     ErrorKind::transient, kConflict, "HTTP 409: of resourcequotas"},
    {409, "", Effect::none, ErrorKind::transient, kConflict, "HTTP 409"},
    {404, R"({"message": "none", "reason": "NotFound"})", Effect::none, ErrorKind::not_found,
     kNotFound, "HTTP 404: none"},
    {404, "404 page not found", Effect::none, ErrorKind::transient, "",
     "HTTP 404: 404 page not found"},
    {404, R"({"message": "no route matched"})", Effect::creates, ErrorKind::transient, "",
     "HTTP 404: no route matched"},
    {403, "<html>Forbidden</html>", Effect::none, ErrorKind::transient, "",
     "HTTP 403: <html>Forbidden</html>"},
    {401, R"({"message": "Unauthorized", "reason": "Unauthorized"})", Effect::none, ErrorKind::auth,
     "Unauthorized", "HTTP 401: Unauthorized"},
    {429, R"({"message": "later", "reason": "TooManyRequests"})", Effect::creates,
     ErrorKind::transient, "TooManyRequests", "HTTP 429: later"},
    {500, "", Effect::creates, ErrorKind::unknown_outcome, "", "HTTP 500"},
    {500, "", Effect::creates_named, ErrorKind::transient, "", "HTTP 500"},
    {503, "down", Effect::none, ErrorKind::transient, "", "HTTP 503: down"},
};

TEST(Classify, knows_kubernetes_errors) {
  for (const Meaning& meaning : kMeanings) {
    const cloud::Refusal refusal =
        classify({.status = meaning.status, .headers = {}, .body = meaning.body}, meaning.effect);
    EXPECT_EQ(refusal.kind, meaning.kind) << meaning.message;
    EXPECT_EQ(refusal.code, meaning.code) << meaning.message;
    EXPECT_EQ(refusal.message, meaning.message);
    EXPECT_EQ(refusal.renew_credentials, meaning.status == 401);
    EXPECT_EQ(refusal.slow_down, meaning.status == 429);
    EXPECT_EQ(refusal.had_no_effect, meaning.code == kConflict);
    if (meaning.code == kConflict) EXPECT_TRUE(refusal.retry);
  }
}

// Whether the response to a call that creates nothing says that the user lacks a permission.
bool is_refused_by_role(int status, const char* body) {
  const cloud::Refusal refusal =
      classify({.status = status, .headers = {}, .body = body}, Effect::none);
  return lacks_permission(driver::CloudError(refusal.kind, refusal.message, {}, refusal.code));
}

TEST(LacksPermission, believes_only_the_cluster) {
  EXPECT_TRUE(is_refused_by_role(403, R"({"message": "cannot list pods", "reason": "Forbidden"})"));
  EXPECT_FALSE(is_refused_by_role(403, "<html>Forbidden</html>")) << "a proxy";
  EXPECT_FALSE(is_refused_by_role(403, "")) << "a proxy";
  EXPECT_FALSE(is_refused_by_role(503, R"({"message": "down", "reason": "Forbidden"})"));
}

}  // namespace
}  // namespace nodepool::drivers::kubernetes
