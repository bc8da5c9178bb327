#include "driver/statemachine/leaks.h"

#include <utility>

namespace nodepool::driver {

namespace {

std::string value_of(const Metadata& metadata, std::string_view key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? std::string() : found->second;
}

}  // namespace

std::vector<Resource> LeakDetector::look_at(const std::vector<Resource>& resources,
                                            const Known& known) {
  std::vector<Resource> leaked;
  std::set<std::string> suspects;
  for (const Resource& resource : resources) {
    if (value_of(resource.metadata, kProviderNameKey) != provider_) continue;
    const std::string node = value_of(resource.metadata, kNodeIdKey);
    const std::string build = value_of(resource.metadata, kBuildIdKey);
    const std::string upload = value_of(resource.metadata, kUploadIdKey);
    const bool is_lost = (!node.empty() && !known.node(node, resource)) ||
                         (!build.empty() && !upload.empty() && !known.upload(build, upload));
    if (!is_lost) continue;
    std::string key = resource.type + " " + resource.id;
    if (suspects_.contains(key)) leaked.push_back(resource);
    suspects.insert(std::move(key));
  }
  suspects_ = std::move(suspects);
  return leaked;
}

}  // namespace nodepool::driver
