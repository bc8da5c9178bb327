// What the answers of Azure Resource Manager mean. Most are recorded ones, shortened.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include "async/event_loop.h"
#include "async/task_scope.h"
#include "cloud/answer.h"
#include "config/yaml.h"
#include "drivers/azure/api/arm_error.h"
#include "drivers/azure/api/arm_rate_limit.h"
#include "drivers/azure/api/arm_tokens.h"
#include "drivers/azure/api/resource_manager.h"
#include "drivers/azure/api/values.h"
#include "drivers/azure/azure_driver.h"
#include "drivers/azure/names.h"
#include "tests/drivers/missing_authorities.h"
#include "tests/drivers/request_ids.h"
#include "tests/support/http_server.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::drivers::azure {
namespace {

using cloud::Effect;
using driver::CloudError;
using testing::HasSubstr;
using testing::Not;
using Kind = CloudError::Kind;

cloud::Element element(const std::string& text) {
  return cloud::parse_answer("test", {.status = 200, .headers = {}, .body = text});
}

// --- errors

http::Response refusal(int status, const std::string& code, const std::string& message = "no") {
  const json::Json body = {{"error", {{"code", code}, {"message", message}}}};
  return {.status = status, .headers = {}, .body = body.dump()};
}

constexpr const char* kQuotaText =
    "Operation could not be completed as it results in exceeding approved standardDSv3Family Cores "
    "quota. Additional details - Deployment Model: Resource Manager, Location: westeurope, Current "
    "Limit: 4, Current Usage: 4, Additional Required: 2, (Minimum) New Limit Required: 6.";

TEST(AzureError, its_kind_depends_on_status_code_and_effect) {
  struct Case {
    int status;
    const char* code;
    Kind of_creation;
    Kind of_others;
  };
  const Case cases[] = {
      {400, "InvalidParameter", Kind::failed, Kind::failed},
      {400, "NicInUse", Kind::failed, Kind::failed},
      {400, "NicReservedForAnotherVm", Kind::transient, Kind::transient},
      {400, "QuotaExceeded", Kind::quota, Kind::quota},
      {400, "PublicIPCountLimitReached", Kind::quota, Kind::quota},
      {400, "SubnetIsFull", Kind::quota, Kind::quota},
      {401, "ExpiredAuthenticationToken", Kind::auth, Kind::auth},
      {403, "AuthorizationFailed", Kind::permanent, Kind::permanent},
      {403, "LinkedAuthorizationFailed", Kind::permanent, Kind::permanent},
      {403, "RequestDisallowedByPolicy", Kind::failed, Kind::permanent},
      {404, "ResourceNotFound", Kind::not_found, Kind::not_found},
      {404, "ResourceGroupNotFound", Kind::not_found, Kind::not_found},
      {404, "PlatformImageNotFound", Kind::not_found, Kind::not_found},
      {404, "SubscriptionNotFound", Kind::permanent, Kind::permanent},
      {409, "OperationNotAllowed", Kind::failed, Kind::failed},
      {409, "PropertyChangeNotAllowed", Kind::failed, Kind::failed},
      {409, "AnotherOperationInProgress", Kind::transient, Kind::transient},
      {409, "ResourceGroupBeingDeleted", Kind::transient, Kind::transient},
      {409, "SkuNotAvailable", Kind::no_capacity, Kind::no_capacity},
      {409, "AllocationFailed", Kind::no_capacity, Kind::no_capacity},
      {409, "ZonalAllocationFailed", Kind::no_capacity, Kind::no_capacity},
      {409, "OverconstrainedAllocationRequest", Kind::no_capacity, Kind::no_capacity},
      {429, "SubscriptionRequestsThrottled", Kind::transient, Kind::transient},
      {500, "InternalServerError", Kind::unknown_outcome, Kind::transient},
      {503, "AllocationFailed", Kind::no_capacity, Kind::no_capacity},
      {503, "ServerBusy", Kind::unknown_outcome, Kind::transient},
  };
  for (const Case& tried : cases) {
    const http::Response response = refusal(tried.status, tried.code);
    EXPECT_EQ(classify(response, Effect::creates).kind, tried.of_creation) << tried.code;
    EXPECT_EQ(classify(response, Effect::none).kind, tried.of_others) << tried.code;
    EXPECT_EQ(classify(response, Effect::none).code, tried.code);
  }
}

TEST(AzureError, one_code_is_quota_throttling_or_a_plain_refusal) {
  const auto quota = classify(refusal(409, "OperationNotAllowed", kQuotaText), Effect::creates);
  EXPECT_EQ(quota.kind, Kind::quota);
  EXPECT_FALSE(quota.slow_down || quota.retry);
  EXPECT_THAT(quota.message, HasSubstr("HTTP 409 OperationNotAllowed: Operation could not be"));
  const auto plain = classify(
      refusal(409, "OperationNotAllowed", "Operation 'simulateEviction' is allowed only for Spot"),
      Effect::creates);
  EXPECT_EQ(plain.kind, Kind::failed);
}

TEST(AzureError, what_is_tried_again) {
  // Compute's errors lack the outer object.
  const auto throttled =
      classify({.status = 429,
                .headers = {},
                .body = R"({"code": "OperationNotAllowed", "message": "too many requests",
                            "details": [{"code": "TooManyRequests", "message": "{}"}]})"},
               Effect::none);
  EXPECT_EQ(throttled.code, "OperationNotAllowed");
  EXPECT_EQ(throttled.kind, Kind::transient);
  EXPECT_TRUE(throttled.slow_down);
  EXPECT_FALSE(throttled.retry);
  // The same status, and not a matter of the rate.
  const auto busy = classify(
      {.status = 429,
       .headers = {},
       .body = R"({"error": {"code": "RetryableError", "message": "A retryable error occurred.",
          "details": [{"code": "RetryableErrorDueToAnotherOperation", "message": "in 11 s"}]}})"},
      Effect::none);
  EXPECT_EQ(busy.kind, Kind::transient);
  EXPECT_FALSE(busy.slow_down);
  EXPECT_TRUE(busy.retry);
  EXPECT_TRUE(classify(refusal(503, "ServerBusy"), Effect::creates).retry);
  EXPECT_FALSE(classify(refusal(503, "AllocationFailed"), Effect::creates).retry);
  EXPECT_FALSE(classify(refusal(409, "Conflict"), Effect::none).retry);
  EXPECT_TRUE(classify(refusal(401, "InvalidAuthenticationToken"), Effect::none).renew_credentials);
  EXPECT_FALSE(classify(refusal(403, "AuthorizationFailed"), Effect::none).renew_credentials);
}

