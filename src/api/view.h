#pragma once

#include <string_view>

#include "api/client.h"
#include "api/lease_index.h"
#include "model/node.h"
#include "model/node_request.h"
#include "model/records.h"

namespace nodepool::api {

// The records that a client may read: all, or those of its tenant. Calls read and list records only
// through a view, so none can omit the access check.
//
// The results of find() and find_node() are valid until the next co_await.
class View {
 public:
  // All arguments outlive it.
  View(const Client& client, const model::Records& records, const LeaseIndex& lease_index)
      : client_(client), records_(records), lease_index_(lease_index) {}

  // Whether it includes all tenants.
  bool is_complete() const { return client_.tenant.empty(); }

  // The request or lease with this id. Returns null if there is none that the client may read.
  const LeaseIndex::Entry* find(std::string_view id) const;

  // The same for a node.
  const model::Node* find_node(std::string_view id) const;

  // Whether the client may read the request or lease.
  bool has(const model::NodeRequest& request) const;
  bool has(const LeaseIndex::Entry& entry) const;

  // Whether the client may read the node. Every client may read a node that is not allocated, not
  // held, and was not launched for a tenant.
  bool has(const model::Node& node) const;

  // Whether the client may release, renew or withdraw it, and read its login data.
  bool may_change(const LeaseIndex::Entry& entry) const;

  // Whether the client may end the hold of this node, and read its login data.
  bool may_change(const model::Node& node) const;

 private:
  Owned rights_on(const model::Node& node) const;

  const Client& client_;
  const model::Records& records_;
  const LeaseIndex& lease_index_;
};

}  // namespace nodepool::api
