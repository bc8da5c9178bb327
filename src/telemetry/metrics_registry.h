#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "telemetry/metric.h"

namespace nodepool::telemetry {

// The latest figures of a process, for whoever asks for them in Prometheus' format: counters and
// durations since its start, gauges as they were told last.
class MetricsRegistry {
 public:
  // Series beyond this number are left out: names may come from outside.
  static constexpr std::size_t kMostSeries = 50'000;

  // The kind of the series' metric says which of these it is.
  void count(const Series& series, std::int64_t increment);
  void gauge(const Series& series, double value);
  void time(const Series& series, std::chrono::nanoseconds duration);

  // Of a counter that somebody else keeps: what it has come to.
  void total(const Series& series, double value);

  // What there is of one metric: the value, of durations the sum in seconds, and how many there
  // were.
  using Visitor = std::function<void(const Series& series, double value, std::uint64_t count)>;
  void visit(const Metric& metric, const Visitor& visitor) const;

  // All of them in the text format 0.0.4. Reference:
  // prometheus.io/docs/instrumenting/exposition_formats. Durations are histograms.
  std::string prometheus_text() const;

 private:
  static constexpr std::size_t kBuckets = 13;
  using Buckets = std::array<double, kBuckets>;

  // The upper ends of the buckets of the metric's histograms, in seconds.
  static const Buckets& buckets_of(const Metric& metric);

  struct Figure {
    double value = 0;         // of a gauge or counter; of durations the sum, in seconds
    std::uint64_t count = 0;  // of durations
    std::array<std::uint64_t, kBuckets> buckets = {};  // cumulative
  };

  Figure* figure(const Series& series);  // nullptr: there are too many

  std::map<Series, Figure> registry_;
};

}  // namespace nodepool::telemetry
