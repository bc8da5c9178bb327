#include "driver/statemachine/leaks.h"

#include <utility>

#include <nlohmann/json.hpp>

namespace nodepool::driver {

namespace {

std::string value_of(const Metadata& metadata, std::string_view key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? std::string() : found->second;
}

}  // namespace

bool may_be_machine(const model::Json& external_id, const std::string& resource_id) {
  if (external_id.is_null()) return true;
  const std::string text = external_id.string_value();
  if (!text.empty()) return text == resource_id;
  const auto shown = nlohmann::json::parse(resource_id, nullptr, false);
  const auto known = nlohmann::json::parse(external_id.text, nullptr, false);
  return shown.type() != known.type() || shown == known;  // whatever the order of the keys
}

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
