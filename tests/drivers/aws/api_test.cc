// Calls whose answers are lost, refused, too large, or no answers of AWS' at all.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/event_loop.h"
#include "async/task_scope.h"
#include "driver/cloud_error.h"
#include "drivers/aws/api/caller.h"
#include "drivers/aws/api/ec2.h"
#include "drivers/aws/api/service_quotas.h"
#include "drivers/aws/cloud_view.h"
#include "drivers/aws/terminator.h"
#include "tests/drivers/aws/stand_in/stand_in.h"
#include "tests/drivers/request_ids.h"
#include "tests/support/http_server.h"

namespace nodepool::drivers::aws {
namespace {

using driver::CloudError;
using testing::HasSubstr;
using testing::UnorderedElementsAre;
using ErrorKind = CloudError::Kind;
using SourceKind = CredentialSource::Kind;

// An account and its calls, on a loop of the test's own.
class ApiTest : public testing::Test {
 protected:
  ~ApiTest() override {
    if (state_) loop_.run(state_->stop());
  }

  Caller& caller_at(const std::string& url, CredentialSource source = {}) {
    if (source.kind == SourceKind::keys) source.keys = {"AKIDTEST", "secret", ""};
    account_ = {.region = "north-1", .credentials = std::move(source)};
    for (const ServiceKind service : {ServiceKind::ec2, ServiceKind::service_quotas}) {
      account_.endpoints[service] = url;
    }
    const auto log =
        telemetry::Log::to_consumer([](telemetry::LogLevel, std::string_view, std::string_view) {});
    const telemetry::Logger logger(log, "test");
    state_.emplace(runtime_, account_, threads_, logger, http::Client::Observer());
    caller_.emplace(runtime_, *state_, logger, http::Client::Observer());
    return *caller_;
  }

  // What a call throws.
  template <typename T>
  std::optional<CloudError> error_of(async::Task<T> task) {
    try {
      loop_.run(std::move(task));
    } catch (const CloudError& error) {
      return error;
    }
    return std::nullopt;
  }

  async::EventLoop loop_;
  async::SystemClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  async::ThreadPool threads_{1, "test"};
  Account account_;
  std::optional<AccountState> state_;
  std::optional<Caller> caller_;
};

// A server that gives the answers of a test, one after the other, and the last one for good.
class ScriptedApiTest : public ApiTest {
 protected:
  ~ScriptedApiTest() override { loop_.run(server_.stop()); }

  Ec2& ec2(std::vector<std::string> answers, CredentialSource source = {}) {
    answers_ = std::move(answers);
    if (!source.url.empty()) source.url = server_.url() + source.url;
    ec2_.emplace(caller_at(server_.url(), std::move(source)));
    return *ec2_;
  }
  std::size_t calls_to_ec2() const {
    return static_cast<std::size_t>(
        std::ranges::count(server_.calls(), "/", &Server::Call::target));
  }

  std::vector<std::string> answers_;
  std::vector<std::string> keys_;  // what the container's service says, in turn

 private:
  using Server = http::HttpServer;

  async::Task<std::string> serve(const Server::Call& call) {
    std::vector<std::string>& said = call.target == "/keys" ? keys_ : answers_;
    const std::string next = said.at(0);
    if (said.size() > 1) said.erase(said.begin());
    co_return next;
  }

  Server server_{runtime_, [this](const Server::Call& call) { return serve(call); }};
  std::optional<Ec2> ec2_;
};

Query with_token() {
  Query query;
  query.add("ClientToken", "token");
  return query;
}

TEST_F(ScriptedApiTest, a_machine_may_be_there_though_there_are_no_keys_for_another_attempt) {
  keys_ = {http::answer(200, R"({"AccessKeyId": "A", "SecretAccessKey": "B", "Token": "C",
                                 "Expiration": "2020-01-01T00:00:00Z"})"),
           http::answer(403, "")};
  Ec2& ec2 = this->ec2({""}, {.kind = SourceKind::container, .url = "/keys"});
  const auto error = error_of(ec2.run_instance(with_token()));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::unknown_outcome) << error->what();
  EXPECT_EQ(calls_to_ec2(), 1U);
}

