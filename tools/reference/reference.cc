// Prints generated parts of the manual as Markdown.
//
//   nodepool_reference            the reference of nodepool.yaml's top level
//   nodepool_reference DRIVER     … of providers[] with `driver: DRIVER`
//   nodepool_reference --metrics  the metrics
//   nodepool_reference --tokens   the API's token file

#include "config/reference.h"

#include <iostream>
#include <span>
#include <string>
#include <string_view>

#include "api/token_file.h"
#include "builder/builder_metrics.h"
#include "config/nodepool_schema.h"
#include "driver/driver_metrics.h"
#include "drivers/registry.h"
#include "launcher/launcher_metrics.h"
#include "telemetry/cloud_call_metrics.h"
#include "telemetry/process_metrics.h"

namespace {

using namespace nodepool;

std::string_view type_of(telemetry::Metric::Kind kind) {
  using Kind = telemetry::Metric::Kind;
  switch (kind) {
    case Kind::counter:
      return "counter";
    case Kind::gauge:
      return "gauge";
    case Kind::timer:
      return "timer";
    case Kind::counted_timer:
      return "timer, counter";
  }
  return "";
}

void print_head() {
  std::cout << "| statsd | Type | `/metrics` | Meaning |\n|---|---|---|---|\n";
}

void print_rows(std::span<const telemetry::Metric* const> metrics) {
  for (const telemetry::Metric* metric : metrics) {
    std::string keys;
    for (const std::string_view key : telemetry::statsd_keys_of(*metric)) {
      keys += (keys.empty() ? "`" : "<br>`") + std::string(key) + "`";
    }
    std::cout << "| " << keys << " | " << type_of(metric->kind) << " | `" << metric->name << "` | "
              << metric->help << " |\n";
  }
}

void print_metrics() {
  print_head();
  print_rows(driver::kDriverMetrics);
  print_rows(telemetry::kCloudCallMetrics);
  print_rows(launcher::kLauncherMetrics);
  print_rows(telemetry::kProcessMetrics);
  std::cout << "\nMetrics of the builder, in addition to those of the process, the store and cloud "
               "calls:\n\n";
  print_head();
  print_rows(builder::kBuilderMetrics);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cout << config::reference_markdown(config::nodepool_schema(), "");
    return 0;
  }
  if (std::string_view(argv[1]) == "--metrics") {
    print_metrics();
    return 0;
  }
  if (std::string_view(argv[1]) == "--tokens") {
    std::cout << config::reference_markdown(api::token_file_schema(), "");
    return 0;
  }
  const driver::DriverRegistry drivers = drivers::all_drivers();
  const config::Schema schema = config::provider_schema(drivers.driver(argv[1]).schema());
  std::cout << config::reference_markdown(schema, "providers[]");
  return 0;
}
