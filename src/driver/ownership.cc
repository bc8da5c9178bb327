#include "driver/ownership.h"

#include <algorithm>
#include <utility>

namespace nodepool::driver {

Ownership::Ownership(std::shared_ptr<const model::Installation> installation, std::string provider)
    : installation_(std::move(installation)), provider_(std::move(provider)) {}

bool Ownership::is_older(std::string_view node_id) const {
  const auto number = model::node_number(node_id);
  return number && *number < installation_->first_node;
}

Metadata Ownership::of_node(const std::string& node_id, const std::string& pool) const {
  Metadata metadata{{std::string(kNodeIdKey), node_id},
                    {std::string(kPoolNameKey), pool},
                    {std::string(kProviderNameKey), provider_}};
  if (!installation_->id.empty() && !is_older(node_id)) {
    metadata.emplace(kInstallationIdKey, installation_->id);
  }
  return metadata;
}

bool Ownership::is_of_node(const Metadata& metadata, const std::string& node_id) const {
  if (value_of(metadata, kNodeIdKey) != node_id) return false;
  const Maker maker = maker_of(metadata);
  return maker == Maker::this_installation ||
         (maker == Maker::unknown && installation_->id.empty());
}

bool Ownership::may_be_of_node(const Metadata& metadata, const std::string& node_id) const {
  if (is_of_node(metadata, node_id)) return true;
  return value_of(metadata, kNodeIdKey) == node_id && installation_->was_taken_over() &&
         maker_of(metadata) == Maker::unknown;
}

Ownership::Maker Ownership::maker_of(const Metadata& metadata) const {
  if (value_of(metadata, kProviderNameKey) != provider_) return Maker::other_provider;
  const std::string installation = value_of(metadata, kInstallationIdKey);
  if (!installation.empty()) {
    return installation == installation_->id ? Maker::this_installation : Maker::other_installation;
  }
  const bool is_ours = is_older(value_of(metadata, kNodeIdKey));
  return is_ours ? Maker::this_installation : Maker::unknown;
}

bool carries(const Metadata& all, const Metadata& some) {
  return std::ranges::all_of(some, [&all](const auto& entry) {
    const auto found = all.find(entry.first);
    return found != all.end() && found->second == entry.second;
  });
}

std::string value_of(const Metadata& metadata, std::string_view key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? std::string() : found->second;
}

}  // namespace nodepool::driver
