#include "telemetry/metrics_registry.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <limits>
#include <utility>
#include <vector>

namespace nodepool::telemetry {

namespace {

prometheus::MetricType type_of(Metric::Kind kind) {
  switch (kind) {
    case Metric::Kind::counter:
      return prometheus::MetricType::Counter;
    case Metric::Kind::gauge:
      return prometheus::MetricType::Gauge;
    case Metric::Kind::timer:
    case Metric::Kind::counted_timer:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

}  // namespace

const MetricsRegistry::Buckets& MetricsRegistry::buckets_of(const Metric& metric) {
  // For example the event loop and the store.
  static constexpr Buckets kBrief = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,  0.25,
                                     0.5,    1.0,   2.5,    5.0,   10.0, 25.0,  60.0, 120.0};
  // For example calls of clouds and builds of images.
  static constexpr Buckets kLong = {0.01, 0.1,   0.5,   1.0,   2.0,    5.0,    10.0,   20.0,  30.0,
                                    60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0, 7200.0};
  return metric.is_brief ? kBrief : kLong;
}

MetricsRegistry::Value* MetricsRegistry::value_of(const Series& series) {
  const auto known = registry_.find(series);
  if (known != registry_.end()) return &known->second;
  std::size_t& size = sizes_[series.metric->name];
  if (size >= kMostSeries) {
    if (on_drop_) on_drop_(*series.metric);
    return nullptr;
  }
  ++size;
  return &registry_[series];
}

void MetricsRegistry::count(const Series& series, std::int64_t increment) {
  if (Value* const known = value_of(series)) known->value += static_cast<double>(increment);
}

void MetricsRegistry::gauge(const Series& series, double value) {
  if (Value* const known = value_of(series)) known->value = value;
}

void MetricsRegistry::time(const Series& series, std::chrono::nanoseconds duration) {
  Value* const known = value_of(series);
  if (known == nullptr) return;
  const double seconds = std::chrono::duration<double>(duration).count();
  known->value += seconds;
  ++known->count;
  const Buckets& ends = buckets_of(*series.metric);
  for (std::size_t i = 0; i < kBuckets; ++i) {
    if (seconds <= ends.at(i)) ++known->buckets.at(i);
  }
}

void MetricsRegistry::total(const Series& series, double value) {
  if (Value* const known = value_of(series)) known->value = value;
}

void MetricsRegistry::erase(const Metric& metric,
                            const std::function<bool(const Series& series)>& is_gone) {
  sizes_[metric.name] -= std::erase_if(registry_, [&](const auto& entry) {
    return entry.first.metric->name == metric.name && is_gone(entry.first);
  });
}

void MetricsRegistry::visit(const Metric& metric, const Visitor& visitor) const {
  for (auto at = registry_.lower_bound(Series{&metric, {}});
       at != registry_.end() && at->first.metric->name == metric.name; ++at) {
    visitor(at->first, at->second.value, at->second.count);
  }
}

std::string MetricsRegistry::prometheus_text() const {
  std::vector<prometheus::MetricFamily> families;
  for (const auto& [series, value] : registry_) {
    const Metric& metric = *series.metric;
    if (families.empty() || families.back().name != metric.name) {
      families.push_back(
          {std::string(metric.name), std::string(metric.help), type_of(metric.kind), {}});
    }
    prometheus::ClientMetric& shown = families.back().metric.emplace_back();
    const auto labels = labels_of(metric);
    for (std::size_t i = 0; i < labels.size() && i < series.values.size(); ++i) {
      if (series.values[i].empty()) continue;
      shown.label.push_back({std::string(labels[i].name), series.values[i]});
    }
    switch (families.back().type) {
      case prometheus::MetricType::Counter:
        shown.counter.value = value.value;
        break;
      case prometheus::MetricType::Histogram:
        shown.histogram.sample_count = value.count;
        shown.histogram.sample_sum = value.value;
        for (std::size_t i = 0; i < kBuckets; ++i) {
          shown.histogram.bucket.push_back({value.buckets.at(i), buckets_of(metric).at(i)});
        }
        shown.histogram.bucket.push_back({value.count, std::numeric_limits<double>::infinity()});
        break;
      default:
        shown.gauge.value = value.value;
    }
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace nodepool::telemetry
