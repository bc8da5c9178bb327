#pragma once

#include <functional>
#include <memory>
#include <string>

#include "async/runtime.h"
#include "async/slots.h"
#include "async/thread_pool.h"
#include "telemetry/metrics_registry.h"
#include "web/message.h"

namespace nodepool::web {

// The page /metrics. It may have some megabytes: it is rendered on a thread, one at a time, and
// reused for a second.
class MetricsPage {
 public:
  // Returns a copy of the current metrics. Called on the event loop.
  using Collect = std::function<telemetry::MetricsRegistry()>;

  MetricsPage(const async::Runtime& runtime, Collect collect);

  // Waits for its turn. Throws Cancelled.
  async::Task<Response> answer();

 private:
  bool is_younger_than(async::Clock::TimePoint oldest) const;
  async::Task<> render();

  async::Runtime runtime_;
  Collect collect_;
  async::Slots turn_{1};
  std::shared_ptr<const std::string> body_;  // null: not rendered yet
  async::Clock::TimePoint collected_;        // the metrics of the body
  async::ThreadPool threads_{1, "metrics"};
};

}  // namespace nodepool::web
