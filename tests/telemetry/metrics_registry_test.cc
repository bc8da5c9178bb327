#include "telemetry/metrics_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "telemetry/metrics.h"

namespace nodepool::telemetry {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Metric kLaidEggs{.name = "eggs",
                           .kind = Metric::Kind::gauge,
                           .labels = {{{"nest"}, {"colour"}}},
                           .help = "eggs in the nest"};
constexpr Metric kSeenBirds{.name = "birds_total", .kind = Metric::Kind::counter, .help = "birds"};
constexpr Metric kSeenFlights{
    .name = "flight_seconds", .kind = Metric::Kind::timer, .help = "how long they flew"};

TEST(FiguresTest, each_kind_has_its_form) {
  MetricsRegistry registry;
  registry.gauge(series<kLaidEggs>("the \"old\" one", "blue"), 3);
  registry.gauge(series<kLaidEggs>("the \"old\" one", "blue"), 2);
  registry.gauge(series<kLaidEggs>("another", ""), std::numeric_limits<double>::infinity());
  registry.count(series<kSeenBirds>(), 1);
  registry.count(series<kSeenBirds>(), 4);
  registry.time(series<kSeenFlights>(), std::chrono::milliseconds(700));
  registry.time(series<kSeenFlights>(), std::chrono::hours(3));
  const std::string text = registry.prometheus_text();
  EXPECT_THAT(text, HasSubstr("# HELP eggs eggs in the nest\n# TYPE eggs gauge\n"
                              "eggs{nest=\"another\"} +Inf\n"
                              "eggs{nest=\"the \\\"old\\\" one\",colour=\"blue\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE birds_total counter\nbirds_total 5\n"));
  EXPECT_THAT(text, HasSubstr("flight_seconds_count 2\nflight_seconds_sum 10800.7\n"));
  EXPECT_THAT(text, HasSubstr("flight_seconds_bucket{le=\"0.5\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("flight_seconds_bucket{le=\"1\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("flight_seconds_bucket{le=\"+Inf\"} 2\n"));
}

TEST(FiguresTest, names_from_outside_cannot_take_all_memory) {
  MetricsRegistry registry;
  for (std::size_t i = 0; i < MetricsRegistry::kMostSeries + 10; ++i) {
    registry.gauge(series<kLaidEggs>(std::to_string(i), ""), 1);
  }
  registry.gauge(series<kLaidEggs>("0", ""), 2);
  const std::string text = registry.prometheus_text();
  EXPECT_THAT(text, HasSubstr("eggs{nest=\"0\"} 2\n"));
  EXPECT_EQ(std::ranges::count(text, '\n'), MetricsRegistry::kMostSeries + 2);
}

TEST(FiguresTest, a_metric_with_too_many_series_displaces_no_other) {
  std::vector<std::string> dropped;
  MetricsRegistry registry([&dropped](const Metric& metric) { dropped.emplace_back(metric.name); });
  for (std::size_t i = 0; i < MetricsRegistry::kMostSeries; ++i) {
    registry.gauge(series<kLaidEggs>(std::to_string(i), ""), 1);
  }
  EXPECT_THAT(dropped, IsEmpty());
  registry.gauge(series<kLaidEggs>("one more", ""), 1);
  EXPECT_THAT(dropped, ElementsAre("eggs"));
  MetricsRegistry copy = registry;
  copy.count(series<kSeenBirds>(), 1);
  EXPECT_THAT(copy.prometheus_text(), HasSubstr("birds_total 1\n"));
}

TEST(FiguresTest, metrics_are_available_without_a_statsd_server) {
  const auto registry = std::make_shared<MetricsRegistry>();
  const Metrics metrics = Metrics().also_to(registry);
  EXPECT_TRUE(metrics.enabled());
  EXPECT_FALSE(metrics.has_statsd());
  metrics.gauge(series<kLaidEggs>("nest", "white"), 1);
  EXPECT_THAT(registry->prometheus_text(), HasSubstr("white"));
  EXPECT_FALSE(metrics.to_statsd_alone().enabled());
}

}  // namespace
}  // namespace nodepool::telemetry
