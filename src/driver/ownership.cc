#include "driver/ownership.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace nodepool::driver {

namespace {

// Microseconds are unique: records made after a copy of the store was taken are younger than those
// in the copy, and older than those made after it was restored.
std::string creation_tag(double created_time) {
  return fmt::format("{:.6f}", created_time);
}

// Whether both creation times are equal, or one of them is missing.
bool may_be_same_creation(const Metadata& all, const std::string& created) {
  const std::string other = value_of(all, kNodeCreatedKey);
  return other.empty() || created.empty() || other == created;
}

}  // namespace

Ownership::Ownership(std::shared_ptr<const model::Installation> installation, std::string provider)
    : installation_(std::move(installation)), provider_(std::move(provider)) {}

bool Ownership::is_older(std::string_view node_id) const {
  const auto number = model::node_number(node_id);
  return number && *number < installation_->first_node;
}

Metadata Ownership::of_node(const model::Node& node) const {
  Metadata metadata{{std::string(kNodeIdKey), node.id},
                    {std::string(kPoolNameKey), node.pool.value_or("")},
                    {std::string(kProviderNameKey), provider_}};
  if (!installation_->id.empty() && !is_older(node.id)) {
    metadata.emplace(kInstallationIdKey, installation_->id);
  }
  if (node.created_time) metadata.emplace(kNodeCreatedKey, creation_tag(*node.created_time));
  return metadata;
}

bool Ownership::is_of_node(const Metadata& metadata, const model::Node& node) const {
  if (value_of(metadata, kNodeIdKey) != node.id) return false;
  if (is_of_another_record(metadata, node)) return false;
  const Maker maker = maker_of(metadata);
  return maker == Maker::this_installation ||
         (maker == Maker::unknown && installation_->id.empty());
}

bool Ownership::may_be_of_node(const Metadata& metadata, const model::Node& node) const {
  if (is_of_node(metadata, node)) return true;
  return value_of(metadata, kNodeIdKey) == node.id && installation_->was_taken_over() &&
         maker_of(metadata) == Maker::unknown && !is_of_another_record(metadata, node);
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

bool is_of_another_record(const Metadata& metadata, const model::Node& node) {
  return node.created_time && !may_be_same_creation(metadata, creation_tag(*node.created_time));
}

bool carries(const Metadata& all, const Metadata& some) {
  return std::ranges::all_of(some, [&all](const auto& entry) {
    if (entry.first == kNodeCreatedKey) return may_be_same_creation(all, entry.second);
    const auto found = all.find(entry.first);
    return found != all.end() && found->second == entry.second;
  });
}

std::string value_of(const Metadata& metadata, std::string_view key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? std::string() : found->second;
}

}  // namespace nodepool::driver