TEST(AzureError, the_reason_may_be_inside) {
  const std::string template_body =
      R"({"error": {"code": "InvalidTemplateDeployment", "message": "The template is not valid.",
          "details": [{"code": "QuotaExceeded", "message": "exceeding approved Cores quota"}]}})";
  const auto quota =
      classify({.status = 400, .headers = {}, .body = template_body}, Effect::creates);
  EXPECT_EQ(quota.kind, Kind::quota);
  EXPECT_THAT(quota.message, HasSubstr("not valid.: exceeding approved Cores quota"));
  const auto inner = classify(
      {.status = 409, .headers = {}, .body = R"({"error": {"code": "Conflicting", "message": "m",
                                           "innererror": {"code": "ZonalAllocationFailed"}}})"},
      Effect::creates);
  EXPECT_EQ(inner.kind, Kind::no_capacity);
}

TEST(AzureError, a_body_may_be_anything) {
  for (const char* body : {"", "<!DOCTYPE html><html>", "[]", "{}", R"({"error": 5})", "null",
                           R"({"error": {"details": 5, "innererror": [], "code": 7}})"}) {
    const auto refused = classify({.status = 503, .headers = {}, .body = body}, Effect::none);
    EXPECT_EQ(refused.kind, Kind::transient) << body;
    EXPECT_EQ(refused.code, "");
    EXPECT_EQ(refused.message, "HTTP 503");
    EXPECT_TRUE(refused.retry);
  }
}

