#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "telemetry/metric.h"

namespace nodepool::telemetry {

// The current metrics of a process for Prometheus: counters and durations since its start, and the
// last values of gauges.
class MetricsRegistry {
 public:
  // The limit of series of each metric, because label values may come from outside. Further series
  // are dropped; the other metrics are not affected.
  static constexpr std::size_t kMostSeries = 20'000;

  // Called for each value that is dropped.
  using OnDrop = std::function<void(const Metric& metric)>;

  explicit MetricsRegistry(OnDrop on_drop = {}) : on_drop_(std::move(on_drop)) {}

  // Call the function for the kind of the series' metric.
  void count(const Series& series, std::int64_t increment);
  void gauge(const Series& series, double value);
  void time(const Series& series, std::chrono::nanoseconds duration);

  // Sets a counter that is counted elsewhere.
  void total(const Series& series, double value);

  // Removes the series of a metric that `is_gone` selects.
  void erase(const Metric& metric, const std::function<bool(const Series& series)>& is_gone);

  // Visits the series of a metric: the value (for durations the sum in seconds) and the number of
  // durations.
  using Visitor = std::function<void(const Series& series, double value, std::uint64_t count)>;
  void visit(const Metric& metric, const Visitor& visitor) const;

  // All metrics in the text format 0.0.4. Reference:
  // prometheus.io/docs/instrumenting/exposition_formats. Durations are histograms.
  std::string prometheus_text() const;

 private:
  static constexpr std::size_t kBuckets = 17;
  using Buckets = std::array<double, kBuckets>;

  // The upper bounds of the buckets of the metric's histograms, in seconds.
  static const Buckets& buckets_of(const Metric& metric);

  struct Value {
    double value = 0;                                  // for durations: the sum, in seconds
    std::uint64_t count = 0;                           // number of durations
    std::array<std::uint64_t, kBuckets> buckets = {};  // cumulative
  };

  Value* value_of(const Series& series);  // nullptr: the limit is reached

  OnDrop on_drop_;
  std::map<std::string_view, std::size_t> sizes_;  // numbers of series by the metric's name
  std::map<Series, Value> registry_;
};

}  // namespace nodepool::telemetry
