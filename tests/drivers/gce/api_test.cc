// What Compute Engine's answers mean.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/event_loop.h"
#include "cloud/answer.h"
#include "drivers/gce/api/access_tokens.h"
#include "drivers/gce/api/compute_engine.h"
#include "drivers/gce/api/refusal.h"
#include "drivers/gce/pausing_rate_limit.h"
#include "tests/support/http_server.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::drivers::gce {
namespace {

using cloud::Effect;
using driver::CloudError;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;
using Kind = CloudError::Kind;

cloud::Element element(const std::string& text) {
  return cloud::parse_answer("test", {.status = 200, .headers = {}, .body = text});
}

// --- refusals

http::Response refusal(int status, const std::string& reason, const std::string& message = "no") {
  const json::Json body = {
      {"error",
       {{"code", status},
        {"message", message},
        {"errors", json::Json::array({{{"message", message}, {"reason", reason}}})}}}};
  return {.status = status, .headers = {}, .body = body.dump()};
}

constexpr const char* kTooManyCalls =
    "Quota exceeded for quota metric 'Queries' and limit 'Queries per minute' of service "
    "'compute.googleapis.com' for consumer 'project_number:1'.";
constexpr const char* kTooManyCpus = "Quota 'CPUS' exceeded.  Limit: 24.0 in region us-central1.";

TEST(GceRefusal, its_kind_depends_on_status_reason_and_effect) {
  struct Case {
    int status;
    const char* reason;
    Kind of_creation;
    Kind of_others;
  };
  const Case cases[] = {
      {400, "invalid", Kind::failed, Kind::failed},
      {400, "resourceNotReady", Kind::transient, Kind::transient},
      {401, "authError", Kind::auth, Kind::auth},
      {403, "forbidden", Kind::failed, Kind::permanent},
      {403, "accessNotConfigured", Kind::failed, Kind::permanent},
      {403, "rateLimitExceeded", Kind::transient, Kind::transient},
      {403, "userRateLimitExceeded", Kind::transient, Kind::transient},
      {403, "quotaExceeded", Kind::quota, Kind::quota},
      {404, "notFound", Kind::not_found, Kind::not_found},
      {404, "RESOURCE_NOT_FOUND", Kind::not_found, Kind::not_found},
      {409, "alreadyExists", Kind::failed, Kind::failed},
      {412, "conditionNotMet", Kind::failed, Kind::failed},
      {429, "anything", Kind::transient, Kind::transient},
      {500, "backendError", Kind::unknown_outcome, Kind::transient},
      {503, "backendError", Kind::unknown_outcome, Kind::transient},
      {503, "ZONE_RESOURCE_POOL_EXHAUSTED", Kind::no_capacity, Kind::no_capacity},
      {403, "GPU_STOCKOUT", Kind::no_capacity, Kind::no_capacity},
  };
  for (const Case& tried : cases) {
    const http::Response response = refusal(tried.status, tried.reason);
    EXPECT_EQ(classify(response, Effect::creates).kind, tried.of_creation) << tried.reason;
    EXPECT_EQ(classify(response, Effect::none).kind, tried.of_others) << tried.reason;
    EXPECT_EQ(classify(response, Effect::none).code, tried.reason);
  }
}

TEST(GceRefusal, too_many_calls_are_told_apart_from_too_many_resources) {
  const auto of_calls = classify(refusal(403, "quotaExceeded", kTooManyCalls), Effect::creates);
  EXPECT_EQ(of_calls.kind, Kind::transient);
  EXPECT_TRUE(of_calls.slow_down);
  const auto of_cpus = classify(refusal(403, "quotaExceeded", kTooManyCpus), Effect::creates);
  EXPECT_EQ(of_cpus.kind, Kind::quota);
  EXPECT_FALSE(of_cpus.slow_down);
  EXPECT_FALSE(of_cpus.retry);
  EXPECT_THAT(of_cpus.message, HasSubstr("HTTP 403 quotaExceeded: Quota 'CPUS' exceeded."));
}

TEST(GceRefusal, what_is_tried_again) {
  EXPECT_TRUE(classify(refusal(403, "rateLimitExceeded"), Effect::creates).slow_down);
  EXPECT_TRUE(classify(refusal(429, "rateLimitExceeded"), Effect::none).slow_down);
  EXPECT_TRUE(classify(refusal(503, "backendError"), Effect::creates).retry);
  EXPECT_FALSE(classify(refusal(503, "ZONE_RESOURCE_POOL_EXHAUSTED"), Effect::creates).retry);
  EXPECT_TRUE(classify(refusal(401, "authError"), Effect::none).renew_credentials);
  EXPECT_FALSE(classify(refusal(403, "forbidden"), Effect::none).renew_credentials);
}

TEST(GceRefusal, its_code_may_be_elsewhere_or_missing) {
  const auto newer = classify({.status = 429,
                               .headers = {},
                               .body = R"({"error": {"message": "m", "status": "RESOURCE_EXHAUSTED",
                               "details": [{"reason": "RATE_LIMIT_EXCEEDED"}]}})"},
                              Effect::none);
  EXPECT_EQ(newer.code, "RATE_LIMIT_EXCEEDED");
  const auto by_status = classify(
      {.status = 403, .headers = {}, .body = R"({"error": {"status": "PERMISSION_DENIED"}})"},
      Effect::none);
  EXPECT_EQ(by_status.code, "PERMISSION_DENIED");
  for (const char* body : {"", "<html>", "[]", "{}", R"({"error": 5})",
                           R"({"error": {"errors": 5, "details": [7]}})"}) {
    const auto refused = classify({.status = 502, .headers = {}, .body = body}, Effect::none);
    EXPECT_EQ(refused.kind, Kind::transient);
    EXPECT_EQ(refused.code, "");
  }
}

