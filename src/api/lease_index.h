#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/lease.h"
#include "model/lease_request.h"
#include "model/node_table.h"
#include "model/observers.h"
#include "model/request_table.h"
#include "web/tally.h"

namespace nodepool::api {

// Index of the lease requests and leases of an installation, by id, owner and key. It is updated
// record by record, so the cost of a lookup does not depend on the number of nodes and requests. A
// lease has the id of its request; both are one entry here.
class LeaseIndex {
 public:
  // The tables outlive this.
  LeaseIndex(model::RequestTable& requests, model::NodeTable& nodes);

  struct Entry {
    std::string owner;   // empty: a lease that was not requested through the API
    std::string tenant;  // empty: none
    std::string key;     // of the request; empty: none
    std::optional<model::LeaseRequest> lease_request = {};  // while there is a request
    bool is_failed = false;                                 // the request is
    std::size_t requested = 0;                              // nodes that are not leased yet
    std::optional<model::Lease> lease = {};                 // while there are nodes
    model::IdSet nodes = {};                                // of the lease
  };

  // Returns null if there is no request or lease with this id. Valid until the next co_await.
  const Entry* find(std::string_view id) const;

  // All entries by id.
  const std::map<std::string, Entry, std::less<>>& all() const { return entries_; }

  // The ids of an owner's requests and leases.
  const model::IdSet& of_owner(std::string_view owner) const;

  // The number of nodes that an owner has leased, holds, and has requested. Records arrive one by
  // one: allocated nodes of a request count until theirs show what became of them, even if the
  // removal of the request has arrived before.
  std::size_t nodes_of(std::string_view owner) const;

  // The id of the request or lease with this idempotency key.
  std::optional<std::string> id_of_key(std::string_view key) const;

  // Calls `observer` whenever the entry with this id is added, changed or removed. The index
  // outlives the subscription.
  coordination::Subscription observe(const std::string& id, std::function<void()> observer);

  // The same for all entries, with the id of the entry.
  coordination::Subscription observe_all(std::function<void(const std::string&)> observer) {
    return changes_.subscribe(std::move(observer));
  }

 private:
  void on_request(const model::RequestTable::Change& change);
  void on_node(const model::NodeTable::Change& change);
  class Watch;
  void on_hold(const model::NodeTable::Change& change);
  void keep_allocated(const std::string& request_id, const std::string& owner);
  void on_allocated(const model::NodeTable::Change& change);
  void set_owner(const std::string& id, Entry& entry, const std::string& owner);
  void remove_of_owner(const std::string& id, const std::string& owner);
  void changed(const std::string& id);
  void unwatch(const std::string& id);

  const model::NodeTable& node_table_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::map<std::string, model::IdSet, std::less<>> by_owner_;
  std::map<std::string, model::IdSet, std::less<>> held_;  // nodes, by owner
  // Nodes of removed requests, as long as their records show them as allocated to these: the owner
  // by node, and their number by owner.
  std::map<std::string, std::string, std::less<>> allocated_;
  web::Tally allocated_of_;
  std::map<std::string, std::string, std::less<>> by_key_;
  std::map<std::string, model::Observers<>> watched_;  // by id
  model::Observers<const std::string&> changes_;
  coordination::Subscription requests_;
  coordination::Subscription nodes_;
};

}  // namespace nodepool::api