TEST_F(ScriptedApiTest, without_keys_nothing_is_called) {
  keys_ = {http::answer(403, "")};
  Ec2& ec2 = this->ec2({""}, {.kind = SourceKind::container, .url = "/keys"});
  const auto error = error_of(ec2.run_instance(with_token()));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::auth) << error->what();
  EXPECT_EQ(calls_to_ec2(), 0U);
}

TEST_F(ScriptedApiTest, a_response_that_is_too_large_leaves_the_outcome_unknown) {
  Ec2& ec2 = this->ec2({http::answer(200, std::string(std::size_t{65} << 20, ' '))});
  const auto error = error_of(ec2.run_instance(with_token()));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::unknown_outcome) << error->what();
}

TEST_F(ScriptedApiTest, a_foreign_response_leaves_the_outcome_unknown) {
  const std::string page = http::answer(200, "<html><body>proxy</body></html>");
  EXPECT_EQ(error_of(ec2({page}).run_instance(with_token()))->kind(), ErrorKind::unknown_outcome);
  EXPECT_EQ(error_of(ec2({page}).create_fleet(with_token()))->kind(), ErrorKind::unknown_outcome);
  EXPECT_EQ(error_of(ec2({page}).allocate_host(with_token()))->kind(), ErrorKind::unknown_outcome);
  EXPECT_EQ(error_of(ec2({page}).register_image(with_token()))->kind(), ErrorKind::unknown_outcome);
}

// Nothing is lost by a change that is asked for again.
TEST_F(ScriptedApiTest, an_idempotent_change_with_an_unreadable_response_is_transient) {
  const std::string cut = http::answer(200, "<CreateTagsResponse><retu");
  EXPECT_EQ(error_of(ec2({cut}).create_tags({"snap-1"}, {{"k", "v"}}))->kind(),
            ErrorKind::transient);
  EXPECT_EQ(error_of(ec2({cut}).create_template(with_token()))->kind(), ErrorKind::transient);
  EXPECT_EQ(error_of(ec2({cut}).instances())->kind(), ErrorKind::failed);
}

TEST_F(ScriptedApiTest, a_fleet_without_a_machine_is_a_failure) {
  const std::string empty =
      "<CreateFleetResponse><fleetId>fleet-1</fleetId><errorSet/><fleetInstanceSet/>"
      "</CreateFleetResponse>";
  EXPECT_EQ(error_of(ec2({http::answer(200, empty)}).create_fleet(with_token()))->kind(),
            ErrorKind::failed);
}

TEST_F(ScriptedApiTest, a_foreign_response_is_no_empty_list) {
  const std::string page = http::answer(200, "<html><body>proxy</body></html>");
  EXPECT_THAT(error_of(ec2({page}).instances())->what(), HasSubstr("reservationSet is missing"));
  EXPECT_TRUE(error_of(ec2({page}).volumes()));
  EXPECT_TRUE(error_of(ec2({page}).hosts()));
  EXPECT_TRUE(error_of(ec2({page}).templates()));
  EXPECT_TRUE(error_of(ec2({page}).images({"ami-1"})));
  const std::string empty = http::answer(200, "<R><reservationSet/></R>");
  EXPECT_FALSE(error_of(ec2({empty}).instances()));
}

TEST_F(ScriptedApiTest, a_launch_trace_has_the_request_ids) {
  const std::string busy =
      "<Response><Errors><Error><Code>SlowDown</Code></Error></Errors></Response>";
  Ec2& ec2 = this->ec2({http::answer(503, busy, "X-Amz-Request-Id: request-1\r\n"),
                        http::answer(200, "<R/>", "X-Amzn-RequestId: request-2\r\n")});
  EXPECT_THAT(request_ids(loop_, runtime_, ec2.terminate({"i-1"})),
              testing::ElementsAre("request-1", "request-2"));
}

TEST_F(ScriptedApiTest, rejected_keys_are_renewed_once) {
  keys_ = {http::answer(200, R"({"AccessKeyId": "A", "SecretAccessKey": "B", "Token": "C",
                                 "Expiration": "2099-01-01T00:00:00Z"})")};
  const std::string expired =
      "<Response><Errors><Error><Code>ExpiredToken</Code></Error></Errors></Response>";
  Ec2& ec2 =
      this->ec2({http::answer(400, expired)}, {.kind = SourceKind::container, .url = "/keys"});
  const auto error = error_of(ec2.terminate({"i-1"}));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::auth);
  EXPECT_EQ(error->code(), "ExpiredToken");
  EXPECT_EQ(calls_to_ec2(), 2U);
}

