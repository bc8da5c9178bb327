#include "api/view.h"

#include <optional>
#include <string>

#include "model/lease.h"

namespace nodepool::api {

const LeaseIndex::Entry* View::find(std::string_view id) const {
  const LeaseIndex::Entry* entry = lease_index_.find(id);
  return entry != nullptr && has(*entry) ? entry : nullptr;
}

const model::Node* View::find_node(std::string_view id) const {
  const model::Node* node = records_.nodes.find(id);
  return node != nullptr && has(*node) ? node : nullptr;
}

bool View::has(const LeaseIndex::Entry& entry) const {
  return may_see(client_, {entry.owner, entry.tenant});
}

bool View::has(const model::NodeRequest& request) const {
  const LeaseIndex::Entry* entry = lease_index_.find(request.id);
  return may_see(client_, {.owner = entry == nullptr ? std::string() : entry->owner,
                           .tenant = request.tenant_name.value_or("")});
}

bool View::has(const model::Node& node) const {
  const Owned rights = rights_on(node);
  const bool is_free = !node.allocated_to && rights.owner.empty() && rights.tenant.empty();
  return may_see(client_, rights) || (is_free && client_.scope >= Client::Scope::read);
}

bool View::may_change(const LeaseIndex::Entry& entry) const {
  return api::may_change(client_, {entry.owner, entry.tenant});
}

bool View::may_change(const model::Node& node) const {
  return api::may_change(client_, rights_on(node));
}

Owned View::rights_on(const model::Node& node) const {
  Owned rights{.owner = {}, .tenant = node.tenant_name ? std::string(*node.tenant_name) : ""};
  if (const std::optional<model::Hold> hold = model::hold_of(node)) {
    rights.owner = hold->owner;
  } else if (const LeaseIndex::Entry* entry = lease_index_.find(node.allocated_to.value_or(""))) {
    rights.owner = entry->owner;
  }
  return rights;
}

}  // namespace nodepool::api
