#include <fmt/format.h>

#include <span>
#include <string>
#include <string_view>

#include "builder/builder_metrics.h"
#include "driver/driver_metrics.h"
#include "launcher/launcher_metrics.h"
#include "names.h"
#include "telemetry/cloud_call_metrics.h"
#include "telemetry/process_metrics.h"

namespace nodepool::stability {

namespace {

using telemetry::Metric;

struct TypeNames {
  std::string_view prometheus;
  std::string_view statsd;
};

TypeNames types_of(Metric::Kind kind) {
  switch (kind) {
    case Metric::Kind::counter:
      return {"counter", "counter"};
    case Metric::Kind::gauge:
      return {"gauge", "gauge"};
    case Metric::Kind::timer:
      return {"histogram", "timer"};
    case Metric::Kind::counted_timer:
      return {"histogram", "timer, counter"};
  }
  return {};
}

void add(Names& names, std::span<const Metric* const> metrics) {
  for (const Metric* metric : metrics) {
    const TypeNames types = types_of(metric->kind);
    names.push_back(fmt::format("{}: {}", metric->name, types.prometheus));
    for (const telemetry::MetricLabel& label : labels_of(*metric)) {
      names.push_back(fmt::format("{}: label {}", metric->name, label.name));
    }
    for (const std::string_view key : statsd_keys_of(*metric)) {
      names.push_back(fmt::format("{}: {}", key, types.statsd));
    }
  }
}

}  // namespace

Names metric_names() {
  Names names;
  add(names, driver::kDriverMetrics);
  add(names, telemetry::kCloudCallMetrics);
  add(names, launcher::kLauncherMetrics);
  add(names, telemetry::kProcessMetrics);
  add(names, builder::kBuilderMetrics);
  return names;
}

}  // namespace nodepool::stability