TEST(AzureError, an_accepted_operation_may_fail) {
  const auto failed = [](const char* code) {
    return failure_of({{"status", "Failed"}, {"error", {{"code", code}, {"message", "m"}}}},
                      "what");
  };
  EXPECT_EQ(failed("AllocationFailed").kind(), Kind::no_capacity);
  EXPECT_EQ(failed("QuotaExceeded").kind(), Kind::quota);
  EXPECT_EQ(failed("VMAgentStatusCommunicationError").kind(), Kind::failed);
  EXPECT_EQ(failed("ResourceNotFound").kind(), Kind::failed);
  EXPECT_STREQ(failed("AllocationFailed").what(), "what: AllocationFailed: m");
  EXPECT_STREQ(failure_of(json::Json::object(), "what").what(), "what: the operation failed");
}

// --- rates

TEST(AzureRates, the_smallest_number_counts_and_not_those_of_one_resource) {
  const auto least = [](const std::string& value) {
    return remaining_calls({{"x-ms-ratelimit-remaining-resource", value}});
  };
  EXPECT_EQ(least("Microsoft.Compute/PutVM3Min;239,Microsoft.Compute/PutVM30Min;1199"), 239);
  EXPECT_EQ(
      least("Microsoft.Compute/PutVMSubscriptionMaximum;1499,Microsoft.Compute/PutVMResource;2"),
      1499);
  EXPECT_EQ(
      least("['Microsoft.Compute/HighCostGet3Min;46', 'Microsoft.Compute/HighCostGet30Min;0']"), 0);
  EXPECT_EQ(least("a;b"), std::nullopt);
  EXPECT_EQ(remaining_calls({{"x-ms-ratelimit-remaining-subscription-writes", "7"},
                             {"x-ms-ratelimit-remaining-resource", "Microsoft.Compute/PutVM3Min;9"},
                             {"content-type", "5"}}),
            7);
  EXPECT_EQ(remaining_calls({}), std::nullopt);
}

TEST(AzureRates, calls_of_the_kind_pause_when_few_are_left) {
  async::EventLoop loop;
  async::VirtualClock clock;
  async::Random random(1);
  ArmRateLimit limit(clock);
  const http::Response few = {
      .status = 200, .headers = {{"x-ms-ratelimit-remaining-subscription-reads", "2"}}, .body = {}};
  limit.observe(http::Precedence::read, few);
  bool has_read = false;
  bool has_created = false;
  const auto take = [&limit](http::Precedence precedence, bool& taken) -> async::Task<> {
    co_await limit.turn(precedence);
    taken = true;
  };
  async::TaskScope scope({loop.executor(), clock, random},
                         [](const std::string&, const std::string&) {});
  scope.spawn("read", take(http::Precedence::read, has_read));
  scope.spawn("create", take(http::Precedence::creation, has_created));
  while (loop.poll()) {
  }
  EXPECT_TRUE(has_created);
  EXPECT_FALSE(has_read);
  clock.advance_by(std::chrono::seconds(10));
  while (loop.poll()) {
  }
  EXPECT_TRUE(has_read);
  loop.run(scope.stop());
}

// --- values

TEST(AzureValues, a_machine_is_read) {
  const VirtualMachine machine = read_machine(element(
      R"({"name": "NP0000000001", "id": "/x", "location": "westeurope", "tags": {"a": "b"},
          "zones": ["2"], "properties": {"provisioningState": "Succeeded", "priority": "Spot",
          "hardwareProfile": {"vmSize": "Standard_D2s_v3"}}})"));
  EXPECT_EQ(machine.name, "np0000000001") << "lists have names in any case";
  EXPECT_EQ(machine.size, "Standard_D2s_v3");
  EXPECT_EQ(machine.zone, "2");
  EXPECT_TRUE(machine.is_spot && machine.is_ready());
  EXPECT_EQ(machine.tags, (driver::Metadata{{"a", "b"}}));
  EXPECT_FALSE(read_machine(element(R"({"name": "a", "id": "b"})")).is_ready());
  EXPECT_THROW(read_machine(element(R"({"name": "a"})")), CloudError);
}

