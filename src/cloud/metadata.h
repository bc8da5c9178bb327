#pragma once

#include <map>
#include <string>

#include "driver/statemachine/adapter.h"
#include "telemetry/log.h"

namespace nodepool::cloud {

// What a label's configuration wants attached to its machines.
struct LabelMetadata {
  std::map<std::string, std::string> fixed;
  std::map<std::string, std::string> dynamic;  // with {request.…}; go over the former
};

// All that is attached to a machine: what the label wants, and over it what says whose the machine
// is. What cannot be made of the request is logged, with the name of the key that it is in, and
// left out.
driver::Metadata machine_metadata(const LabelMetadata& wanted, const driver::CreateSpec& spec,
                                  std::string_view dynamic_key, const telemetry::Logger& log);

}  // namespace nodepool::cloud
