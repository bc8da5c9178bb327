#pragma once

#include <array>
#include <compare>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nodepool::telemetry {

// How to write a label's value in a statsd key, where '.' separates levels.
enum class KeyPart {
  as_is,      // only ':', '|' and control characters become '_': others are the Python Nodepool's
  one_level,  // '.' also becomes '_', like its names of requestors and tenants
  words,      // other characters than letters, digits, '-' and '_' become one '_'
};

// A label of a metric, such as the provider.
struct MetricLabel {
  std::string_view name = {};
  KeyPart part = KeyPart::as_is;
};

// Declares a metric. A declaration lives as long as the program.
//
//   inline constexpr telemetry::Metric kBirds{
//       .name = "nodepool_birds",
//       .kind = telemetry::Metric::Kind::gauge,
//       .labels = {{{"wood"}}},
//       .statsd = {"nodepool.wood.<wood>.birds"},
//       .help = "birds that sit in the wood"};
//
//   metrics.gauge(telemetry::series<kBirds>("sherwood"), 12);
struct Metric {
  enum class Kind {
    counter,
    gauge,
    timer,          // durations
    counted_timer,  // durations, which statsd also counts under the same key
  };
  static constexpr std::size_t kMostLabels = 4;
  static constexpr std::size_t kMostKeys = 4;

  std::string_view name;  // for Prometheus, ending with the unit
  Kind kind;
  std::array<MetricLabel, kMostLabels> labels = {};
  // Its statsd keys, byte for byte the Python Nodepool's if it has them, with labels in '<>'. A
  // value is sent under each key, except those with a label without a value.
  std::array<std::string_view, kMostKeys> statsd = {};
  std::string_view help = {};
  bool is_brief = false;  // for durations: use histogram buckets far below a second
};

// The labels and keys of a metric without the unused array elements.
std::span<const MetricLabel> labels_of(const Metric& metric);
std::span<const std::string_view> statsd_keys_of(const Metric& metric);

constexpr std::size_t label_count(const Metric& metric) {
  std::size_t count = 0;
  while (count < metric.labels.size() && !metric.labels[count].name.empty()) ++count;
  return count;
}

// The index of the label; label_count() if the metric does not have it.
constexpr std::size_t label_index(const Metric& metric, std::string_view name) {
  std::size_t index = 0;
  while (index < label_count(metric) && metric.labels[index].name != name) ++index;
  return index;
}

// Whether every '<>' in its keys is one of its labels.
constexpr bool is_sound(const Metric& metric) {
  for (const std::string_view key : metric.statsd) {
    for (std::size_t begin = key.find('<'); begin != key.npos; begin = key.find('<', begin + 1)) {
      const std::size_t end = key.find('>', begin);
      if (end == key.npos) return false;
      const std::string_view name = key.substr(begin + 1, end - begin - 1);
      if (label_index(metric, name) == label_count(metric)) return false;
    }
  }
  return !metric.name.empty() && !metric.help.empty();
}

// A metric with a value for each of its labels.
struct Series {
  const Metric* metric;
  std::vector<std::string> values;  // in the order of the labels; an empty string: no value

  friend bool operator==(const Series&, const Series&) = default;
  friend std::strong_ordering operator<=>(const Series& left, const Series& right) {
    const auto names = left.metric->name <=> right.metric->name;
    return names != 0 ? names : left.values <=> right.values;
  }
};

template <const Metric& metric>
Series series(const std::convertible_to<std::string_view> auto&... values) {
  static_assert(is_sound(metric));
  static_assert(sizeof...(values) == label_count(metric), "a value for each label");
  return Series{&metric, {std::string(std::string_view(values))...}};
}

// The statsd keys of the series.
std::vector<std::string> statsd_keys(const Series& series);

}  // namespace nodepool::telemetry
