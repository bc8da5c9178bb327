#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/section.h"

namespace nodepool::config {

// Resolves the inheritance of the entries of `diskimages`. Of entries with the same name, the last
// one is the parent of others. Keeps a reference to the entries.
class DiskImageFamily {
 public:
  explicit DiskImageFamily(const std::vector<Section>& entries);

  // The entry's ancestors, the root first, and the entry itself. Throws ConfigError if a parent is
  // not defined, or if the parents form a cycle.
  std::vector<const Section*> ancestors(const Section& entry) const;

  // Throws ConfigError if a name or format of the entry cannot be part of a path, or if an entry
  // that is not abstract has no valid builder.
  void check(const Section& entry) const;

  // All images to build, by name, with the settings of their ancestors. Throws ConfigError.
  std::map<std::string, DiskImage> resolve() const;

 private:
  void check_builder(const Section& entry) const;

  const std::vector<Section>* entries_;
  std::map<std::string, const Section*, std::less<>> by_name_;
};

}  // namespace nodepool::config
