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
  std::optional<std::string> secure_path = {};  // the secure file
  Environment environment = {};
  DriverSchemas drivers = {};
  // false: the caller does not need to know which store is meant. Then load() does not throw
  // OutsideError, and accepts the default store in any case.
  bool uses_store = true;
};

struct LoadResult {
  Config config = {};
  std::vector<Problem> warnings = {};  // by file and line
};

// Loads the configuration for a daemon or a command. Accepts every file that the Python Nodepool
// starts with: unknown keys and odd types are warnings. Rejects what cannot work: broken YAML, a
// missing name, an unknown driver or parent, a cycle of parents, text where a number is needed, and
// the default store where servers of ZooKeeper seem to be missing by mistake.
// Drivers resolve the references of their provider sections.
// Does not wait and does not retry: a missing file is an error. Throws ConfigError; OutsideError
// for missing or invalid ZooKeeper servers if no secure file was given, which could have them.
LoadResult load(const LoadOptions& options);

}  // namespace nodepool::config