// --- operations

// As Google reports them; see also `compute#operation` in the API's description.
std::string failed_operation(const std::string& code, const std::string& message) {
  const json::Json operation = {
      {"kind", "compute#operation"},
      {"name", "operation-1"},
      {"status", "DONE"},
      {"error",
       {{"errors",
         json::Json::array(
             {{{"code", code}, {"message", message}, {"errorDetails", json::Json::array()}}})}}},
      {"httpErrorStatusCode", 403}};
  return operation.dump();
}

TEST(GceOperation, its_error_has_a_kind) {
  const auto error_with = [](const std::string& code, const std::string& message = "m") {
    return failure_of(read_operation(element(failed_operation(code, message))), "insert np1");
  };
  for (const char* code :
       {"ZONE_RESOURCE_POOL_EXHAUSTED", "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS",
        "REGION_RESOURCE_POOL_EXHAUSTED", "RESOURCE_POOL_EXHAUSTED", "STOCKOUT", "GPU_STOCKOUT"}) {
    EXPECT_EQ(error_with(code).kind(), Kind::no_capacity) << code;
  }
  EXPECT_EQ(error_with("QUOTA_EXCEEDED", kTooManyCpus).kind(), Kind::quota);
  EXPECT_EQ(
      error_with("QUOTA_EXCEEDED", "Quota 'CPUS_ALL_REGIONS' exceeded.  Limit: 32.0 globally.")
          .kind(),
      Kind::quota);
  for (const char* code : {"RESOURCE_ALREADY_EXISTS", "RESOURCE_NOT_FOUND", "INTERNAL_ERROR",
                           "CONCURRENT_OPERATIONS_QUOTA_EXCEEDED", "UNKNOWN"}) {
    EXPECT_EQ(error_with(code).kind(), Kind::failed) << code;
  }
  const CloudError error = error_with("QUOTA_EXCEEDED", kTooManyCpus);
  EXPECT_STREQ(error.what(),
               "insert np1: QUOTA_EXCEEDED: Quota 'CPUS' exceeded.  Limit: 24.0 in region "
               "us-central1.");
  EXPECT_EQ(error.code(), "QUOTA_EXCEEDED");
}

TEST(GceOperation, it_is_read) {
  const ComputeOperation running =
      read_operation(element(R"({"name": "operation-1", "status": "RUNNING", "progress": 0})"));
  EXPECT_EQ(running.name, "operation-1");
  EXPECT_FALSE(running.is_done);
  EXPECT_EQ(running.code, "");
  EXPECT_TRUE(read_operation(element(R"({"name": "o", "status": "DONE"})")).is_done);
  EXPECT_EQ(
      read_operation(element(R"({"name": "o", "status": "DONE", "error": {"errors": []}})")).code,
      "UNKNOWN");
}

// --- instances

