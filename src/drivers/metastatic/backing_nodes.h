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

// The backing nodes of one provider, whichever launcher has got them, as the records show them; and
// the changes of their records, which all launchers make by version.
class BackingNodes {
 public:
  // `context` as ProviderContext says.
  BackingNodes(driver::ProviderContext context, std::string provider);

  // From now on it shows what the table of nodes does.
  void follow();

  // Whether the table is complete.
  bool is_ready() const { return context_.nodes.ready(); }

  // Is set when a place may have become free on a backing node for this label, or one has gone.
  async::Event& changed(std::string_view label);

  // All ids.
  std::set<std::string, std::less<>> ids() const;

  // nullptr: it is none, or none any more. Valid until the next co_await.
  const BackingRecord* find(std::string_view id) const;
  BackingFacts facts(std::string_view id) const;

  // The first that has a place left for a node with this label.
  std::optional<std::string> with_free_slot(std::string_view label,
                                            const BackingRules& rules) const;

  // Whether this one has, also if it is older than it may be to get a node that has not waited for
  // it.
  bool has_free_slot(std::string_view id) const;

  // Where the node is whose machine would carry this metadata; where the machine with this external
  // id is.
  std::optional<Slot> place_of_node(const driver::Metadata& metadata) const;
  std::set<Slot> slots_of_machine(std::string_view external_id) const;

  enum class Outcome {
    written,
    unchanged,  // `change` found nothing to do
    gone,       // it is no backing node any more, or its lock is not ours
    refused,    // `also` is: nothing has happened
  };
  // Returns whether there is something to be written. `occupied`: the slots that the records of
  // nodes say they are on, beside the tenants.
  using Change = std::function<bool(model::Node& node, BackingRecord& record,
                                    const std::set<std::int64_t>& occupied)>;

  // Writes what `change` makes of the record, if the provider has it locked and nobody else has
  // written it meanwhile: else `change` is called with what that is now. `also` happens in the same
  // transaction. Waits as long as the store is out of reach. Throws StoreError, Cancelled from its
  // waits.
  Task<Outcome> change(std::string id, Change change, coordination::Transaction also = {});

  // Takes the tenant with this external id off its place.
  Task<> release_slot(Slot place, std::string external_id);

  // It gets no more nodes.
  Task<> retire(std::string id);

  // Gives it back, unless a node has come to it. Returns whether it has.
  Task<bool> release(std::string id);

 private:
  struct Entry {
    BackingRecord record;
    async::Clock::TimePoint known_since;  // to this process
    async::Clock::TimePoint quiet_since;  // when it last saw a node come or go
    std::string lock = {};                // the path of the provider's contender; empty: not known
    bool is_lost = false;                 // it has none: whoever makes such nodes takes it back
  };

  void on_change(const model::NodeTable::Change& change);
  void update_backing(const std::string& id, const model::Node* node);
  void update_tenant(const std::string& id, const model::Node* before, const model::Node* after);
  void touch(const std::string& backing_node);
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
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> by_label_;
  // By backing node and slot: the nodes whose records say that they are there.
  std::map<std::string, std::map<std::int64_t, std::set<std::string>>, std::less<>> standing_;
  std::map<std::string, async::Event, std::less<>> changed_;  // by label
  std::map<std::string, async::Slots, std::less<>> turns_;    // of those who change a record
  coordination::Subscription subscription_;
};

}  // namespace nodepool::drivers::metastatic
