#pragma once

#include <map>
#include <string>

#include "driver/statemachine/adapter.h"
#include "telemetry/log.h"

namespace nodepool::cloud {

// The metadata from a label's configuration.
struct LabelMetadata {
  std::map<std::string, std::string> fixed;
  std::map<std::string, std::string> dynamic;  // with {request.…}; override the former
};

// The metadata of a machine: the label's, overridden by the owner tags. Logs and omits values that
// cannot be substituted; `dynamic_key` is their configuration key, for the log.
driver::Metadata machine_metadata(const LabelMetadata& wanted, const driver::CreateSpec& spec,
                                  std::string_view dynamic_key, const telemetry::Logger& log);

}  // namespace nodepool::cloud
