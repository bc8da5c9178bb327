#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "config/problem.h"
#include "config/schema.h"
#include "config/value.h"

// The configuration for Zuul's own launcher, zuul-launcher, as of Zuul 14.3.
namespace nodepool::config::zuul {

struct ZuulConversion {
  // A list of `image`, `flavor`, `label`, `section` and `provider` objects, each valid for Zuul.
  // Empty if no label can be converted.
  Value objects = {};
  // Lines for zuul.conf, without credentials.
  std::vector<std::string> connections = {};
  // What has no counterpart and what to do instead, by file and line.
  std::vector<Problem> omissions = {};
};

// Converts all providers that Zuul has a driver for. `document` is the file that `config` was
// loaded from; the result is independent of both. Writes no credentials and no variables of image
// builds. Throws ConfigError if a provider is invalid.
ZuulConversion convert(const Value& document, const Config& config, const DriverSchemas& drivers,
                       const std::string& file);

// The content of a file for a Zuul project: the connections as comments, then the objects as YAML.
std::string to_text(const ZuulConversion& conversion);

}  // namespace nodepool::config::zuul
