// What Compute Engine's answers mean.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloud/answer.h"
#include "drivers/gce/api/refusal.h"

namespace nodepool::drivers::gce {
namespace {

using cloud::Effect;
using driver::CloudError;
using testing::ElementsAre;
using testing::HasSubstr;
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

}  // namespace
}  // namespace nodepool::drivers::gce
