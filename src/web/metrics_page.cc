#include "web/metrics_page.h"

#include <chrono>
#include <utility>

namespace nodepool::web {

namespace {

constexpr auto kMetricsCacheTime = std::chrono::seconds(1);

}  // namespace

MetricsPage::MetricsPage(const async::Runtime& runtime, Collect collect)
    : runtime_(runtime), collect_(std::move(collect)) {}

// The age counts from the client's arrival: clients that wait during a long rendering share it.
async::Task<Response> MetricsPage::answer() {
  const async::Clock::TimePoint oldest = runtime_.clock.now() - kMetricsCacheTime;
  if (!is_younger_than(oldest)) {
    const async::Slots::Hold turn = co_await turn_.take();
    if (!is_younger_than(oldest)) co_await render();
  }
  co_return Response{200, {{"Content-Type", std::string(kPrometheusText)}}, body_};
}

bool MetricsPage::is_younger_than(async::Clock::TimePoint oldest) const {
  return body_ && collected_ > oldest;
}

// The caller holds the turn. The copy is also freed on the thread.
async::Task<> MetricsPage::render() {
  const async::Clock::TimePoint now = runtime_.clock.now();
  auto make = [all = std::make_shared<const telemetry::MetricsRegistry>(collect_())]() mutable {
    std::string text = all->prometheus_text();
    all.reset();
    return text;
  };
  async::Task<std::string> making = threads_.run("rendering the metrics", std::move(make));
  body_ = std::make_shared<const std::string>(co_await std::move(making));
  collected_ = now;
}

}  // namespace nodepool::web
