#pragma once

#include "launcher/launcher.h"
#include "main/site_problems.h"
#include "page/facts.h"
#include "telemetry/metrics_registry.h"

namespace nodepool {

// What the status page shows of a launcher beside the records. All outlive the result.
page::Sources page_sources(launcher::Launcher& launcher, const telemetry::MetricsRegistry& registry,
                           SiteProblems& problems);

}  // namespace nodepool
