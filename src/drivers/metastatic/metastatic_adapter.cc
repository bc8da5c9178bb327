#include "drivers/metastatic/metastatic_adapter.h"

#include <fmt/format.h>

#include <utility>

#include "coordination/error.h"
#include "coordination/outage.h"
#include "driver/ownership.h"
#include "model/paths.h"

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

// What the takings of nodes that nobody knows are called.
constexpr const char* kSlotResource = "slot";

CloudError lost(const Slot& place) {
  return {CloudError::Kind::failed,
          fmt::format("backing node {} is gone, or not ours any more", place.backing_node)};
}

driver::Connection connection_of(const model::Node& backing) {
  driver::Connection connection;
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
      scope_(context_.runtime, [log = log_](const std::string& name, const std::string& error) {
        log.error("{}: {}", name, error);
      }) {}

Task<> MetastaticAdapter::start() {
  nodes_.follow();
  co_return;
}

Task<> MetastaticAdapter::stop() {
  co_await scope_.stop();
  co_await requests_.stop();
}

// --- nodes that come

// A node that waits for its place has its id already: that it waits is all that there is of it.
Task<Instance> MetastaticAdapter::create(CreateSpec spec, LaunchSteps& steps) {
  const LaunchSteps::Make make = [&] { return take_place(spec, steps); };
  const LaunchSteps::Find find = [&] { return find_place(spec, steps); };
  steps.set_external_id(model::json_string(spec.node_id));
  const std::string taken = co_await steps.step("slot", make, find);
  const std::optional<Slot> place = parse_place(taken);
  if (!place) throw CloudError(CloudError::Kind::permanent, "no slot has the name " + taken);
  co_return co_await describe(*place, spec);
}

// Waits until a place is free, or a backing node that was asked for is there. Only who has the
// node's record as it is now may take one for it: a launcher that has lost it, and does not know
// yet, takes none.
Task<std::string> MetastaticAdapter::take_place(const CreateSpec& spec, LaunchSteps& steps) {
  const BackingRules rules = *config_->find_rules(spec.label);
  Transaction proof;
  if (const model::Node* node = context_.nodes.find(spec.node_id)) {
    proof.check(model::node_path(spec.node_id), node->stat.version);
  }
  std::unique_ptr<Expectation> expectation;
  while (true) {
    if (const auto known = place_of_tenant(spec, steps)) co_return *known;
    std::optional<std::string> backing = nodes_.with_free_slot(spec.label, rules);
    const bool was_served =
        expectation && expectation->request().state == BackingRequest::State::served;
    if (!backing && was_served && nodes_.has_free_slot(expectation->request().node)) {
      backing = expectation->request().node;
    }
    if (backing) {
      const std::optional<std::string> place = co_await occupy(spec, *backing, proof);
      if (place) co_return *place;
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

// Nothing: others were faster.
Task<std::optional<std::string>> MetastaticAdapter::occupy(const CreateSpec& spec,
                                                           std::string backing_node,
                                                           const Transaction& proof) {
  Slot place{std::move(backing_node), 0};
  const double now = context_.runtime.clock.wall_seconds();
  const BackingNodes::Change take = [&](model::Node&, BackingRecord& record,
                                        const std::set<std::int64_t>& occupied) {
    const std::optional<std::int64_t> slot = free_slot(record, occupied);
    if (record.failed || !slot) return false;
    place.slot = *slot;
    record.tenants.emplace(*slot, Tenant{spec.node_id, spec.metadata});
    record.used = now;
    return true;
  };
  const Outcome outcome = co_await nodes_.change(place.backing_node, take, proof);
  if (outcome == Outcome::refused) {
    throw coordination::store_error(StoreError::Kind::bad_version, model::node_path(spec.node_id),
                                    "somebody else has the node");
  }
  if (outcome != Outcome::written) co_return std::nullopt;
  co_return to_string(place);
}

Task<std::optional<std::string>> MetastaticAdapter::find_place(const CreateSpec& spec,
                                                               LaunchSteps& steps) const {
  if (!nodes_.is_ready()) {
    throw CloudError(CloudError::Kind::transient, "the records are being read");
  }
  co_return place_of_tenant(spec, steps);
}

std::optional<std::string> MetastaticAdapter::place_of_tenant(const CreateSpec& spec,
                                                              LaunchSteps& steps) const {
  const std::optional<Slot> place = nodes_.place_of_node(spec.metadata);
  if (!place) return std::nullopt;
  const BackingRecord* record = nodes_.find(place->backing_node);
  steps.set_external_id(model::json_string(record->tenants.at(place->slot).external_id));
  return to_string(*place);
}

Task<Instance> MetastaticAdapter::describe(Slot place, const CreateSpec& spec) {
  const model::Node backing = co_await read_backing(place);
  const std::optional<BackingRecord> record = backing_record_of(backing, owner_);
  if (!record) throw lost(place);
  const auto tenant = record->tenants.find(place.slot);
  const bool is_there =
      tenant != record->tenants.end() && driver::carries(tenant->second.metadata, spec.metadata);
  if (!is_there) throw lost(place);
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
  instance.slot = place.slot;
  instance.driver_data = driver_data(place, spec.node_id, spec.metadata);
  instance.node_attributes = backing.attributes;
  instance.connection = connection_of(backing);
  co_return instance;
}

// The table may not have heard yet of what another launcher has written.
Task<model::Node> MetastaticAdapter::read_backing(Slot place) {
  const BackingRecord* known = nodes_.find(place.backing_node);
  if (known != nullptr && known->tenants.contains(place.slot)) {
    co_return *context_.nodes.find(place.backing_node);
  }
  while (true) {
    try {
      const coordination::Entry entry =
          co_await context_.store.get(model::node_path(place.backing_node));
      if (entry.data.empty()) throw lost(place);
      co_return model::parse_node(place.backing_node, entry);
    } catch (const StoreError& error) {
      if (error.kind() == StoreError::Kind::no_node) throw lost(place);
      if (!coordination::may_recover(error)) throw;
    }
    co_await coordination::wait_for_store(context_.runtime, context_.store);
  }
}

// --- nodes that go

Task<> MetastaticAdapter::remove(model::Json external_id, LaunchSteps& /*steps*/) {
  const std::string id = external_id.string_value();
  for (const Slot& place : nodes_.slots_of_machine(id)) co_await nodes_.release_slot(place, id);
}

Task<std::vector<Instance>> MetastaticAdapter::instances() {
  std::vector<Instance> all;
  for (const std::string& id : nodes_.ids()) {
    for (const auto& [slot, tenant] : nodes_.find(id)->tenants) {
      Instance& instance = all.emplace_back();
      instance.external_id = model::json_string(tenant.external_id);
      instance.metadata = tenant.metadata;
      instance.resources = driver::Resources({{"instances", 1}});
    }
  }
  co_return all;
}

Task<std::vector<Resource>> MetastaticAdapter::resources() {
  std::vector<Resource> all;
  for (const std::string& id : nodes_.ids()) {
    for (const auto& [slot, tenant] : nodes_.find(id)->tenants) {
      all.push_back({kSlotResource, to_string(Slot{id, slot}), tenant.metadata});
    }
  }
  co_return all;
}

bool MetastaticAdapter::may_be_of(const Resource& resource, const model::Node& node) const {
  const std::optional<Slot> place = place_of(node);
  return !place || to_string(*place) == resource.id;
}

Task<> MetastaticAdapter::remove_resource(Resource resource) {
  // What is no place is not deleted as one.
  if (resource.type != kSlotResource) co_await driver::Adapter::remove_resource(resource);
  const std::optional<Slot> place = parse_place(resource.id);
  const BackingRecord* record = place ? nodes_.find(place->backing_node) : nullptr;
  if (record == nullptr || !record->tenants.contains(place->slot)) co_return;
  const std::string external_id = record->tenants.at(place->slot).external_id;
  co_await nodes_.release_slot(*place, external_id);
}

Task<bool> MetastaticAdapter::is_usable(model::Node node) {
  const std::optional<Slot> place = place_of(node);
  co_return place&& nodes_.find(place->backing_node) != nullptr;
}

void MetastaticAdapter::nodescan_failed(const model::Json& external_id) {
  for (const Slot& place : nodes_.slots_of_machine(external_id.string_value())) {
    log_.warning("Backing node {} gets no more nodes: no host keys could be read there",
                 place.backing_node);
    scope_.spawn("retire backing node " + place.backing_node, nodes_.retire(place.backing_node));
  }
}

// --- backing nodes that go

Task<std::map<std::string, std::int64_t>> MetastaticAdapter::remove_leftovers() {
  requests_.withdraw_unwanted(*config_);
  for (const std::string& id : nodes_.ids()) co_await apply_disposition(id);
  co_return std::map<std::string, std::int64_t>{};
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
      log_.info("Backing node {} gets no more nodes: it is older than max-age", id);
    } else if (co_await nodes_.release(id)) {
      log_.info("Backing node {} is given back: no node is on it", id);
    }
  } catch (const StoreError& error) {
    log_.warning("Backing node {} could not be given back yet: {}", id, error.what());
  }
}

}  // namespace nodepool::drivers::metastatic
