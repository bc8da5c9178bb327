#pragma once

#include "launcher/launcher.h"
#include "page/facts.h"
#include "telemetry/figures.h"

namespace nodepool {

// What the status page shows of a launcher beside the records. Both outlive the result.
page::Sources page_sources(launcher::Launcher& launcher, const telemetry::Figures& figures);

}  // namespace nodepool