TEST(AzureValues, addresses_are_read) {
  const NetworkInterface interface = read_interface(element(
      R"({"name": "N", "id": "i", "properties": {"virtualMachine": {"id": "m"}, "ipConfigurations": [
          {"properties": {"privateIPAddress": "10.0.0.4", "privateIPAddressVersion": "IPv4",
                          "publicIPAddress": {"id": "/x/publicIPAddresses/NP1-v4-ip"}}},
          {"properties": {"privateIPAddress": "fd00::4", "privateIPAddressVersion": "IPv6"}}]}})"));
  EXPECT_EQ(interface.name, "n");
  EXPECT_EQ(interface.private_ipv4, "10.0.0.4");
  EXPECT_EQ(interface.private_ipv6, "fd00::4");
  EXPECT_EQ(interface.public_addresses, std::vector<std::string>{"np1-v4-ip"});
  EXPECT_TRUE(interface.is_attached && interface.is_complete);
  EXPECT_FALSE(read_interface(element(R"({"name": "n", "id": "i", "properties": {
      "ipConfigurations": [{"properties": {"privateIPAddressVersion": "IPv4"}}]}})"))
                   .is_complete);
  EXPECT_FALSE(read_interface(element(R"({"name": "n", "id": "i"})")).is_complete);
  const PublicAddress address =
      read_address(element(R"({"name": "n", "id": "i", "properties": {"ipAddress": "2001:db8::1",
                  "publicIPAddressVersion": "IPv6", "ipConfiguration": {"id": "c"}}})"));
  EXPECT_EQ(address.address, "2001:db8::1");
  EXPECT_TRUE(address.is_ipv6 && address.is_attached);
}

TEST(AzureValues, power_states_are_read) {
  const auto read = [](const std::string& statuses) {
    return read_power_state(element(
        R"({"id": "/A/B", "properties": {"instanceView": {"statuses": [)" + statuses + "]}}}"));
  };
  EXPECT_EQ(read("").id, "/a/b");
  EXPECT_EQ(read("").power, "");
  EXPECT_EQ(
      read(R"({"code": "ProvisioningState/succeeded"}, {"code": "PowerState/Running"})").power,
      "running");
  EXPECT_FALSE(read(R"({"code": "PowerState/starting"})").is_off());
  EXPECT_TRUE(read(R"({"code": "PowerState/stopped"})").is_off());
  EXPECT_TRUE(read(R"({"code": "PowerState/deallocating"})").is_off());
  EXPECT_FALSE(read_power_state(element(R"({"id": "a"})")).is_off()) << "unknown";
}

TEST(AzureNames, a_part_says_whose_it_is) {
  const std::string mark = owner_mark({.id = "installation"}, "sky");
  EXPECT_THAT(mark, testing::MatchesRegex("[0-9a-f]{16}"));
  EXPECT_NE(mark, owner_mark({.id = "installation"}, "other"));
  EXPECT_NE(mark, owner_mark({.id = "another"}, "sky"));
  const PartNames parts = part_names("np0000000001", mark, 2);
  EXPECT_EQ(parts.disk, "np0000000001-" + mark + "-2-disk");
  EXPECT_EQ(node_of_part(parts.disk, mark), "0000000001");
  EXPECT_EQ(node_of_part(parts.ipv6_address + "-5f3a", mark), "0000000001");
  EXPECT_EQ(node_of_part("NP1-" + mark + "-1-nic", mark), "1");
  EXPECT_EQ(node_of_part("np-" + mark + "-1-nic", mark), std::nullopt);
  EXPECT_EQ(node_of_part("npx-" + mark + "-1-nic", mark), std::nullopt);
  EXPECT_EQ(node_of_part("np1-nic", mark), std::nullopt);
  EXPECT_EQ(node_of_part(parts.disk, owner_mark({}, "sky")), std::nullopt);
}

TEST(AzureNames, a_location_may_be_written_as_in_the_portal) {
  EXPECT_EQ(location_name("West US 2"), "westus2");
  EXPECT_EQ(location_name("CanadaEast"), "canadaeast");
}

