#include "cloud/metadata.h"

#include <stdexcept>

#include "driver/request_template.h"

namespace nodepool::cloud {

driver::Metadata machine_metadata(const LabelMetadata& wanted, const driver::CreateSpec& spec,
                                  std::string_view dynamic_key, const telemetry::Logger& log) {
  driver::Metadata metadata;
  for (const auto& [key, value] : wanted.fixed) metadata[key] = value;
  for (const auto& [key, value] : wanted.dynamic) {
    try {
      metadata[key] = driver::fill_in(value, spec.request);
    } catch (const std::invalid_argument& error) {
      log.error("Label {}: {}: {}: {}", spec.label, dynamic_key, key, error.what());
    }
  }
  for (const auto& [key, value] : spec.metadata) metadata[key] = value;
  return metadata;
}

}  // namespace nodepool::cloud