TEST(GceInstance, it_is_read) {
  const ComputeInstance instance = read_instance(element(R"({
    "id": "8", "name": "np0000000001", "status": "RUNNING",
    "zone": "https://www.googleapis.com/compute/v1/projects/p/zones/us-central1-a",
    "machineType": "https://www.googleapis.com/compute/v1/projects/p/zones/us-central1-a/machineTypes/n1-standard-1",
    "metadata": {"fingerprint": "x", "items": [
      {"key": "nodepool_node_id", "value": "0000000001"}, {"key": "startup-script", "value": "large"}]},
    "networkInterfaces": [{"networkIP": "10.240.0.2",
                           "accessConfigs": [{"type": "ONE_TO_ONE_NAT", "natIP": "192.0.2.1"}]}]})"));
  EXPECT_EQ(instance.name, "np0000000001");
  EXPECT_TRUE(instance.is_running());
  EXPECT_EQ(instance.machine_type, "n1-standard-1");
  EXPECT_EQ(instance.private_ipv4, "10.240.0.2");
  EXPECT_EQ(instance.public_ipv4, "192.0.2.1");
  EXPECT_THAT(instance.metadata, ElementsAre(Pair("nodepool_node_id", "0000000001")));
  const ComputeInstance least =
      read_instance(element(R"({"name": "other", "status": "PROVISIONING"})"));
  EXPECT_EQ(least.public_ipv4, "");
  EXPECT_THROW(read_instance(element(R"({"name": "other"})")), CloudError);
}

TEST(GceInstance, its_status_is_one_of_four) {
  for (const char* status :
       {"PENDING", "PROVISIONING", "STAGING", "RUNNING", "REPAIRING", "PENDING_STOP", "STOPPING",
        "DEPROVISIONING", "SUSPENDING", "SUSPENDED", "TERMINATED"}) {
    ComputeInstance instance;
    instance.status = status;
    EXPECT_EQ(
        instance.is_coming() + instance.is_running() + instance.is_going() + instance.is_off(), 1)
        << status;
  }
}

TEST(GceInstance, it_is_requested_as_by_the_python_nodepool) {
  const InstanceRequest request{
      .name = "np0000000001",
      .zone = "us-central1-a",
      .machine_type_url = "https://type",
      .image = "https://image",
      .disk_type = "pd-ssd",
      .disk_size = 20,
      .network = "global/networks/default",
      .subnetwork = {},
      .metadata = {{"nodepool_node_id", "0000000001"}, {"ssh-keys", "zuul:ssh-rsa A"}},
      .labels = {}};
  EXPECT_EQ(body_of(request), json::parse(R"({
    "name": "np0000000001",
    "machineType": "https://type",
    "disks": [{"boot": true, "autoDelete": true,
               "initializeParams": {"sourceImage": "https://image",
                                    "diskType": "zones/us-central1-a/diskTypes/pd-ssd",
                                    "diskSizeGb": "20"}}],
    "networkInterfaces": [{"network": "global/networks/default",
                           "accessConfigs": [{"type": "ONE_TO_ONE_NAT", "name": "External NAT"}]}],
    "serviceAccounts": [],
    "metadata": {"items": [{"key": "nodepool_node_id", "value": "0000000001"},
                           {"key": "ssh-keys", "value": "zuul:ssh-rsa A"}]}})"));
}

TEST(GceInstance, it_may_have_a_subnetwork_and_labels) {
  InstanceRequest request;
  request.subnetwork = "regions/us-central1/subnetworks/ci";
  request.labels = {{"team", "infra"}};
  const json::Json body = body_of(request);
  EXPECT_EQ(body.at("networkInterfaces").at(0), json::parse(R"({
    "subnetwork": "regions/us-central1/subnetworks/ci",
    "accessConfigs": [{"type": "ONE_TO_ONE_NAT", "name": "External NAT"}]})"));
  EXPECT_EQ(body.at("labels"), json::parse(R"({"team": "infra"})"));
}

TEST(GceInstance, a_request_id_is_a_uuid_that_depends_on_its_text) {
  EXPECT_THAT(request_id("a"),
              testing::MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-"
                                    "[0-9a-f]{12}"));
  EXPECT_EQ(request_id("a"), request_id("a"));
  EXPECT_NE(request_id("a"), request_id("b"));
}

TEST(GceRegion, it_has_quotas_by_metric) {
  const Quotas quotas = read_quotas(element(
      R"({"quotas": [{"metric": "CPUS", "limit": 24.0, "usage": 1.0}, {"metric": "INSTANCES", "limit": 8}]})"));
  EXPECT_THAT(quotas.limits, ElementsAre(Pair("CPUS", 24), Pair("INSTANCES", 8)));
  EXPECT_EQ(quotas.used, driver::Resources({{"CPUS", 1}}));
}

