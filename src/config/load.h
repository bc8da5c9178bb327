#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/environment.h"
#include "config/problem.h"
#include "config/schema.h"

namespace nodepool::config {

struct LoadOptions {
  std::string path = {};                        // nodepool.yaml
  std::optional<std::string> secure_path = {};  // YAML with the secrets
  Environment environment = {};
  DriverSchemas drivers = {};
};

struct LoadResult {
  Config config = {};
  std::vector<Problem> warnings = {};  // in the order of the files' lines
};

// Loads the configuration for a daemon or a command. It starts with every file the Python Nodepool
// starts with: unknown keys and odd types are warnings. What cannot work is refused: broken YAML, a
// missing name, an unknown driver or parent, parents in a circle, text where a number is needed.
// What a provider's section refers to is left to its driver.
// Does not wait and does not retry: a missing file is an error like any other. Throws ConfigError;
// OutsideError for ZooKeeper's servers that a secure file, which was not given, could replace.
LoadResult load(const LoadOptions& options);

}  // namespace nodepool::config
