#include "cloud/endpoints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "async/event_loop.h"

namespace nodepool::cloud {
namespace {

using testing::ElementsAre;

class TestEndpoint final : public Endpoint {
 public:
  explicit TestEndpoint(std::string account) : account_(std::move(account)) {}

  bool is_of(const std::string& account) const { return !is_closed() && account == account_; }
  void call() { observer()({.name = account_, .method = "GET"}); }

  double rate = -1;
  int stops = 0;

 private:
  void set_rate(double new_rate) override { rate = new_rate; }
  async::Task<> stop() override {
    ++stops;
    co_return;
  }

  std::string account_;
};

class EndpointsTest : public testing::Test {
 protected:
  Endpoint::Member member(const std::string& name, double rate) {
    return {.rate = rate,
            .on_attempt = [this, name](const http::Attempt&) { reported_.push_back(name); }};
  }
  std::shared_ptr<TestEndpoint> find(const std::string& account) {
    return endpoints_.find(runtime_, account,
                           [&] { return std::make_shared<TestEndpoint>(account); });
  }

  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  Endpoints<std::string, TestEndpoint> endpoints_;
  TestEndpoint endpoint_{"a"};
  std::vector<std::string> reported_;
};

TEST_F(EndpointsTest, the_lowest_rate_of_the_members_applies) {
  endpoint_.join({});
  EXPECT_EQ(endpoint_.rate, 0) << "no limit";
  endpoint_.join(member("quick", 4));
  const auto slowest = endpoint_.join(member("slow", 0.5));
  EXPECT_EQ(endpoint_.rate, 0.5);
  loop_.run(endpoint_.leave(slowest));
  EXPECT_EQ(endpoint_.rate, 4);
}

TEST_F(EndpointsTest, calls_are_reported_to_the_oldest_member) {
  endpoint_.call();
  const auto oldest = endpoint_.join(member("first", 0));
  endpoint_.join(member("second", 0));
  endpoint_.call();
  loop_.run(endpoint_.leave(oldest));
  endpoint_.call();
  EXPECT_THAT(reported_, ElementsAre("first", "second"));
}

TEST_F(EndpointsTest, the_last_member_stops_the_endpoint) {
  const auto first = endpoint_.join({});
  const auto last = endpoint_.join({});
  loop_.run(endpoint_.leave(first));
  EXPECT_EQ(endpoint_.stops, 0);
  EXPECT_TRUE(endpoint_.is_of("a"));
  loop_.run(endpoint_.leave(last));
  EXPECT_EQ(endpoint_.stops, 1);
  EXPECT_FALSE(endpoint_.is_of("a"));
}

TEST_F(EndpointsTest, an_account_has_one_endpoint_while_it_is_used) {
  const auto first = find("a");
  const auto membership = first->join({});
  EXPECT_EQ(find("a"), first);
  EXPECT_NE(find("b"), first);
  loop_.run(first->leave(membership));
  EXPECT_NE(find("a"), first);
}

}  // namespace
}  // namespace nodepool::cloud