TEST(GceRegion, most_series_have_a_quota_of_their_own) {
  EXPECT_EQ(processor_metric("n2-standard-2"), "N2_CPUS");
  EXPECT_EQ(processor_metric("n2d-custom-4-8192"), "N2D_CPUS");
  for (const char* type : {"e2-small", "n1-standard-1", "custom-2-4096", "f1-micro"}) {
    EXPECT_EQ(processor_metric(type), "CPUS") << type;
  }
}

// --- tokens

class GceTokensTest : public testing::Test {
 protected:
  ~GceTokensTest() override {
    if (tokens_) loop_.run(tokens_->stop());
    loop_.run(server_.stop());
  }

  async::Task<std::string> serve(const http::HttpServer::Call& /*call*/) {
    co_return http::answer(status_, body_);
  }

  AccessTokens& tokens(CredentialSource source) {
    source.token_url = server_.url() + source.token_url;
    account_.credentials = std::move(source);
    tokens_ = std::make_unique<AccessTokens>(runtime_, account_, log(), http::Client::Observer());
    return *tokens_;
  }

  telemetry::Logger log() {
    const auto log = telemetry::Log::to_consumer(
        [this](telemetry::LogLevel, std::string_view, std::string_view text) {
          logged_ += std::string(text) + "\n";
        });
    return {log, "test"};
  }

  std::string error_with(CredentialSource source) {
    try {
      loop_.run(tokens(std::move(source)).get());
    } catch (const CloudError& error) {
      EXPECT_EQ(error.kind(), Kind::auth);
      return error.what();
    }
    return "none";
  }

  async::EventLoop loop_;
  async::SystemClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  http::HttpServer server_{runtime_,
                           [this](const http::HttpServer::Call& call) { return serve(call); }};
  int status_ = 200;
  std::string body_ = R"({"access_token": "TOKEN", "expires_in": 3599, "token_type": "Bearer"})";
  std::string logged_;
  Account account_;
  std::unique_ptr<AccessTokens> tokens_;
  test_support::TemporaryDirectory directory_;
};

TEST_F(GceTokensTest, the_metadata_server_has_one) {
  EXPECT_EQ(loop_.run(tokens({.token_url = "/computeMetadata/v1/token"}).get())->text, "TOKEN");
  loop_.run(tokens_->get());
  ASSERT_EQ(server_.calls().size(), 1U);
  const http::HttpServer::Call& call = server_.calls().front();
  EXPECT_EQ(call.method + " " + call.target, "GET /computeMetadata/v1/token");
  EXPECT_THAT(call.headers, testing::Contains(Pair("metadata-flavor", "Google")));
}

TEST_F(GceTokensTest, without_a_metadata_server_the_error_names_the_remedy) {
  status_ = 0;
  EXPECT_THAT(error_with({.token_url = "/computeMetadata/v1/token"}),
              HasSubstr("set GOOGLE_APPLICATION_CREDENTIALS"));
}

TEST_F(GceTokensTest, the_missing_permission_to_read_operations_is_reported_once) {
  account_.base_url = server_.url();
  PausingRateLimit rate_limit(clock_);
  AccessTokens& access = tokens({.token_url = "/token"});
  ComputeEngine compute(runtime_, account_, access, rate_limit, log(), {});
  loop_.run(access.get());
  const http::Response refused = refusal(403, "forbidden");
  status_ = refused.status;
  body_ = refused.body;
  EXPECT_EQ(loop_.run(compute.operation("operation-1")), std::nullopt);
  EXPECT_THAT(logged_, HasSubstr("permission compute.zoneOperations.get"));
  logged_.clear();
  EXPECT_EQ(loop_.run(compute.operation("operation-2")), std::nullopt);
  EXPECT_THAT(logged_, Not(HasSubstr("compute.zoneOperations.get")));
}

TEST_F(GceTokensTest, a_user_has_one_for_a_refresh_token) {
  loop_.run(tokens({.kind = CredentialSource::Kind::authorized_user,
                    .token_url = "/token",
                    .client_id = "c",
                    .client_secret = "s&",
                    .refresh_token = "1//r"})
                .get());
  const http::HttpServer::Call& call = server_.calls().at(0);
  EXPECT_EQ(call.method + " " + call.target, "POST /token");
  EXPECT_EQ(call.body,
            "grant_type=refresh_token&client_id=c&client_secret=s%26&refresh_token=1%2F%2Fr");
}