TEST(AzureValues, sizes_and_usages_are_read) {
  const VmSize size = read_size(element(
      R"({"resourceType": "virtualMachines", "name": "Standard_B1s", "family": "standardBSFamily",
          "capabilities": [{"name": "vCPUs", "value": "1"}, {"name": "MemoryGB", "value": "0.5"}],
          "restrictions": [{"type": "Zone"}]})"));
  EXPECT_EQ(size.cores, 1);
  EXPECT_EQ(size.memory, 512);
  EXPECT_EQ(size.family, "standardBSFamily");
  EXPECT_TRUE(size.is_offered);
  EXPECT_FALSE(read_size(element(R"({"resourceType": "virtualMachines", "name": "a",
                                     "restrictions": [{"type": "Location"}]})"))
                   .is_offered);
  EXPECT_EQ(read_size(element(R"({"resourceType": "disks", "name": "a"})")).name, "");
  const Usage usage = read_usage(element(
      R"({"limit": 100, "currentValue": 7, "name": {"value": "cores", "localizedValue": "x"}})"));
  EXPECT_EQ(usage.name, "cores");
  EXPECT_EQ(usage.limit, 100);
  EXPECT_EQ(usage.used, 7);
}

// --- tokens

// A new key and its certificate, as PEM.
std::string new_certificate() {
  EVP_PKEY* key = ::EVP_RSA_gen(2048U);
  X509* certificate = ::X509_new();
  ::X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
  ::X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  ::X509_set_pubkey(certificate, key);
  ::X509_sign(certificate, key, ::EVP_sha256());
  BIO* memory = ::BIO_new(::BIO_s_mem());
  ::PEM_write_bio_PrivateKey(memory, key, nullptr, nullptr, 0, nullptr, nullptr);
  ::PEM_write_bio_X509(memory, certificate);
  char* text = nullptr;
  const long size = ::BIO_get_mem_data(memory, &text);
  std::string pem(text, static_cast<std::size_t>(size));
  ::BIO_free(memory);
  ::X509_free(certificate);
  ::EVP_PKEY_free(key);
  return pem;
}

class AzureTokensTest : public testing::Test {
 protected:
  ~AzureTokensTest() override {
    if (tokens_) loop_.run(tokens_->stop());
    loop_.run(server_.stop());
  }

  async::Task<std::string> serve(const http::HttpServer::Call& /*call*/) {
    co_return http::answer(status_, body_, headers_);
  }

  ArmTokens& tokens(TokenSource source) {
    source.token_url = server_.url() + source.token_url;
    source.audience = "https://management.azure.com/";
    account_.subscription.credentials = std::move(source);
    tokens_ = std::make_unique<ArmTokens>(runtime_, account_, logger(), http::Client::Observer());
    return *tokens_;
  }

  telemetry::Logger logger() {
    const auto log = telemetry::Log::to_consumer(
        [this](telemetry::LogLevel, std::string_view, std::string_view text) {
          logged_ += std::string(text) + "\n";
        });
    return {log, "test"};
  }

