#include "drivers/metastatic/metastatic_adapter.h"

#include <fmt/format.h>

#include <utility>

#include "coordination/error.h"
#include "coordination/outage.h"
#include "driver/ownership.h"
#include "model/paths.h"
#include "telemetry/log_errors.h"

namespace nodepool::drivers::metastatic {

namespace {

using coordination::StoreError;
using coordination::Transaction;
using driver::CloudError;
using driver::CreateSpec;
using driver::Instance;
using driver::LaunchSteps;
using driver::Resource;
using Outcome = BackingNodes::Outcome;

// Resource::type of slots.
constexpr const char* kSlotResource = "slot";

// The longest time between two checks for backing nodes that are not needed any more. Retries
// failures, and notices jumps of the wall clock.
constexpr auto kCheckInterval = std::chrono::seconds(60);

// The shortest time. Changes within this time are checked together.
constexpr auto kShortestInterval = std::chrono::milliseconds(100);

CloudError lost(const Slot& slot) {
  return {CloudError::Kind::failed,
          fmt::format("backing node {} is gone, or its lock was lost", slot.backing_node)};
}

driver::ConnectionSettings connection_of(const model::Node& backing) {
  driver::ConnectionSettings connection;
  connection.type = backing.connection_type.to_optional();
  connection.port = backing.connection_port;
  connection.username = backing.username.to_optional();
  connection.python_path = backing.python_path.to_optional();
  connection.shell_type = backing.shell_type.to_optional();
  connection.host_keys = backing.host_keys;
  return connection;
}

}  // namespace

MetastaticAdapter::MetastaticAdapter(std::shared_ptr<const MetastaticConfig> config,
                                     driver::ProviderContext context)
    : config_(std::move(config)),
      context_(std::move(context)),
      log_(context_.log.child("driver." + config_->name())),
      owner_(owner_of(config_->name())),
      nodes_(context_, config_->name()),
      requests_(context_, config_->name(), nodes_, log_),
      scope_(context_.runtime, telemetry::log_errors(log_)) {}

Task<> MetastaticAdapter::start(std::function<void()> changed) {
  nodes_.follow(std::move(changed));
  if (*context_.is_serving) scope_.spawn("return backing nodes", return_backing_nodes());
  co_return;
}

Task<> MetastaticAdapter::stop() {
  co_await scope_.stop();
  co_await requests_.stop();
}

// --- creating nodes

// A node that waits for a slot has an external id already, although it has no resources yet.
Task<Instance> MetastaticAdapter::create(CreateSpec spec, LaunchSteps& steps) {
  const LaunchSteps::Make make = [&] { return take_slot(spec, steps); };
  const LaunchSteps::Find find = [&] { return find_slot(spec, steps); };
  steps.set_external_id(model::json_string(spec.node_id));
  const std::string taken = co_await steps.step("slot", make, find);
  const std::optional<Slot> slot = parse_slot(taken);
  if (!slot) throw CloudError(CloudError::Kind::permanent, "invalid slot " + taken);
  co_return co_await instance_in(*slot, spec);
}

// Waits until a slot is free, or a requested backing node is ready. `proof` checks the version of
// the node's record: a launcher that has lost the node's lock without noticing takes no slot.
Task<std::string> MetastaticAdapter::take_slot(const CreateSpec& spec, LaunchSteps& steps) {
  const BackingRules rules = *config_->find_rules(spec.label);
  Transaction proof;
  if (const model::Node* node = context_.nodes.find(spec.node_id)) {
    proof.check(model::node_path(spec.node_id), node->stat.version);
  }
  std::unique_ptr<BackingWait> expectation;
  while (true) {
    if (const auto known = slot_of_tenant(spec, steps)) co_return *known;
    std::optional<Slot> slot = nodes_.free_slot_for(spec.label, rules);
    const bool was_served =
        expectation && expectation->request().state == BackingRequest::State::served;
    if (!slot && was_served) slot = nodes_.free_slot_on(expectation->request().node);
    if (slot) {
      if (co_await occupy(spec, *slot, proof)) co_return to_string(*slot);
      continue;
    }
    if (expectation && expectation->request().state == BackingRequest::State::failed) {
      throw CloudError(CloudError::Kind::failed, expectation->request().failure);
    }
    const bool counts_on_one =
        expectation && expectation->request().state == BackingRequest::State::open;
    if (!counts_on_one) {
      expectation.reset();
      expectation = requests_.expect(spec.label, rules, spec.node_id);
      steps.enter("waiting for a node with label " + rules.label);
    }
    co_await nodes_.changed(spec.label).wait();
  }
}

// Returns false if another node has taken the slot, or the backing node is gone.
Task<bool> MetastaticAdapter::occupy(const CreateSpec& spec, Slot slot, const Transaction& proof) {
  Tenant tenant{spec.node_id, spec.metadata};
  const Outcome outcome = co_await nodes_.take_slot(std::move(slot), std::move(tenant), proof);
  if (outcome == Outcome::refused) {
    throw coordination::store_error(StoreError::Kind::bad_version, model::node_path(spec.node_id),
                                    "another launcher has the node");
  }
  co_return outcome == Outcome::written;
}

Task<std::optional<std::string>> MetastaticAdapter::find_slot(const CreateSpec& spec,
                                                              LaunchSteps& steps) const {
  if (!nodes_.is_ready()) {
    throw CloudError(CloudError::Kind::transient, "the node records are still being read");
  }
  co_return slot_of_tenant(spec, steps);
}

std::optional<std::string> MetastaticAdapter::slot_of_tenant(const CreateSpec& spec,
                                                             LaunchSteps& steps) const {
  const std::optional<Slot> slot = nodes_.slot_of_node(spec.metadata);
  if (!slot) return std::nullopt;
  steps.set_external_id(model::json_string(nodes_.tenant_in(*slot)->external_id));
  return to_string(*slot);
}

Task<Instance> MetastaticAdapter::instance_in(Slot slot, const CreateSpec& spec) {
  const model::Node backing = co_await read_backing(slot);
  const std::optional<BackingRecord> record = backing_record_of(backing, owner_);
  if (!record) throw lost(slot);
  const auto tenant = record->tenants.find(slot.slot);
  const bool is_there =
      tenant != record->tenants.end() && driver::carries(tenant->second.metadata, spec.metadata);
  if (!is_there) throw lost(slot);
  Instance instance;
  instance.external_id = model::json_string(tenant->second.external_id);
  instance.metadata = spec.metadata;
  instance.resources = driver::Resources({{"instances", 1}});
  instance.interface_ip = backing.interface_ip.to_optional();
  instance.public_ipv4 = backing.public_ipv4.to_optional();
  instance.public_ipv6 = backing.public_ipv6.to_optional();
  instance.private_ipv4 = backing.private_ipv4.to_optional();
  instance.az = backing.az.to_optional();
  instance.region = backing.region.to_optional();
  instance.cloud = backing.cloud.to_optional();
  instance.slot = slot.slot;
  instance.driver_data = driver_data(slot, spec.node_id, spec.metadata);
  instance.node_attributes = backing.attributes;
  instance.connection = connection_of(backing);
  co_return instance;
}

// Reads the store, as the table may lack recent writes of other launchers.
Task<model::Node> MetastaticAdapter::read_backing(Slot slot) {
  if (nodes_.tenant_in(slot) != nullptr) co_return *context_.nodes.find(slot.backing_node);
  while (true) {
    try {
      const coordination::Entry entry =
          co_await context_.store.get(model::node_path(slot.backing_node));
      if (entry.data.empty()) throw lost(slot);
      co_return model::parse_node(slot.backing_node, entry);
    } catch (const StoreError& error) {
      if (error.kind() == StoreError::Kind::no_node) throw lost(slot);
      if (!coordination::may_recover(error)) throw;
    }
    co_await coordination::wait_for_store(context_.runtime, context_.store);
  }
}

// --- deleting nodes

Task<> MetastaticAdapter::remove(model::Json external_id, LaunchSteps& /*steps*/) {
  const std::string id = external_id.string_value();
  std::map<Slot, Tenant> tenants = nodes_.tenants_of(id);
  if (const std::optional<Slot> slot = parse_slot(id)) {
    const Tenant* tenant = nodes_.tenant_in(*slot);
    // Since the listing, another node may have taken the slot.
    const bool is_it = tenant != nullptr && machine_in(*slot, *tenant).external_id == external_id;
    if (is_it) tenants.emplace(*slot, *tenant);
  }
  for (const auto& [slot, tenant] : tenants) co_await nodes_.release_slot(slot, tenant);
}

// The Python Nodepool drops the tenants from the records: then the nodes name their slots.
Task<driver::MachineList> MetastaticAdapter::list() {
  driver::MachineList list;
  // A backing node whose record cannot be read may still have its tenants.
  list.is_complete = context_.nodes.unreadable().empty();
  std::set<Slot> listed;
  for (const std::string& id : nodes_.ids()) {
    for (const auto& [number, tenant] : nodes_.find(id)->tenants) {
      const Slot slot{id, number};
      listed.insert(slot);
      list.machines.push_back(machine_in(slot, tenant));
    }
  }
  for (const std::string& id : context_.nodes.of_provider(config_->name())) {
    const model::Node& node = *context_.nodes.find(id);
    const std::optional<Slot> slot = slot_of(node);
    if (!slot || listed.contains(*slot) || nodes_.find(slot->backing_node) == nullptr) continue;
    list.machines.push_back(
        machine_in(*slot, {.external_id = node.external_id.string_value(), .metadata = {}}));
  }
  co_return list;
}

// A node has one slot. Another one with its tags was taken by an attempt with unknown outcome: it
// gets an id of its own, with which it is no machine of the node. The backing node is known.
driver::Machine MetastaticAdapter::machine_in(const Slot& slot, const Tenant& tenant) const {
  driver::Machine machine;
  machine.type = kSlotResource;
  machine.id = to_string(slot);
  const BackingRecord& backing = *nodes_.find(slot.backing_node);
  machine.state = driver::Machine::State::running;
  if (!backing.end.empty()) {
    machine.state = driver::Machine::State::stopped;
    machine.explanation = fmt::format("backing node {}: {}", slot.backing_node, backing.end);
  }
  machine.metadata = tenant.metadata;
  machine.resources = driver::Resources({{"instances", 1}});
  machine.external_id = model::json_string(tenant.external_id);
  const model::Node* node =
      context_.nodes.find(driver::value_of(tenant.metadata, driver::kNodeIdKey));
  const std::optional<Slot> own = node == nullptr ? std::nullopt : slot_of(*node);
  if (own && *own != slot) machine.external_id = model::json_string(machine.id);
  return machine;
}

Task<> MetastaticAdapter::remove_resource(Resource resource) {
  if (resource.type != kSlotResource) co_await driver::Adapter::remove_resource(resource);
  const std::optional<Slot> slot = parse_slot(resource.id);
  const Tenant* tenant = slot ? nodes_.tenant_in(*slot) : nullptr;
  // Since the listing, another node may have taken the slot.
  const bool is_it = tenant != nullptr && tenant->metadata == resource.metadata;
  if (is_it) co_await nodes_.release_slot(*slot, *tenant);
}

Task<std::optional<std::string>> MetastaticAdapter::diagnose(model::Json external_id,
                                                             bool /*wants_console*/) {
  for (const auto& [slot, tenant] : nodes_.tenants_of(external_id.string_value())) {
    log_.warning("Retiring backing node {}: its host keys could not be read", slot.backing_node);
    scope_.spawn("retire backing node " + slot.backing_node, nodes_.retire(slot.backing_node));
  }
  co_return std::nullopt;
}

// --- deleting backing nodes

Task<> MetastaticAdapter::return_backing_nodes() {
  async::Clock& clock = context_.runtime.clock;
  while (true) {
    requests_.withdraw_unwanted(*config_);
    // A successor has other rules.
    if (*context_.is_serving) {
      for (const std::string& id : nodes_.ids()) co_await apply_disposition(id);
    }
    const async::Clock::TimePoint next = clock.now() + time_to_next_check();
    co_await nodes_.moved().wait_until(clock, next);
    co_await clock.sleep_for(kShortestInterval);
  }
}

async::Duration MetastaticAdapter::time_to_next_check() const {
  std::chrono::duration<double> shortest = kCheckInterval;
  for (const std::string& id : nodes_.ids()) {
    const BackingRecord& record = *nodes_.find(id);
    const BackingRules* rules = config_->find_rules(record.label);
    const BackingFacts facts = nodes_.facts(id);
    // Otherwise it was checked without success.
    const bool is_kept = disposition_of(record, rules, facts) == Disposition::keep;
    const std::optional<double> time = time_to_change(record, rules, facts);
    if (is_kept && time) shortest = std::min(shortest, std::chrono::duration<double>(*time));
  }
  return std::chrono::ceil<std::chrono::milliseconds>(shortest);
}

Task<> MetastaticAdapter::apply_disposition(std::string id) {
  const BackingRecord* record = nodes_.find(id);
  if (record == nullptr || !nodes_.is_ready()) co_return;
  const BackingRules* rules = config_->find_rules(record->label);
  const Disposition disposition = disposition_of(*record, rules, nodes_.facts(id));
  if (disposition == Disposition::keep) co_return;
  try {
    if (disposition == Disposition::retire) {
      co_await nodes_.retire(id);
      log_.info("Retiring backing node {}: it is older than max-age", id);
    } else if (co_await nodes_.release(id)) {
      log_.info("Released backing node {}, which has no nodes", id);
    }
  } catch (const async::Cancelled&) {
    throw;
  } catch (const std::exception& error) {
    log_.warning("Error retiring or releasing backing node {}, retrying: {}", id, error.what());
  }
}

}  // namespace nodepool::drivers::metastatic
