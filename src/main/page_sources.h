#pragma once

#include "launcher/launcher.h"
#include "main/site_problems.h"
#include "page/facts.h"
#include "telemetry/metrics_registry.h"

namespace nodepool {

// The data of a launcher that the status page shows in addition to the records. The arguments
// outlive the result.
page::PageSources page_sources(launcher::Launcher& launcher,
                               const telemetry::MetricsRegistry& registry, SiteProblems& problems);

}  // namespace nodepool
