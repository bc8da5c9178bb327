// Tests how often the metrics are rendered.

#include "web/metrics_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <vector>

#include "async/event_loop.h"
#include "async/task_scope.h"

namespace nodepool::web {
namespace {

using async::Task;
using testing::Contains;
using testing::HasSubstr;
using testing::Pair;
using testing::SizeIs;

constexpr telemetry::Metric kRenderings{.name = "renderings_total",
                                        .kind = telemetry::Metric::Kind::counter,
                                        .statsd = {"nodepool.renderings"},
                                        .help = "Renderings."};

class MetricsPageTest : public testing::Test {
 protected:
  telemetry::MetricsRegistry collect() {
    if (is_failing_) throw std::runtime_error("no metrics");
    telemetry::MetricsRegistry registry;
    registry.count(telemetry::series<kRenderings>(), ++collected_);
    return registry;
  }

  Response get() { return loop_.run(page_.answer()); }

  Task<> ask() { responses_.push_back(co_await page_.answer()); }

  Task<> pass(async::Duration time) {
    clock_.advance_by(time);
    co_return;
  }

  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{3};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  int collected_ = 0;  // times
  bool is_failing_ = false;
  std::vector<Response> responses_;
  async::TaskScope scope_{runtime_, [](const std::string& name, const std::string& error) {
                            ADD_FAILURE() << name << ": " << error;
                          }};
  MetricsPage page_{runtime_, [this] { return collect(); }};
};

TEST_F(MetricsPageTest, is_reused_for_a_second) {
  const Response first = get();
  EXPECT_THAT(*first.body, HasSubstr("\nrenderings_total 1\n"));
  EXPECT_THAT(first.headers, Contains(Pair("Content-Type", std::string(kPrometheusText))));
  clock_.advance_by(std::chrono::milliseconds(999));
  EXPECT_EQ(get().body, first.body);
  clock_.advance_by(std::chrono::milliseconds(1));
  EXPECT_THAT(*get().body, HasSubstr("\nrenderings_total 2\n"));
}

TEST_F(MetricsPageTest, is_rendered_once_for_clients_at_the_same_time) {
  for (int i = 0; i < 3; ++i) scope_.spawn("client", ask());
  loop_.run(scope_.join());
  ASSERT_THAT(responses_, SizeIs(3));
  for (const Response& response : responses_) EXPECT_EQ(response.body, responses_.front().body);
  EXPECT_EQ(collected_, 1);
}

TEST_F(MetricsPageTest, is_rendered_once_for_clients_that_wait_during_a_long_rendering) {
  for (int i = 0; i < 3; ++i) scope_.spawn("client", ask());
  scope_.spawn("time", pass(std::chrono::seconds(2)));  // before the thread's result is handled
  loop_.run(scope_.join());
  ASSERT_THAT(responses_, SizeIs(3));
  for (const Response& response : responses_) EXPECT_EQ(response.body, responses_.front().body);
  EXPECT_EQ(collected_, 1);
  EXPECT_NE(get().body, responses_.front().body) << "too old for a client that arrives now";
}

TEST_F(MetricsPageTest, a_failure_concerns_one_request) {
  is_failing_ = true;
  EXPECT_THROW(get(), std::runtime_error);
  is_failing_ = false;
  EXPECT_EQ(get().status, 200U);
}

}  // namespace
}  // namespace nodepool::web