TEST_F(GceTokensTest, an_external_account_has_one_for_the_token_in_its_file_at_that_time) {
  const CredentialSource source = {.kind = CredentialSource::Kind::external_account,
                                   .token_url = "/token",
                                   .audience = "//pool",
                                   .subject_token_type = "jwt",
                                   .subject_token_file = directory_.write("token", "first\n")};
  const auto first = loop_.run(tokens(source).get());
  EXPECT_EQ(first->text, "TOKEN");
  EXPECT_EQ(server_.calls().at(0).body,
            "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange"
            "&audience=%2F%2Fpool&scope=https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fcompute"
            "&requested_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token"
            "&subject_token_type=jwt&subject_token=first");
  directory_.write("token", "second");
  tokens_->refused(first);
  loop_.run(tokens_->get());
  EXPECT_THAT(server_.calls().at(1).body, testing::EndsWith("&subject_token=second"));
}

TEST_F(GceTokensTest, an_external_account_may_act_as_a_service_account) {
  body_ = R"({"access_token": "OWN", "expires_in": 3599, "accessToken": "TOKEN",
              "expireTime": "2999-01-01T00:00:00Z"})";
  const CredentialSource source = {
      .kind = CredentialSource::Kind::external_account,
      .token_url = "/token",
      .audience = "a",
      .subject_token_type = "jwt",
      .subject_token_file = directory_.write("token", R"({"id_token": "FOREIGN"})"),
      .subject_token_field = "id_token",
      .impersonation_url = server_.url() + "/ci:generateAccessToken"};
  EXPECT_EQ(loop_.run(tokens(source).get())->text, "TOKEN");
  EXPECT_THAT(server_.calls().at(0).body,
              AllOf(HasSubstr("auth%2Fcloud-platform"), HasSubstr("subject_token=FOREIGN")));
  const http::HttpServer::Call& call = server_.calls().at(1);
  EXPECT_EQ(call.method + " " + call.target, "POST /ci:generateAccessToken");
  EXPECT_THAT(call.headers, testing::Contains(Pair("authorization", "Bearer OWN")));
  EXPECT_EQ(call.body,
            R"({"scope":["https://www.googleapis.com/auth/compute"],"lifetime":"3600s"})");
}

TEST_F(GceTokensTest, a_refused_external_account_says_why_but_no_secret) {
  CredentialSource source = {.kind = CredentialSource::Kind::external_account,
                             .token_url = "/token",
                             .subject_token_file = directory_.write("token", "FOREIGN")};
  status_ = 403;
  body_ = R"({"error": {"code": 403, "message": "no permission for FOREIGN"}})";
  EXPECT_EQ(error_with(source), "google: get token: HTTP 403 no permission for ***");
  source.subject_token_file = "/nowhere";
  EXPECT_EQ(error_with(source), "/nowhere: cannot be read, or is empty");
  source.subject_token_file = directory_.write("token", "FOREIGN");
  source.subject_token_field = "id_token";
  EXPECT_THAT(error_with(source),
              AllOf(HasSubstr(source.subject_token_file), Not(HasSubstr("FOREIGN"))));
  EXPECT_THAT(logged_, Not(HasSubstr("FOREIGN")));
}

TEST_F(GceTokensTest, a_refusal_says_why_but_no_secret) {
  status_ = 400;
  body_ = R"({"error": "invalid_grant", "error_description": "Bad SECRET and REFRESH"})";
  EXPECT_EQ(error_with({.kind = CredentialSource::Kind::authorized_user,
                        .token_url = "/token",
                        .client_id = "c",
                        .client_secret = "SECRET",
                        .refresh_token = "REFRESH"}),
            "google: get token: HTTP 400 invalid_grant: Bad *** and ***");
  EXPECT_THAT(logged_, AllOf(Not(HasSubstr("SECRET")), Not(HasSubstr("REFRESH"))));
}

TEST_F(GceTokensTest, a_key_that_is_none_is_an_error_without_it) {
  const std::string error = error_with({.kind = CredentialSource::Kind::service_account,
                                        .token_url = "/token",
                                        .email = "ci@p",
                                        .private_key = "-----BEGIN PRIVATE KEY-----\nABC"});
  EXPECT_EQ(error, "the private key is not valid");
}

TEST_F(GceTokensTest, an_unreadable_response_is_an_error_without_the_token) {
  body_ = R"({"access_token": "TOKEN"})";
  EXPECT_THAT(error_with({.token_url = "/token"}),
              AllOf(HasSubstr("expires_in is missing"), Not(HasSubstr("TOKEN"))));
}

}  // namespace
}  // namespace nodepool::drivers::gce
