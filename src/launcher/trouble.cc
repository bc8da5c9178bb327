#include "launcher/trouble.h"

#include "coordination/outage.h"

namespace nodepool::launcher {

void log_failure(const telemetry::Logger& log, std::string_view what, const std::exception& error) {
  const auto* store = dynamic_cast<const coordination::StoreError*>(&error);
  if (store != nullptr && coordination::is_outage(*store)) {
    log.debug("{}: {}", what, error.what());
  } else {
    log.error("{}: {}", what, error.what());
  }
}

}  // namespace nodepool::launcher
