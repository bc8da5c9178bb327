#include "driver/statemachine/leaks.h"

#include <optional>
#include <utility>

namespace nodepool::driver {

namespace {

using Maker = Ownership::Maker;

// What a resource was made for, according to its tags.
struct Purpose {
  std::string node;
  std::string build;
  std::string upload;

  bool is_upload() const { return !build.empty() && !upload.empty(); }
};

Leak make_leak(const Resource& resource, bool is_ours, std::string reason) {
  return {.type = resource.type,
          .id = resource.id,
          .metadata = resource.metadata,
          .is_ours = is_ours,
          .reason = std::move(reason)};
}

// Why a resource that this installation has made is a leak.
std::string reason_of(const Purpose& purpose, RecordQueries::Node node) {
  if (purpose.node.empty()) {
    return "upload " + purpose.upload + " of build " + purpose.build + " has no record";
  }
  if (node == RecordQueries::Node::has_other)
    return "node " + purpose.node + " has another machine";
  if (node == RecordQueries::Node::is_another) {
    return "made for an earlier node with the id " + purpose.node;
  }
  return "node " + purpose.node + " has no record";
}

// In a store taken over from the Python Nodepool, its machines have no installation id.
bool may_be_from_before(const Purpose& purpose, RecordQueries::Node node,
                        const Ownership& ownership) {
  return ownership.installation().was_taken_over() && !purpose.node.empty() &&
         node == RecordQueries::Node::none;
}

std::optional<Leak> leak_of(const Resource& resource, const Ownership& ownership,
                            const RecordQueries& records) {
  if (!resource.leftover.empty()) {
    Leak leftover = make_leak(resource, true, resource.leftover);
    leftover.is_leftover = true;
    return leftover;
  }
  const Maker maker = ownership.maker_of(resource.metadata);
  const Purpose purpose{.node = value_of(resource.metadata, kNodeIdKey),
                        .build = value_of(resource.metadata, kBuildIdKey),
                        .upload = value_of(resource.metadata, kUploadIdKey)};
  if (maker == Maker::other_provider) return std::nullopt;
  if (purpose.node.empty() && !purpose.is_upload()) return std::nullopt;
  auto node = RecordQueries::Node::has_it;
  if (!purpose.node.empty()) node = records.node(purpose.node, resource);
  const bool is_known = node == RecordQueries::Node::has_it &&
                        (!purpose.is_upload() || records.upload(purpose.build, purpose.upload));
  if (is_known) return std::nullopt;
  if (maker == Maker::this_installation) {
    return make_leak(resource, true, reason_of(purpose, node));
  }
  if (maker == Maker::other_installation) {
    return make_leak(resource, false,
                     "made by installation " + value_of(resource.metadata, kInstallationIdKey));
  }
  if (may_be_from_before(purpose, node, ownership)) {
    return make_leak(resource, true, reason_of(purpose, node));
  }
  return make_leak(resource, false, "made by an unknown installation");
}

}  // namespace

std::vector<Leak> find_leaks(const std::vector<Resource>& resources, const Ownership& ownership,
                             const RecordQueries& records) {
  std::vector<Leak> leaks;
  for (const Resource& resource : resources) {
    if (auto leak = leak_of(resource, ownership, records)) leaks.push_back(std::move(*leak));
  }
  return leaks;
}

std::vector<Leak> LeakMemory::seen_again(std::vector<Leak> leaks) {
  std::set<std::string> seen;
  for (const Leak& leak : leaks) seen.insert(name_of(leak));
  std::erase_if(leaks, [this](const Leak& leak) {
    return !leak.is_leftover && !seen_.contains(name_of(leak));
  });
  seen_ = std::move(seen);
  return leaks;
}

std::string name_of(const Leak& leak) {
  return leak.type + " " + leak.id;
}

}  // namespace nodepool::driver
