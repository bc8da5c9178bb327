#pragma once

#include <string_view>

#include "api/client.h"
#include "api/lease_index.h"
#include "model/node.h"
#include "model/node_request.h"
#include "model/records.h"

namespace nodepool::api {

// The records that a client may know of: all of them, or those of its tenant. Calls look records up
// and list them through a view alone, so that no call can forget whose they are.
//
// What find() and find_node() return is valid until the next co_await.
class View {
 public:
  // All outlive it.
  View(const Client& client, const model::Records& records, const LeaseIndex& lease_index)
      : client_(client), records_(records), lease_index_(lease_index) {}

  // Whether it has the records of all tenants.
  bool is_complete() const { return client_.tenant.empty(); }

  // The request or lease with this id. Null if there is none that the client may know of.
  const LeaseIndex::Entry* find(std::string_view id) const;

  // The same for a node.
  const model::Node* find_node(std::string_view id) const;

  // Whether a request, or what has become of one, is in it.
  bool has(const model::NodeRequest& request) const;
  bool has(const LeaseIndex::Entry& entry) const;

  // Whether a node is in it. A node that is not allocated, not held, and was not made for a tenant
  // is in each view.
  bool has(const model::Node& node) const;

  // Whether the client may release, renew or withdraw it, and read how to log in.
  bool may_change(const LeaseIndex::Entry& entry) const;

  // Whether the client may end the hold of this node.
  bool may_change(const model::Node& node) const;

 private:
  Owned rights_on(const model::Node& node) const;

  const Client& client_;
  const model::Records& records_;
  const LeaseIndex& lease_index_;
};

}  // namespace nodepool::api
