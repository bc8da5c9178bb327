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

// How the value of a label stands in a key of statsd, where '.' parts levels.
enum class KeyPart {
  as_is,      // whatever it has in it, as the Python Nodepool does with most names
  one_level,  // '.' and ':' become '_', as it does with the names of requestors and tenants
  words,      // all that is no letter, digit, '-' or '_' becomes one '_'
};

// What tells apart the figures of one metric: the provider, say.
struct MetricLabel {
  std::string_view name = {};
  KeyPart part = KeyPart::as_is;
};

// Declares one kind of figure; whoever has such a figure, sends it or lists what there is uses the
// declaration. It lives as long as the program.
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
    timer,          // of durations
    counted_timer,  // … which statsd counts under the same key as well
  };
  static constexpr std::size_t kMostLabels = 4;
  static constexpr std::size_t kMostKeys = 4;

  std::string_view name;  // as Prometheus spells it, with the unit at its end
  Kind kind;
  std::array<MetricLabel, kMostLabels> labels = {};
  // Its keys for statsd, byte for byte the Python Nodepool's where that has them; labels stand in
  // '<>'. A figure is sent under each, but for those with a label that has no value.
  std::array<std::string_view, kMostKeys> statsd = {};
  std::string_view help = {};
  bool is_brief = false;  // durations: mostly far below a second; histograms are as fine
};

// Those of a metric, without what the arrays have left over.
std::span<const MetricLabel> labels_of(const Metric& metric);
std::span<const std::string_view> statsd_keys_of(const Metric& metric);

constexpr std::size_t label_count(const Metric& metric) {
  std::size_t count = 0;
  while (count < metric.labels.size() && !metric.labels[count].name.empty()) ++count;
  return count;
}

// The position of the label; label_count() if the metric has none of that name.
constexpr std::size_t label_index(const Metric& metric, std::string_view name) {
  std::size_t index = 0;
  while (index < label_count(metric) && metric.labels[index].name != name) ++index;
  return index;
}

// Whether every '<>' in its keys is a label that it has.
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

// A metric with a value for each of its labels: what one figure is about.
struct Series {
  const Metric* metric;
  std::vector<std::string> values;  // in the order of the labels; empty: has none

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

// The keys of statsd under which a figure of the series is sent.
std::vector<std::string> statsd_keys(const Series& series);

}  // namespace nodepool::telemetry
