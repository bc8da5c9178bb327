#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/section.h"

namespace nodepool::config {

// The entries of `diskimages` with their parents. Of entries with the same name the last one is the
// parent of others. Keeps a reference to the entries.
class DiskImageFamily {
 public:
  explicit DiskImageFamily(const std::vector<Section>& entries);

  // The entry's ancestors, the root first, and the entry itself. Throws ConfigError if a parent is
  // not defined, or if the parents form a circle.
  std::vector<const Section*> ancestors(const Section& entry) const;

  // Throws ConfigError unless the entry's names can be parts of paths, and, if it is not abstract,
  // it is clear what makes the image.
  void check(const Section& entry) const;

  // All images to build, by name, with what they have from their ancestors. Throws ConfigError.
  std::map<std::string, DiskImage> resolve() const;

 private:
  void check_builder(const Section& entry) const;

  const std::vector<Section>* entries_;
  std::map<std::string, const Section*, std::less<>> by_name_;
};

}  // namespace nodepool::config