TEST_F(ScriptedApiTest, a_list_that_goes_in_circles_ends) {
  const std::string page =
      http::answer(200, "<R><reservationSet/><nextToken>again</nextToken></R>");
  EXPECT_THAT(error_of(ec2({page}).instances())->what(), HasSubstr("no last page"));
  EXPECT_EQ(calls_to_ec2(), 2U);
}

TEST_F(ScriptedApiTest, a_list_has_a_limit_for_all_its_pages_together) {
  std::vector<std::string> pages;
  for (int page = 0; page < 6; ++page) {
    pages.push_back(http::answer(200, "<R><reservationSet/><nextToken>" + std::to_string(page) +
                                          "</nextToken></R>" +
                                          std::string(std::size_t{60} << 20, ' ')));
  }
  EXPECT_THAT(error_of(ec2(std::move(pages)).instances())->what(),
              HasSubstr("ec2: DescribeInstances: the list is larger than the limit of 256 MiB"));
  EXPECT_EQ(calls_to_ec2(), 5U);
}

TEST_F(ScriptedApiTest, a_quota_that_cannot_be_meant_hides_no_other) {
  const std::string page = http::answer(200, R"({"Quotas": [
      {"QuotaCode": "L-1", "Value": 1e300}, {"QuotaCode": "L-2", "Value": 64.0},
      {"QuotaCode": "L-3", "Value": -1}]})");
  ec2({page});
  ServiceQuotas quotas(*caller_);
  EXPECT_THAT(loop_.run(quotas.values("ec2")), testing::ElementsAre(testing::Pair("L-2", 64)));
}

// The same, before a cloud.
class CloudApiTest : public ApiTest {
 protected:
  ~CloudApiTest() override { loop_.run(cloud_.stop()); }

  StandIn cloud_{runtime_};
  Ec2 ec2_{caller_at(cloud_.url())};
};

async::Task<> terminate(Terminator& terminator, std::string id, std::vector<std::string>& ended) {
  try {
    co_await terminator.terminate(id);
    ended.push_back(id);
  } catch (const CloudError& error) {
    ended.push_back(id + " failed");
  }
}

TEST_F(CloudApiTest, an_instance_that_may_not_be_ended_keeps_no_other) {
  const std::string ours = cloud_.add_instance("t3.medium", {});
  const std::string foreign = cloud_.add_instance("t3.medium", {});
  cloud_.forbidden = {foreign};
  Terminator terminator(runtime_, ec2_);
  std::vector<std::string> ended;
  async::TaskScope scope(runtime_, [](const std::string&, const std::string&) {});
  cloud_.latency = std::chrono::milliseconds(1);
  const std::string first = cloud_.add_instance("t3.medium", {});
  scope.spawn("first", terminate(terminator, first, ended));
  scope.spawn("foreign", terminate(terminator, foreign, ended));
  scope.spawn("ours", terminate(terminator, ours, ended));
  while (ended.size() < 3) loop_.run(clock_.sleep_for(std::chrono::milliseconds(1)));
  EXPECT_THAT(ended, UnorderedElementsAre(first, foreign + " failed", ours));
  EXPECT_EQ(cloud_.count("TerminateInstances"), 4) << "one alone, two together, each of these";
  EXPECT_EQ(cloud_.instances[ours].state, "shutting-down");
  loop_.run(scope.stop());
  loop_.run(terminator.stop());
}

TEST_F(CloudApiTest, an_unknown_type_hides_no_other) {
  ServiceQuotas quotas(*caller_);
  CloudView view(runtime_, ec2_, quotas);
  const auto types = loop_.run(view.types({"t3.medium", "old1.large"}));
  EXPECT_TRUE(types.contains("t3.medium"));
  EXPECT_FALSE(types.contains("old1.large"));
  loop_.run(view.stop());
}

}  // namespace
}  // namespace nodepool::drivers::aws
