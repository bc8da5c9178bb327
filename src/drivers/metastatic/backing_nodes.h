#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "async/event.h"
#include "async/slots.h"
#include "coordination/store.h"
#include "driver/driver.h"
#include "drivers/metastatic/backing_record.h"
#include "drivers/metastatic/disposition.h"

namespace nodepool::drivers::metastatic {

using async::Task;

// The backing nodes of one provider, of all launchers, according to their records. Updates the
// records with optimistic locking by version.
class BackingNodes {
 public:
  // `context` outlives this.
  BackingNodes(driver::ProviderContext context, std::string provider);

  // Starts to follow the table of nodes. `on_end` is called when a backing node is none any more,
  // or its machine has ended.
  void follow(std::function<void()> on_end);

  // Whether the table is complete.
  bool is_ready() const { return context_.nodes.ready(); }

  // Set when a backing node for this label may have got a free slot, or a request for one has
  // ended.
  async::Event& changed(std::string_view label);

  // Set when a backing node has come, gone or changed, or a tenant has come or gone.
  async::Event& moved() { return moved_; }

  // All ids.
  std::set<std::string, std::less<>> ids() const;

  // nullptr if it is no backing node. Valid until the next co_await.
  const BackingRecord* find(std::string_view id) const;
  BackingFacts facts(std::string_view id) const;

  // The lowest slot, of the first backing node for this label, that is neither taken nor reserved.
  std::optional<Slot> free_slot_for(std::string_view label, const BackingRules& rules) const;

  // The same of this backing node. Ignores max-age, for the nodes that have waited for it.
  std::optional<Slot> free_slot_on(std::string_view id) const;

  // nullptr if the slot is free according to the record. Valid until the next co_await.
  const Tenant* tenant_in(const Slot& slot) const;

  // The slot of the node with these owner tags; the tenants with this external id.
  std::optional<Slot> slot_of_node(const driver::Metadata& metadata) const;
  std::map<Slot, Tenant> tenants_of(std::string_view external_id) const;

  enum class Outcome {
    written,
    unchanged,  // `change` returned false
    gone,       // no backing node any more, or its lock is not this provider's
    refused,    // `also` was refused: nothing was written
  };
  // Changes the record; returns whether to write it. `occupied`: the slots in the records of nodes,
  // besides the tenants'.
  using Change = std::function<bool(model::Node& node, BackingRecord& record,
                                    const std::set<std::int64_t>& occupied)>;

  // Writes the record changed by `change`, if this provider has locked the node. Calls `change`
  // again if another launcher has written the record meanwhile. `also` is part of the transaction.
  // Retries while the store is unreachable. Throws StoreError, Cancelled.
  Task<Outcome> change(std::string id, Change change, coordination::Transaction also = {});

  // Puts the tenant into a free slot. The slot is reserved meanwhile: other launches of this
  // process use or request another one. Returns `unchanged` if another process has taken it.
  Task<Outcome> take_slot(Slot slot, Tenant tenant, coordination::Transaction also);

  // Removes the tenant from its slot. Does nothing if the slot has another one.
  Task<> release_slot(Slot slot, Tenant tenant);

  // Marks it as failed: it gets no more nodes.
  Task<> retire(std::string id);

  // Releases it, unless it has a tenant. Returns whether it was released.
  Task<bool> release(std::string id);

 private:
  struct Entry {
    BackingRecord record;
    async::Clock::TimePoint known_since;   // when this process has learned of it
    async::Clock::TimePoint quiet_since;   // when this process last saw a tenant come or go
    std::string lock = {};                 // path of the provider's contender; empty: unknown
    bool is_lost = false;                  // not locked: its launcher will reclaim it
    std::set<std::int64_t> reserved = {};  // slots that launches of this process are taking
  };

  void on_change(const model::NodeTable::Change& change);
  void update_backing(const std::string& id, const model::Node* node);
  void update_tenant(const std::string& id, const model::Node* before, const model::Node* after);
  void index(const std::string& id, const BackingRecord& record);
  void unindex(const std::string& id, const BackingRecord& record);
  void touch(const std::string& backing_node);
  void update_availability(const std::string& id);
  void set_reserved(const Slot& slot, bool is_reserved);
  std::set<std::int64_t> occupied(std::string_view id) const;
  Task<std::optional<Outcome>> try_change(std::string id, const Change& change,
                                          const coordination::Transaction& also);
  Task<std::string> own_lock(std::string id);
  void forget_lock(const std::string& id);
  Task<std::vector<std::string>> contenders(std::string id);
  Task<bool> is_own(std::string contender);
  Task<> read_again(std::string id);
  Task<coordination::Transaction> unlocking(std::string id);
  async::Slots& turn(const std::string& id);

  driver::ProviderContext context_;
  std::string provider_;
  std::string owner_;
  std::map<std::string, Entry, std::less<>> entries_;
  // By label, the backing nodes of which free_slot_on() has a slot.
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> available_;
  // By the tenants' external ids, and by the node ids in their tags.
  std::map<std::string, std::set<Slot>, std::less<>> slots_by_tenant_;
  // Nodes by the backing node and slot in their records.
  std::map<std::string, std::map<std::int64_t, std::set<std::string>>, std::less<>> standing_;
  std::map<std::string, async::Event, std::less<>> changed_;  // by label
  async::Event moved_{"a backing node or a tenant"};
  std::map<std::string, async::Slots, std::less<>> turns_;  // serialize changes of a record
  std::function<void()> on_end_;
  coordination::Subscription subscription_;
};

}  // namespace nodepool::drivers::metastatic
