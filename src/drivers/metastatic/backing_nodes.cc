#include "drivers/metastatic/backing_nodes.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "coordination/error.h"
#include "coordination/known_outcome.h"
#include "coordination/lock.h"
#include "coordination/outage.h"
#include "coordination/path.h"
#include "driver/ownership.h"
#include "model/paths.h"

namespace nodepool::drivers::metastatic {

namespace {

using coordination::StoreError;
using coordination::Transaction;
using Kind = StoreError::Kind;

// The keys of a tenant in the index: equal for what this driver has written.
std::set<std::string> keys_of(const Tenant& tenant) {
  return {tenant.external_id, driver::value_of(tenant.metadata, driver::kNodeIdKey)};
}

}  // namespace

BackingNodes::BackingNodes(driver::ProviderContext context, std::string provider)
    : context_(std::move(context)), provider_(std::move(provider)), owner_(owner_of(provider_)) {}

// --- queries

void BackingNodes::follow(std::function<void()> on_end) {
  on_end_ = std::move(on_end);
  subscription_ =
      context_.nodes.observe([this](const model::NodeTable::Change& change) { on_change(change); });
  for (const auto& [id, node] : context_.nodes.all()) on_change({id, nullptr, &node});
}

void BackingNodes::on_change(const model::NodeTable::Change& change) {
  update_backing(change.id, change.after);
  update_tenant(change.id, change.before, change.after);
}

void BackingNodes::update_backing(const std::string& id, const model::Node* node) {
  std::optional<BackingRecord> record;
  if (node != nullptr) record = backing_record_of(*node, owner_);
  const auto known = entries_.find(id);
  const bool was_known = known != entries_.end();
  if (!record && !was_known) return;
  if (was_known) unindex(id, known->second.record);
  if (record) index(id, *record);
  const auto now = context_.runtime.clock.now();
  if (!record) {
    turns_.erase(id);
    entries_.erase(known);
    on_end_();
  } else if (!was_known) {
    entries_.emplace(id, Entry{*std::move(record), now, now});
  } else {
    if (known->second.record.tenants != record->tenants) known->second.quiet_since = now;
    const bool has_ended = known->second.record.end.empty() && !record->end.empty();
    known->second.record = *std::move(record);
    if (has_ended) on_end_();
  }
  update_availability(id);
  moved_.set();
}

void BackingNodes::index(const std::string& id, const BackingRecord& record) {
  for (const auto& [slot, tenant] : record.tenants) {
    for (const std::string& key : keys_of(tenant)) slots_by_tenant_[key].insert({id, slot});
  }
}

void BackingNodes::unindex(const std::string& id, const BackingRecord& record) {
  available_[record.label].erase(id);
  for (const auto& [slot, tenant] : record.tenants) {
    for (const std::string& key : keys_of(tenant)) {
      const auto slots = slots_by_tenant_.find(key);
      slots->second.erase({id, slot});
      if (slots->second.empty()) slots_by_tenant_.erase(slots);
    }
  }
}

void BackingNodes::update_tenant(const std::string& id, const model::Node* before,
                                 const model::Node* after) {
  const auto place_in = [this](const model::Node* node) {
    const bool is_own = node != nullptr && node->provider == provider_;
    return is_own ? slot_of(*node) : std::nullopt;
  };
  const std::optional<Slot> from = place_in(before);
  const std::optional<Slot> to = place_in(after);
  if (from == to) return;
  if (from) {
    const auto backing = standing_.find(from->backing_node);
    if (backing != standing_.end()) {
      backing->second[from->slot].erase(id);
      if (backing->second[from->slot].empty()) backing->second.erase(from->slot);
      if (backing->second.empty()) standing_.erase(backing);
    }
    touch(from->backing_node);
  }
  if (!to) return;
  standing_[to->backing_node][to->slot].insert(id);
  touch(to->backing_node);
}

void BackingNodes::touch(const std::string& backing_node) {
  const auto entry = entries_.find(backing_node);
  if (entry == entries_.end()) return;
  entry->second.quiet_since = context_.runtime.clock.now();
  update_availability(backing_node);
  moved_.set();
}

// Call it after each change that free_slot_on() depends on. Wakes launches only for a slot that one
// of them can take.
void BackingNodes::update_availability(const std::string& id) {
  const auto entry = entries_.find(id);
  if (entry == entries_.end()) return;
  const std::string& label = entry->second.record.label;
  if (!free_slot_on(id)) {
    available_[label].erase(id);
  } else if (available_[label].insert(id).second) {
    changed(label).set();
  }
}

async::Event& BackingNodes::changed(std::string_view label) {
  const auto known = changed_.find(label);
  if (known != changed_.end()) return known->second;
  return changed_.try_emplace(std::string(label), "a slot of a backing node").first->second;
}

std::set<std::string, std::less<>> BackingNodes::ids() const {
  std::set<std::string, std::less<>> all;
  for (const auto& [id, entry] : entries_) all.insert(id);
  return all;
}

const BackingRecord* BackingNodes::find(std::string_view id) const {
  const auto entry = entries_.find(id);
  return entry == entries_.end() ? nullptr : &entry->second.record;
}

// Records of the Python Nodepool lack the time since when a node is idle. If that is missing, or in
// the future because the system clock was set back, uses what this process has seen.
BackingFacts BackingNodes::facts(std::string_view id) const {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return {};
  const Entry& entry = found->second;
  const async::Clock& clock = context_.runtime.clock;
  const auto seconds_since = [&clock](std::optional<double> recorded,
                                      async::Clock::TimePoint seen) {
    const double now = clock.wall_seconds();
    if (recorded && *recorded <= now) return now - *recorded;
    return std::chrono::duration<double>(clock.now() - seen).count();
  };
  return {.is_empty = entry.record.tenants.empty() && !standing_.contains(id),
          .idle = seconds_since(entry.record.used, entry.quiet_since),
          .age = seconds_since(entry.record.launched, entry.known_since)};
}

std::set<std::int64_t> BackingNodes::occupied(std::string_view id) const {
  std::set<std::int64_t> slots;
  const auto backing = standing_.find(id);
  if (backing == standing_.end()) return slots;
  for (const auto& [slot, nodes] : backing->second) slots.insert(slot);
  return slots;
}

std::optional<Slot> BackingNodes::free_slot_for(std::string_view label,
                                                const BackingRules& rules) const {
  const auto ids = available_.find(label);
  if (ids == available_.end()) return std::nullopt;
  for (const std::string& id : ids->second) {
    if (takes_nodes(entries_.at(id).record, rules, facts(id).age)) return free_slot_on(id);
  }
  return std::nullopt;
}

std::optional<Slot> BackingNodes::free_slot_on(std::string_view id) const {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return std::nullopt;
  const Entry& entry = found->second;
  if (entry.is_lost || entry.record.failed) return std::nullopt;
  std::set<std::int64_t> taken = occupied(id);
  taken.insert(entry.reserved.begin(), entry.reserved.end());
  const std::optional<std::int64_t> number = free_slot(entry.record, taken);
  if (!number) return std::nullopt;
  return Slot{std::string(id), *number};
}

const Tenant* BackingNodes::tenant_in(const Slot& slot) const {
  const BackingRecord* record = find(slot.backing_node);
  if (record == nullptr) return nullptr;
  const auto tenant = record->tenants.find(slot.slot);
  return tenant == record->tenants.end() ? nullptr : &tenant->second;
}

std::optional<Slot> BackingNodes::slot_of_node(const driver::Metadata& metadata) const {
  const auto slots = slots_by_tenant_.find(driver::value_of(metadata, driver::kNodeIdKey));
  if (slots == slots_by_tenant_.end()) return std::nullopt;
  for (const Slot& slot : slots->second) {
    if (driver::carries(tenant_in(slot)->metadata, metadata)) return slot;
  }
  return std::nullopt;
}

std::map<Slot, Tenant> BackingNodes::tenants_of(std::string_view external_id) const {
  std::map<Slot, Tenant> tenants;
  const auto slots = slots_by_tenant_.find(external_id);
  if (slots == slots_by_tenant_.end()) return tenants;
  for (const Slot& slot : slots->second) {
    const Tenant& tenant = *tenant_in(slot);
    if (tenant.external_id == external_id) tenants.emplace(slot, tenant);
  }
  return tenants;
}

// --- changes

async::Slots& BackingNodes::turn(const std::string& id) {
  return turns_.try_emplace(id, 1).first->second;
}

Task<BackingNodes::Outcome> BackingNodes::change(std::string id, Change change, Transaction also) {
  if (!entries_.contains(id)) co_return Outcome::gone;
  const async::Slots::Hold hold = co_await turn(id).take();
  while (true) {
    try {
      const std::optional<Outcome> outcome = co_await try_change(id, change, also);
      if (outcome) co_return *outcome;
      co_await read_again(id);
      continue;
    } catch (const StoreError& error) {
      if (!coordination::may_recover(error)) throw;
    }
    co_await coordination::wait_for_store(context_.runtime, context_.store);
  }
}

// Returns nothing if another launcher has written the record meanwhile.
Task<std::optional<BackingNodes::Outcome>> BackingNodes::try_change(std::string id,
                                                                    const Change& change,
                                                                    const Transaction& also) {
  const std::string lock = co_await own_lock(id);
  const model::Node* known = context_.nodes.find(id);
  if (known == nullptr || lock.empty()) co_return Outcome::gone;
  model::Node node = *known;
  std::optional<BackingRecord> record = backing_record_of(node, owner_);
  if (!record) co_return Outcome::gone;
  if (!change(node, *record, occupied(id))) co_return Outcome::unchanged;
  node.user_data = to_user_data(*record);
  Transaction transaction;
  transaction.set(model::node_path(id), to_record(node), node.stat.version);
  transaction.check(lock);
  constexpr std::size_t kLock = 1;  // index of the lock's check
  transaction.append(also);
  std::vector<coordination::OperationResult> results;
  try {
    results = co_await coordination::commit_until_known(context_.runtime, context_.store,
                                                        std::move(transaction));
  } catch (const coordination::TransactionError& error) {
    if (error.index() > kLock) co_return Outcome::refused;
    if (error.index() == kLock) forget_lock(id);
    const bool has_changed = error.kind() == Kind::bad_version || error.kind() == Kind::no_node;
    if (!has_changed) throw;
    co_return std::nullopt;
  }
  const coordination::Stat& stat = results.front().stat;
  if (stat.mzxid != 0) context_.nodes.written(std::move(node), stat);
  co_return Outcome::written;
}

// The contender with which the provider has locked the node; empty if the lock was lost.
Task<std::string> BackingNodes::own_lock(std::string id) {
  if (const auto known = entries_.find(id);
      known != entries_.end() && !known->second.lock.empty()) {
    co_return known->second.lock;
  }
  const std::vector<std::string> line = co_await contenders(id);
  std::string lock;
  if (!line.empty() && co_await is_own(line.front())) lock = line.front();
  if (const auto known = entries_.find(id); known != entries_.end()) {
    known->second.lock = lock;
    known->second.is_lost = lock.empty();
    update_availability(id);
  }
  co_return lock;
}

void BackingNodes::forget_lock(const std::string& id) {
  if (const auto known = entries_.find(id); known != entries_.end()) known->second.lock.clear();
}

// The paths of all contenders for its lock; the first one holds it.
Task<std::vector<std::string>> BackingNodes::contenders(std::string id) {
  const std::string root = model::node_lock_path(id);
  std::vector<std::string> names;
  try {
    names = co_await context_.store.children(root);
  } catch (const StoreError& error) {
    if (error.kind() != Kind::no_node) throw;
  }
  std::vector<std::string> paths;
  for (const std::string& name : coordination::sorted_contenders(std::move(names))) {
    paths.push_back(coordination::join_path(root, name));
  }
  co_return paths;
}

// Whether the contender has the provider's name.
Task<bool> BackingNodes::is_own(std::string contender) {
  try {
    const coordination::Entry entry = co_await context_.store.get(std::move(contender));
    co_return entry.data == owner_;
  } catch (const StoreError& error) {
    if (error.kind() != Kind::no_node) throw;
  }
  co_return false;
}

Task<> BackingNodes::read_again(std::string id) {
  try {
    const coordination::Entry entry = co_await context_.store.get(model::node_path(id));
    context_.nodes.seen(id, entry);
  } catch (const StoreError& error) {
    if (error.kind() != Kind::no_node) throw;
    context_.nodes.removed(id);
  }
}

void BackingNodes::set_reserved(const Slot& slot, bool is_reserved) {
  const auto entry = entries_.find(slot.backing_node);
  if (entry == entries_.end()) return;
  if (is_reserved) {
    entry->second.reserved.insert(slot.slot);
  } else {
    entry->second.reserved.erase(slot.slot);
  }
  update_availability(slot.backing_node);
}

Task<BackingNodes::Outcome> BackingNodes::take_slot(Slot slot, Tenant tenant, Transaction also) {
  const double now = context_.runtime.clock.wall_seconds();
  const Change take = [&slot, &tenant, now](model::Node&, BackingRecord& record,
                                            const std::set<std::int64_t>& occupied) {
    if (record.failed || occupied.contains(slot.slot)) return false;
    if (!record.tenants.try_emplace(slot.slot, tenant).second) return false;
    record.used = now;
    return true;
  };
  set_reserved(slot, true);
  auto outcome = Outcome::gone;
  std::exception_ptr failure;
  try {
    outcome = co_await change(slot.backing_node, take, std::move(also));
  } catch (...) {
    failure = std::current_exception();
  }
  set_reserved(slot, false);
  if (failure) std::rethrow_exception(failure);
  co_return outcome;
}

Task<> BackingNodes::release_slot(Slot slot, Tenant tenant) {
  const double now = context_.runtime.clock.wall_seconds();
  const Change leave = [&slot, &tenant, now](model::Node&, BackingRecord& record,
                                             const std::set<std::int64_t>&) {
    const auto found = record.tenants.find(slot.slot);
    if (found == record.tenants.end() || found->second != tenant) return false;
    record.tenants.erase(found);
    record.used = now;
    return true;
  };
  co_await change(slot.backing_node, leave);
}

Task<> BackingNodes::retire(std::string id) {
  const Change fail = [](model::Node&, BackingRecord& record, const std::set<std::int64_t>&) {
    return !std::exchange(record.failed, true);
  };
  co_await change(std::move(id), fail);
}

// Releases the provider's locks in the same transaction: another launcher may reclaim the node as
// soon as its record is `used`.
Task<bool> BackingNodes::release(std::string id) {
  Transaction unlock = co_await unlocking(id);
  const double now = context_.runtime.clock.wall_seconds();
  const Change give_back = [now](model::Node& node, BackingRecord& record,
                                 const std::set<std::int64_t>& occupied) {
    if (!record.tenants.empty() || !occupied.empty()) return false;
    record.failed = true;
    node.set_state(model::NodeState::used, now);
    return true;
  };
  const Outcome outcome = co_await change(std::move(id), give_back, std::move(unlock));
  co_return outcome == Outcome::written;
}

// A transaction that removes all contenders for its lock with the provider's name.
Task<Transaction> BackingNodes::unlocking(std::string id) {
  Transaction transaction;
  const std::vector<std::string> line = co_await contenders(std::move(id));
  for (const std::string& contender : line) {
    if (co_await is_own(contender)) transaction.remove(contender);
  }
  co_return transaction;
}

}  // namespace nodepool::drivers::metastatic
