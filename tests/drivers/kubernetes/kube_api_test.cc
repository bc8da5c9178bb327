// Calls of the API, on a server that answers as a test says.

#include "drivers/kubernetes/api/kube_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <utility>

#include "async/event_loop.h"
#include "driver/cloud_error.h"
#include "drivers/kubernetes/api/credentials.h"
#include "tests/drivers/request_ids.h"
#include "tests/support/http_server.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::drivers::kubernetes {
namespace {

using driver::CloudError;
using testing::ElementsAre;
using testing::HasSubstr;

class KubeApiTest : public testing::Test {
 protected:
  ~KubeApiTest() override {
    loop_.run(account_.stop());
    loop_.run(server_.stop());
  }

  std::vector<std::string> names() {
    const auto read = [](const Element& pod) { return pod.text("name"); };
    return loop_.run(api_.list("list pods", "/api/v1/pods", "", read));
  }

  std::function<std::string(const std::string& target)> answer_;
  int status_ = 200;

 private:
  using Server = http::HttpServer;

  async::Task<std::string> serve(const Server::Call& call) {
    co_return http::answer(status_, answer_(call.target), "Audit-Id: audit-1\r\n");
  }

  static Cluster cluster_at(std::string url) {
    Cluster cluster;
    cluster.server = std::move(url);
    return cluster;
  }

 protected:
  static telemetry::Logger log() {
    return {
        telemetry::Log::to_consumer([](telemetry::LogLevel, std::string_view, std::string_view) {}),
        "test"};
  }

  async::EventLoop loop_;
  async::SystemClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  Server server_{runtime_, [this](const Server::Call& call) { return serve(call); }};
  async::ThreadPool threads_{1, "test"};
  ClusterAccount account_{runtime_, cluster_at(server_.url()), threads_, log()};
  KubeApi api_{runtime_, account_, log(), {}};
};

TEST_F(KubeApiTest, a_collection_is_read_page_by_page) {
  answer_ = [](const std::string& target) -> std::string {
    if (target.ends_with("&continue=a%2Fb")) return R"({"items": [{"name": "second"}]})";
    return R"({"metadata": {"continue": "a/b"}, "items": [{"name": "first"}]})";
  };
  EXPECT_THAT(names(), ElementsAre("first", "second"));
}

TEST_F(KubeApiTest, a_token_file_that_is_being_written_is_read_later) {
  const test_support::TemporaryDirectory directory;
  Cluster cluster;
  cluster.token_file = directory.write("token", "");
  async::VirtualClock clock;
  Credentials credentials({loop_.executor(), clock, random_}, cluster, threads_, log());
  EXPECT_THROW(loop_.run(credentials.get()), CloudError);
  for (const auto& [content, token] : {std::pair("one\n", "one"), {"", "one"}, {"two\n", "two"}}) {
    directory.write("token", content);
    clock.advance_to(clock.now() + std::chrono::minutes(2));
    EXPECT_EQ(loop_.run(credentials.get())->token, token);
  }
  loop_.run(credentials.stop());
}

TEST_F(KubeApiTest, a_launch_trace_has_the_audit_id) {
  answer_ = [](const std::string&) { return "{}"; };
  const auto watch = [] {};
  EXPECT_THAT(request_ids(loop_, runtime_, api_.watch("watch", "/x", "", watch)),
              ElementsAre("audit-1"));
}

TEST_F(KubeApiTest, an_object_that_exists_or_is_gone_is_no_error) {
  answer_ = [](const std::string&) { return R"({"message": "no", "reason": "AlreadyExists"})"; };
  const auto make = [this] { return api_.make("make", "/x", Json(), KubeApi::Retry::forbidden); };
  status_ = 201;
  EXPECT_TRUE(loop_.run(make()));
  status_ = 409;
  EXPECT_FALSE(loop_.run(make()));
  EXPECT_THROW(loop_.run(api_.find("get", "/x")), CloudError);
  answer_ = [](const std::string&) { return R"({"message": "no", "reason": "NotFound"})"; };
  status_ = 404;
  EXPECT_FALSE(loop_.run(api_.remove("delete", "/x")));
  EXPECT_EQ(loop_.run(api_.find("get", "/x")), std::nullopt);
  EXPECT_THROW(loop_.run(make()), CloudError);
}

TEST_F(KubeApiTest, a_collection_has_a_limit_for_all_its_pages_together) {
  answer_ = [this](const std::string&) {
    return R"({"metadata": {"continue": ")" + std::to_string(server_.calls().size()) +
           R"("}, "items": []})" + std::string(std::size_t{60} << 20, ' ');
  };
  std::optional<CloudError> failure;
  try {
    names();
  } catch (const CloudError& error) {
    failure = error;
  }
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind(), CloudError::Kind::failed);
  EXPECT_THAT(failure->what(),
              HasSubstr("list pods: the list is larger than the limit of 256 MiB"));
  EXPECT_EQ(server_.calls().size(), 5U);
}

}  // namespace
}  // namespace nodepool::drivers::kubernetes
