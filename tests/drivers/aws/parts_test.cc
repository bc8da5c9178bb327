// What needs no cloud: errors, the pace, ids, quotas.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/event_loop.h"
#include "cloud/xml/xml_element.h"
#include "driver/cloud_error.h"
#include "drivers/aws/api/call_rate_limit.h"
#include "drivers/aws/api/error_response.h"
#include "drivers/aws/external_id.h"
#include "drivers/aws/quota_codes.h"
#include "drivers/aws/usage.h"

namespace nodepool::drivers::aws {
namespace {

using cloud::Effect;
using driver::CloudError;
using driver::Resources;
using testing::ElementsAre;
using testing::Pair;
using ErrorKind = CloudError::Kind;

http::Response answer(int status, std::string body) {
  return {.status = status, .headers = {}, .body = std::move(body)};
}

std::string ec2_error(const std::string& code) {
  return "<Response><Errors><Error><Code>" + code +
         "</Code><Message>why</Message></Error></Errors></Response>";
}

TEST(ErrorResponse, is_understood_in_all_forms) {
  EXPECT_EQ(error_in(answer(400, ec2_error("A.B"))).code, "A.B");
  EXPECT_EQ(error_in(answer(400, ec2_error("A.B"))).message, "why");
  EXPECT_EQ(
      error_in(answer(400, "<ErrorResponse><Error><Code>C</Code></Error></ErrorResponse>")).code,
      "C");
  EXPECT_EQ(error_in(answer(404, "<Error><Code>NoSuchKey</Code></Error>")).code, "NoSuchKey");
  EXPECT_EQ(error_in(answer(400, R"({"__type": "com.aws#Throttled", "Message": "m"})")).code,
            "Throttled");
  EXPECT_EQ(error_in(answer(502, "<html>")).code, "");
  EXPECT_EQ(error_in(answer(502, "{")).code, "");
}

// What AWS answers, and what the driver does.
struct Meaning {
  const char* code;
  int status;
  Effect effect;
  ErrorKind kind;
  const char* then = "";
};

constexpr Meaning kMeanings[] = {
    {"VcpuLimitExceeded", 400, Effect::none, ErrorKind::quota},
    {"InsufficientInstanceCapacity", 500, Effect::creates, ErrorKind::no_capacity},
    {"RequestLimitExceeded", 503, Effect::creates, ErrorKind::transient, "slow"},
    {"RequestLimitExceeded", 503, Effect::none, ErrorKind::transient, "slow"},
    {"TooMany", 429, Effect::none, ErrorKind::transient, "slow"},
    {"AuthFailure", 401, Effect::none, ErrorKind::auth, "renew"},
    {"AuthFailure", 403, Effect::none, ErrorKind::auth},
    {"Any", 401, Effect::creates, ErrorKind::auth, "renew"},
    {"RequestExpired", 400, Effect::none, ErrorKind::auth, "renew"},
    {"UnauthorizedOperation", 403, Effect::none, ErrorKind::permanent},
    {"UnauthorizedOperation", 403, Effect::creates, ErrorKind::failed},
    {"InvalidInstanceID.NotFound", 400, Effect::none, ErrorKind::not_found},
    {"InvalidInstanceID.Malformed", 400, Effect::none, ErrorKind::not_found},
    {"InvalidConversionTaskId.Malformed", 400, Effect::none, ErrorKind::not_found},
    {"InvalidUserData.Malformed", 400, Effect::none, ErrorKind::failed},
    {"InvalidInstanceType", 400, Effect::none, ErrorKind::permanent},
    {"InternalError", 500, Effect::none, ErrorKind::transient, "retry"},
    {"InternalError", 500, Effect::creates, ErrorKind::unknown_outcome, "retry"},
    {"RequestTimeout", 400, Effect::none, ErrorKind::transient, "retry"},
    {"InvalidSnapshot.InUse", 400, Effect::none, ErrorKind::transient, "retry"},
    {"InvalidParameterValue", 400, Effect::none, ErrorKind::failed},
};

TEST(ErrorResponse, is_classified) {
  for (const Meaning& meaning : kMeanings) {
    const cloud::Refusal refusal =
        classify(answer(meaning.status, ec2_error(meaning.code)), meaning.effect);
    const std::string what = fmt::format("{} {}", meaning.status, meaning.code);
    EXPECT_EQ(refusal.kind, meaning.kind) << what;
    EXPECT_EQ(refusal.code, meaning.code);
    EXPECT_EQ(refusal.message, "HTTP " + what + ": why");
    const std::string_view then = meaning.then;
    EXPECT_EQ(refusal.slow_down, then == "slow") << what;
    EXPECT_EQ(refusal.retry, then == "retry" || then == "slow") << what;
    EXPECT_EQ(refusal.renew_credentials, then == "renew") << what;
  }
}

TEST(XmlElement, says_where_something_is_missing) {
  const cloud::XmlElement root =
      cloud::XmlElement::parse("call", "<a><b><item><c>x</c></item></b></a>");
  EXPECT_EQ(root.items("b").at(0).text("c"), "x");
  try {
    root.items("b").at(0).number("c");
    ADD_FAILURE() << "a number";
  } catch (const CloudError& error) {
    EXPECT_STREQ(error.what(), "call: the response.b.item[0].c is no number");
  }
  EXPECT_THROW(cloud::XmlElement::parse("call", "{}"), CloudError);
}

TEST(XmlElement, takes_no_number_that_cannot_be_meant) {
  for (const char* number : {"inf", "nan", "-inf", "1e300", "-1", "9007199254740993", "1x"}) {
    const cloud::XmlElement root =
        cloud::XmlElement::parse("call", std::string("<a><n>") + number + "</n></a>");
    EXPECT_THROW(root.number("n"), CloudError) << number;
    EXPECT_THROW(root.optional_number("n"), CloudError) << number;
    EXPECT_THROW(root.optional_integer("n"), CloudError) << number;
  }
  const cloud::XmlElement root = cloud::XmlElement::parse("call", "<a><n>1.5</n><m>64</m></a>");
  EXPECT_EQ(root.number("n"), 1.5);
  EXPECT_THROW(root.optional_integer("n"), CloudError);
  EXPECT_EQ(root.optional_integer("m"), 64);
  EXPECT_EQ(root.optional_integer("none"), std::nullopt);
}

TEST(CallRateLimit, is_halved_when_asked_and_recovers) {
  async::EventLoop loop;
  async::VirtualClock clock;
  async::Random random{1};
  CallRateLimit poll_policy({loop.executor(), clock, random});
  poll_policy.set_rate(4);
  clock.advance_by(std::chrono::seconds(10));
  poll_policy.throttled(http::Precedence::creation);
  poll_policy.throttled(http::Precedence::removal);
  EXPECT_EQ(poll_policy.rate(), 2) << "calls that were under way together count once";
  clock.advance_by(std::chrono::seconds(10));
  poll_policy.throttled(http::Precedence::creation);
  EXPECT_EQ(poll_policy.rate(), 1);
  poll_policy.throttled(http::Precedence::read);
  EXPECT_EQ(poll_policy.rate(), 1) << "looks have a pace of their own";
  for (int i = 0; i < 100; ++i) poll_policy.accepted(http::Precedence::creation);
  EXPECT_EQ(poll_policy.rate(), 4);
}

TEST(CallRateLimit, without_a_limit_one_is_found) {
  async::EventLoop loop;
  async::VirtualClock clock;
  async::Random random{1};
  CallRateLimit poll_policy({loop.executor(), clock, random});
  EXPECT_EQ(poll_policy.rate(), 0);
  clock.advance_by(std::chrono::seconds(10));
  poll_policy.throttled(http::Precedence::creation);
  EXPECT_EQ(poll_policy.rate(), 10);
}

TEST(ExternalId, is_an_object_and_was_text) {
  EXPECT_EQ(to_json({.instance = "i-1", .host = {}}).text, R"({"instance": "i-1"})");
  EXPECT_EQ(to_json({.instance = "i-1", .host = "h-1"}).text,
            R"({"host": "h-1", "instance": "i-1"})");
  EXPECT_EQ(parse_external_id({R"({"instance": "i-1"})"}),
            (ExternalId{.instance = "i-1", .host = {}}));
  EXPECT_EQ(parse_external_id({R"("i-1")"}), (ExternalId{.instance = "i-1", .host = {}}));
  EXPECT_THROW(parse_external_id({"7"}), CloudError);
  EXPECT_THROW(parse_external_id({"{}"}), CloudError);
}

TEST(QuotaCodes, are_found_by_family) {
  EXPECT_EQ(instance_quota_code("m5.large", false), "L-1216C47A");
  EXPECT_EQ(instance_quota_code("t3.nano", true), "L-34B43A08");
  EXPECT_EQ(instance_quota_code("trn1.32xlarge", false), "L-2C3B7624");
  EXPECT_EQ(instance_quota_code("dl1.24xlarge", false), "L-6E869C2A");
  EXPECT_EQ(instance_quota_code("u-6tb1.metal", false), "L-43DA4232");
  EXPECT_EQ(instance_quota_code("hpc7a.96xlarge", true), "");
  EXPECT_EQ(instance_quota_code("", false), "");
  EXPECT_EQ(host_quota_code("mac2-m2.metal"), "L-B90B5B66");
  EXPECT_EQ(host_quota_code("none.large"), "");
  EXPECT_EQ(volume_quota_codes("io2").iops, "L-8D977E7E");
  EXPECT_EQ(volume_quota_codes("").storage, "");
}

TEST(Usage, of_a_label_counts_its_disk_where_the_type_is_named) {
  const InstanceType type{.name = "m5.large", .vcpus = 2, .cores = 1, .memory = 8192};
  AwsLabel label;
  label.volume.size = 20;
  EXPECT_EQ(label_resources(label, type),
            Resources({{"instances", 1}, {"cores", 1}, {"ram", 8192}, {"L-1216C47A", 2}}));
  label.volume.type = "io1";
  label.volume.iops = 500;
  label.use_spot = true;
  EXPECT_EQ(label_resources(label, type), Resources({{"instances", 1},
                                                     {"cores", 1},
                                                     {"ram", 8192},
                                                     {"L-34B43A08", 2},
                                                     {"L-FD252861", 20},
                                                     {"L-B3A130E6", 500}}));
}

TEST(Usage, of_an_instance_counts_the_volumes_that_are_listed) {
  const InstanceType medium{.name = "t3.medium", .vcpus = 2, .cores = 1, .memory = 4096};
  const cloud::ById<Ec2Volume> volumes(
      {{.id = "v-1", .state = "in-use", .type = "gp3", .size = 8, .tags = {}}});
  Ec2Instance instance;
  instance.type = "t3.medium";
  instance.volume_ids = {"v-1", "v-2"};
  const driver::Resources taken = instance_resources(instance, {{"t3.medium", medium}}, volumes);
  EXPECT_EQ(taken.amount("cores"), 1);
  EXPECT_EQ(taken.amount("L-7A658B76"), 8);
  EXPECT_EQ(instance_resources(instance, {}, volumes).amount("cores"), 0) << "an unknown type";
}

TEST(Usage, of_a_fleet_is_the_least_of_its_types) {
  const InstanceType small{.name = "m5.large", .vcpus = 2, .cores = 1, .memory = 8192};
  const InstanceType large{.name = "m6i.xlarge", .vcpus = 4, .cores = 2, .memory = 4096};
  const InstanceType other{.name = "g5.xlarge", .vcpus = 4, .cores = 2, .memory = 16384};
  AwsLabel label;
  label.fleet = Fleet{.instance_types = {"m5.large"}, .allocation_strategy = "diversified"};
  EXPECT_EQ(least_need_of(label, {large, small}),
            Resources({{"instances", 1}, {"cores", 1}, {"ram", 4096}, {"L-1216C47A", 2}}));
  EXPECT_EQ(least_need_of(label, {large, other}),
            Resources({{"instances", 1}, {"cores", 2}, {"ram", 4096}}))
      << "neither quota is sure to be used";
}

TEST(Usage, limits_are_those_that_matter_and_in_gigabytes) {
  EXPECT_THAT(limits_for({"L-1216C47A", "L-7A658B76", "L-unknown"},
                         {{"L-1216C47A", 64}, {"L-7A658B76", 50}, {"L-other", 1}}),
              ElementsAre(Pair("L-1216C47A", 64), Pair("L-7A658B76", 50000)));
}

}  // namespace
}  // namespace nodepool::drivers::aws