  std::string error_with(TokenSource source) {
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
  std::string headers_;
  std::string logged_;
  AzureAccount account_;
  std::unique_ptr<ArmTokens> tokens_;
  test_support::TemporaryDirectory directory_;
};

TEST_F(AzureTokensTest, a_machine_has_one_of_the_metadata_service) {
  body_ = R"({"access_token": "TOKEN", "expires_in": "3599"})";
  EXPECT_EQ(loop_.run(tokens({.token_url = "/metadata", .client_id = "c"}).get())->text, "TOKEN");
  loop_.run(tokens_->get());
  ASSERT_EQ(server_.calls().size(), 1U);
  const http::HttpServer::Call& call = server_.calls().front();
  EXPECT_EQ(call.method + " " + call.target,
            "GET /metadata?api-version=2018-02-01&resource=https%3A%2F%2Fmanagement.azure.com%2F"
            "&client_id=c");
  EXPECT_THAT(call.headers, testing::Contains(testing::Pair("metadata", "true")));
}

TEST_F(AzureTokensTest, a_client_has_one_for_its_secret) {
  loop_.run(tokens({.kind = TokenSource::Kind::client_secret,
                    .token_url = "/token",
                    .client_id = "c",
                    .client_secret = "s&"})
                .get());
  EXPECT_EQ(server_.calls().at(0).body,
            "grant_type=client_credentials&client_id=c"
            "&scope=https%3A%2F%2Fmanagement.azure.com%2F.default&client_secret=s%26");
}

TEST_F(AzureTokensTest, a_client_has_one_for_its_certificate) {
  const std::string pem = new_certificate();
  loop_.run(tokens({.kind = TokenSource::Kind::client_certificate,
                    .token_url = "/token",
                    .client_id = "c",
                    .certificate = pem})
                .get());
  EXPECT_THAT(
      server_.calls().at(0).body,
      testing::ContainsRegex("&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3A"
                             "client-assertion-type%3Ajwt-bearer"
                             "&client_assertion=eyJ[^&]*\\.eyJ[^&]*\\.[A-Za-z0-9_-]{342}$"));
  EXPECT_EQ(certificate_thumbprint(pem).size(), 27U);
  EXPECT_EQ(error_with({.kind = TokenSource::Kind::client_certificate, .certificate = "PEM"}),
            "the client certificate's file has no certificate");
}

TEST_F(AzureTokensTest, a_workload_has_one_for_the_token_in_its_file_at_that_time) {
  const std::string path = directory_.write("token", "first\n");
  const TokenSource source = {.kind = TokenSource::Kind::federated_token,
                              .token_url = "/token",
                              .client_id = "c",
                              .federated_token_file = path};
  const auto first = loop_.run(tokens(source).get());
  directory_.write("token", "second");
  tokens_->refused(first);
  loop_.run(tokens_->get());
  EXPECT_THAT(server_.calls().at(0).body, testing::EndsWith("&client_assertion=first"));
  EXPECT_THAT(server_.calls().at(1).body, testing::EndsWith("&client_assertion=second"));
  TokenSource lost = source;
  lost.federated_token_file = "/nowhere";
  EXPECT_EQ(error_with(lost), "/nowhere: cannot be read, or is empty");
}

TEST_F(AzureTokensTest, a_refusal_says_why_but_no_secret) {
  status_ = 401;
  body_ = R"({"error": "invalid_client", "error_description": "AADSTS7000215: not SECRET"})";
  EXPECT_EQ(error_with({.kind = TokenSource::Kind::client_secret,
                        .token_url = "/token",
                        .client_id = "c",
                        .client_secret = "SECRET"}),
            "azure: get token: HTTP 401 invalid_client: AADSTS7000215: not ***");
  EXPECT_THAT(logged_, Not(HasSubstr("SECRET")));
}

// --- calls

async::Task<> remove_a_disk(ResourceManager& resources) {
  std::string name = "d";
  auto removing = resources.remove(kDiskType, std::move(name));
  co_await std::move(removing);
}

TEST_F(AzureTokensTest, a_launch_trace_has_the_request_ids) {
  loop_.run(tokens({.token_url = "/token"}).get());
  account_.subscription.base_url = server_.url();
  body_ = "{}";
  headers_ = "x-ms-request-id: request-1\r\nx-ms-correlation-request-id: request-2\r\n";
  ArmRateLimit rate_limit(clock_);
  ResourceManager resources(runtime_, account_, *tokens_, rate_limit, logger(), {});
  EXPECT_THAT(request_ids(loop_, runtime_, remove_a_disk(resources)),
              testing::ElementsAre("request-2"));
}

// --- certificate authorities

TEST_F(AzureTokensTest, calls_trust_only_the_accounts_authorities) {
  FailingCalls calls(loop_);
  account_.ca_file = kMissingAuthorities;
  loop_.run(tokens({.token_url = "/token"}).get());
  account_.subscription.base_url = as_https(server_.url());
  ArmRateLimit rate_limit(clock_);
  ResourceManager resources(calls.runtime(), account_, *tokens_, rate_limit, logger(), {});
  EXPECT_THAT(calls.error_of(remove_a_disk(resources)), HasSubstr(kMissingAuthorities));
  account_.subscription.credentials.token_url = as_https(server_.url());
  ArmTokens others(calls.runtime(), account_, logger(), {});
  EXPECT_THAT(calls.error_of(others.get()), HasSubstr(kMissingAuthorities));
  loop_.run(others.stop());
}

TEST(AzureDriverTest, the_file_of_authorities_is_watched) {
  const AzureDriver driver({{"REQUESTS_CA_BUNDLE", "/etc/ssl/private.pem"}});
  EXPECT_THAT(driver.files({.value = config::parse_yaml("{auth-path: /auth.json}", "f")}),
              testing::ElementsAre("/auth.json", "/etc/ssl/private.pem"));
}

}  // namespace
}  // namespace nodepool::drivers::azure
