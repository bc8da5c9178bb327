#pragma once

#include <functional>
#include <string>

#include "config/config.h"
#include "launcher/launcher.h"
#include "main/site_problems.h"
#include "page/facts.h"
#include "telemetry/metrics_registry.h"

namespace nodepool {

// The data of a launcher that the status page shows in addition to the records. The references
// outlive the result. `store_problem` returns why the store is not usable now, or nothing; `config`
// the present configuration.
page::PageSources page_sources(launcher::Launcher& launcher,
                               const telemetry::MetricsRegistry& registry, SiteProblems& problems,
                               const std::function<std::string()>& store_problem,
                               const std::function<const config::Config&()>& config);

}  // namespace nodepool
