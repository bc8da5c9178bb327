// What IBM's APIs say, and how it is understood.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/event_loop.h"
#include "driver/ownership.h"
#include "drivers/ibmvpc/api/object_storage.h"
#include "drivers/ibmvpc/api/refusal.h"
#include "drivers/ibmvpc/api/values.h"
#include "drivers/ibmvpc/api/vpc_api.h"
#include "drivers/ibmvpc/owner_names.h"
#include "tests/drivers/missing_authorities.h"
#include "tests/drivers/request_ids.h"
#include "tests/support/http_server.h"

namespace nodepool::drivers::ibmvpc {
namespace {

using cloud::Effect;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;
using Kind = driver::CloudError::Kind;

// --- refusals

struct Case {
  int status;
  std::string code;
  Kind read;     // for a call that changes nothing or deletes
  Kind created;  // for a call that creates
  bool retry = false;
  bool slow_down = false;
};

http::Response response(int status, const std::string& body) {
  return {.status = status, .headers = {}, .body = body};
}

TEST(IbmVpcRefusalTest, a_code_or_a_status_decides) {
  const std::vector<Case> cases = {
      {400, "over_quota", Kind::quota, Kind::quota},
      {403, "instance_quota_exceeded", Kind::quota, Kind::quota},
      {400, "bad_field", Kind::failed, Kind::failed},
      {409, "cannot_start_capacity", Kind::no_capacity, Kind::no_capacity},
      {503, "insufficient_capacity", Kind::no_capacity, Kind::no_capacity},
      {401, "not_authorized", Kind::auth, Kind::auth},
      {403, "forbidden", Kind::permanent, Kind::failed},
      {404, "not_found", Kind::not_found, Kind::not_found},
      {409, "instance_in_progress", Kind::transient, Kind::failed},
      {429, "too_many_requests", Kind::transient, Kind::transient, false, true},
      {500, "internal_error", Kind::transient, Kind::unknown_outcome, true},
      {503, "", Kind::transient, Kind::unknown_outcome, true}};
  for (const Case& test : cases) {
    SCOPED_TRACE(test.code);
    const http::Response refused =
        response(test.status, R"({"errors": [{"code": ")" + test.code + R"(", "message": "m"}]})");
    const cloud::Refusal read = classify(refused, Effect::none);
    EXPECT_EQ(read.kind, test.read);
    EXPECT_EQ(classify(refused, Effect::creates).kind, test.created);
    EXPECT_EQ(read.retry, test.retry);
    EXPECT_EQ(read.slow_down, test.slow_down);
    EXPECT_EQ(read.renew_credentials, test.status == 401);
    EXPECT_EQ(read.code, test.code);
    EXPECT_THAT(read.message, HasSubstr("HTTP " + std::to_string(test.status)));
  }
}

TEST(IbmVpcRefusalTest, other_bodies_are_shown) {
  EXPECT_THAT(classify(response(404, R"({"message": "gone"})"), Effect::none).message,
              HasSubstr("gone"));
  EXPECT_THAT(classify(response(502, "<html>"), Effect::none).message, HasSubstr("<html>"));
  EXPECT_THAT(classify(response(400, R"(["x"])"), Effect::none).message, HasSubstr("x"));
  const cloud::Refusal iam = classify(
      response(400, R"({"errorCode": "BXNIM0415E", "errorMessage": "no key"})"), Effect::none);
  EXPECT_EQ(iam.code, "BXNIM0415E");
  EXPECT_THAT(iam.message, HasSubstr("no key"));
}

TEST(IbmVpcRefusalTest, the_reason_of_an_instances_state_decides) {
  EXPECT_EQ(failure_of("cannot_start_capacity", "m").kind(), Kind::no_capacity);
  EXPECT_EQ(failure_of("cannot_start_reservation_capacity", "m").kind(), Kind::no_capacity);
  EXPECT_EQ(failure_of("cannot_start_network", "m").kind(), Kind::failed);
  EXPECT_EQ(failure_of("", "m").kind(), Kind::failed);
}

// --- values

cloud::Element element(const std::string& text) {
  return {json::parse(text), "test"};
}

TEST(IbmVpcValuesTest, an_instance_is_read) {
  const VpcInstance read = read_instance(element(R"({
      "id": "i", "name": "np0000000001", "status": "failed",
      "status_reasons": [{"code": "cannot_start_capacity", "message": "no more"}],
      "resource_group": {"id": "g", "name": "np_p_main"}, "profile": {"name": "bx2-2x8"},
      "zone": {"name": "us-south-1"},
      "primary_network_interface": {"id": "nic", "primary_ip": {"address": "10.0.0.4"},
                                    "primary_ipv4_address": "10.0.0.9"},
      "boot_volume_attachment": {"name": "np-1-000002-abc"}})"));
  EXPECT_EQ(read.group, "np_p_main");
  EXPECT_EQ(read.private_ipv4, "10.0.0.4");
  EXPECT_EQ(read.interface_id, "nic");
  EXPECT_EQ(read.boot_disk_name, "np-1-000002-abc");
  EXPECT_EQ(state_in_words(read), "instance np0000000001 is failed: no more");
}

TEST(IbmVpcValuesTest, an_instance_of_an_old_api_or_without_address_is_read) {
  const auto address_in = [](const std::string& interface) {
    return read_instance(element(R"({"id": "i", "name": "n", "status": "running",
                                     "primary_network_interface": )" +
                                 interface + "}"))
        .private_ipv4;
  };
  EXPECT_EQ(address_in(R"({"primary_ipv4_address": "10.0.0.4"})"), "10.0.0.4");
  EXPECT_EQ(address_in(R"({"primary_ip": {"address": "0.0.0.0"}})"), "");
  EXPECT_EQ(address_in("null"), "");
}

TEST(IbmVpcValuesTest, the_owner_of_an_image_is_read_or_derived) {
  const auto owner_in = [](const std::string& more) {
    return read_image(element(R"({"id": "i", "name": "n")" + more + "}")).owner_type;
  };
  EXPECT_EQ(owner_in(R"(, "owner_type": "user", "visibility": "public")"), "user");
  EXPECT_EQ(owner_in(R"(, "visibility": "public")"), "provider");
  EXPECT_EQ(owner_in(R"(, "visibility": "private")"), "user");
}

TEST(IbmVpcValuesTest, a_resource_of_a_profile_may_be_chosen) {
  const VpcProfile read = read_profile(element(R"({
      "name": "p", "vcpu_count": {"type": "fixed", "value": 4},
      "memory": {"type": "range", "default": 16, "min": 8}})"));
  EXPECT_EQ(read.cores, 4);
  EXPECT_EQ(read.memory, 16);
  EXPECT_EQ(read_profile(element(R"({"name": "p", "memory": {"type": "dependent"}})")).memory,
            std::nullopt);
}

TEST(IbmVpcValuesTest, the_request_of_an_instance_is_written) {
  VpcInstanceRequest request{.name = "np1",
                             .group = "g",
                             .vpc = "v",
                             .subnet = "s",
                             .zone = "z",
                             .profile = "p",
                             .image_id = {},
                             .image_href = "https://image",
                             .boot_disk_name = {},
                             .keys = {"k"},
                             .user_data = {},
                             .volume_profile = "general-purpose",
                             .volume_iops = std::nullopt,
                             .security_groups = {}};
  EXPECT_EQ(body_of(request), json::parse(R"({
      "name": "np1", "resource_group": {"id": "g"}, "vpc": {"id": "v"}, "zone": {"name": "z"},
      "profile": {"name": "p"}, "image": {"href": "https://image"}, "keys": [{"id": "k"}],
      "primary_network_interface": {"name": "eth0", "subnet": {"id": "s"}},
      "boot_volume_attachment": {
          "volume": {"name": "np1", "profile": {"name": "general-purpose"}},
          "delete_volume_on_instance_delete": true}})"));
  request.volume_profile = "custom";
  request.volume_iops = 6000;
  request.security_groups = {"g-1", "g-2"};
  const json::Json other = body_of(request);
  EXPECT_EQ(other.at("boot_volume_attachment").at("volume"),
            json::parse(R"({"name": "np1", "profile": {"name": "custom"}, "iops": 6000})"));
  EXPECT_EQ(other.at("primary_network_interface"), json::parse(R"({
      "name": "eth0", "subnet": {"id": "s"}, "security_groups": [{"id": "g-1"}, {"id": "g-2"}]})"));
}

// --- owner tags

TEST(IbmVpcNamesTest, owner_tags_are_in_the_names) {
  const driver::Metadata tags = {{std::string(driver::kNodeIdKey), "0000000042"},
                                 {std::string(driver::kPoolNameKey), "main"},
                                 {std::string(driver::kProviderNameKey), "dal-1"},
                                 {std::string(driver::kNodeCreatedKey), "1764093469.000012"},
                                 {std::string(driver::kInstallationIdKey), "3f2a-b"}};
  EXPECT_EQ(boot_disk_name(tags), "np-1764093469-000012-3f2a-b");
  EXPECT_EQ(owner_tags("np0000000042", group_name("dal-1", "main"), boot_disk_name(tags)), tags);
  for (const auto& key : {driver::kNodeCreatedKey, driver::kInstallationIdKey}) {
    driver::Metadata fewer = tags;
    fewer.erase(std::string(key));
    EXPECT_EQ(owner_tags("np0000000042", "np_dal-1_main", boot_disk_name(fewer)), fewer);
  }
}

TEST(IbmVpcNamesTest, names_of_the_python_nodepool_and_of_others_are_understood) {
  EXPECT_THAT(owner_tags("np0000000042", "np_dal_main", "tall-hat"),
              UnorderedElementsAre(Pair(driver::kNodeIdKey, "0000000042"),
                                   Pair(driver::kPoolNameKey, "main"),
                                   Pair(driver::kProviderNameKey, "dal")));
  EXPECT_THAT(owner_tags("np0000000042", "Default", "np-1-000000-a"), IsEmpty());
  EXPECT_FALSE(owner_tags("vm", "np_dal_main", "").contains(driver::kNodeIdKey));
}

// --- calls

class IbmVpcCallsTest : public testing::Test {
 protected:
  ~IbmVpcCallsTest() override {
    loop_.run(tokens_.stop());
    loop_.run(server_.stop());
  }

  async::Task<std::string> serve(const http::HttpServer::Call& /*call*/) {
    co_return http::answer(200, "", headers_);
  }

  async::EventLoop loop_;
  async::SystemClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  http::HttpServer server_{runtime_,
                           [this](const http::HttpServer::Call& call) { return serve(call); }};
  std::string headers_;
  http::RateGovernor rate_limit_{clock_};
  telemetry::Logger log_{
      telemetry::Log::to_consumer([](telemetry::LogLevel, std::string_view, std::string_view) {}),
      "test"};
  VpcAccount account_{
      .region = "north",
      .vpc_url = server_.url() + "/v1",
      .groups_url = server_.url(),
      .credentials = {.kind = IamCredentials::Kind::bearer_token, .bearer_token = "TOKEN"}};
  IamTokens tokens_{runtime_, account_, log_, {}};
};

async::Task<> remove_an_instance(VpcApi& api) {
  std::string id = "i-1";
  auto removing = api.remove_instance(std::move(id));
  co_await std::move(removing);
}

TEST_F(IbmVpcCallsTest, a_launch_trace_has_the_request_ids) {
  VpcApi api(runtime_, account_, tokens_, rate_limit_, log_, {});
  headers_ = "X-Correlation-Id: correlation\r\nX-Request-Id: request-1\r\n";
  EXPECT_THAT(request_ids(loop_, runtime_, remove_an_instance(api)), ElementsAre("request-1"));
}

TEST_F(IbmVpcCallsTest, calls_of_the_object_storage_have_request_ids) {
  ObjectStorage storage(runtime_, account_, server_.url(), tokens_, log_, {});
  cloud::Bucket bucket = storage.bucket("ci-images");
  headers_ = "X-Clv-S3-Version: 2.5\r\nX-Clv-Request-Id: request-1\r\n";
  EXPECT_THAT(request_ids(loop_, runtime_, bucket.remove("key")), ElementsAre("request-1"));
}

TEST_F(IbmVpcCallsTest, calls_trust_only_the_accounts_authorities) {
  FailingCalls calls(loop_);
  const std::string url = as_https(server_.url());
  account_.ca_file = kMissingAuthorities;
  account_.storage_ca_file = "/no/such/storage-ca.pem";
  account_.vpc_url = url;
  VpcApi api(calls.runtime(), account_, tokens_, rate_limit_, log_, {});
  EXPECT_THAT(calls.error_of(remove_an_instance(api)), HasSubstr(kMissingAuthorities));
  ObjectStorage storage(calls.runtime(), account_, url, tokens_, log_, {});
  cloud::Bucket bucket = storage.bucket("ci-images");
  EXPECT_THAT(calls.error_of(bucket.remove("key")), HasSubstr(account_.storage_ca_file));
  VpcAccount account = account_;
  account.credentials = {.url = url, .api_key = "KEY"};
  IamTokens others(calls.runtime(), account, log_, {});
  EXPECT_THAT(calls.error_of(others.get()), HasSubstr(kMissingAuthorities));
  loop_.run(others.stop());
}

}  // namespace
}  // namespace nodepool::drivers::ibmvpc
