#include "driver/statemachine/removal.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>
#include <vector>

#include "driver/cloud_error.h"
#include "driver/if_exists.h"
#include "driver/statemachine/journaled_steps.h"

namespace nodepool::driver {

namespace {

// All machines that may be the node's.
Task<std::vector<Machine>> find_machines(const RemovalContext& context, NodeRecord& record) {
  MachineList list = co_await context.adapter.list();
  if (list.is_complete) co_return std::move(list.machines);
  const model::Node& node = record.node();
  CreateSpec spec;
  spec.node_id = node.id;
  spec.pool = node.pool.value_or("");
  if (!node.type.empty()) spec.label = node.type.front();
  spec.metadata = context.ownership.of_node(node);
  std::vector<Machine> named = co_await context.adapter.find_by_name(std::move(spec));
  std::ranges::move(named, std::back_inserter(list.machines));
  co_return std::move(list.machines);
}

// Deletes everything with the node's owner tags, after waiting until listings are consistent. The
// delay counts from now, not from the beginning of the step: the call may have been queued, and the
// system clock may have been adjusted.
Task<> remove_what_is_found(const RemovalContext& context, NodeRecord& record,
                            JournaledSteps& steps) {
  Adapter& adapter = context.adapter;
  co_await context.runtime.clock.sleep_for(adapter.traits().consistency_delay);
  const auto is_of_node = [&record, &context](const Metadata& metadata) {
    return context.ownership.is_of_node(metadata, record.node());
  };
  const std::vector<Machine> machines = co_await find_machines(context, record);
  for (const Machine& machine : machines) {
    const bool is_gone = machine.state == Machine::State::deleted;
    if (is_gone || !is_of_node(machine.metadata)) continue;
    steps.set_scope(machine.external_id.text);
    Task<> removing = adapter.remove(machine.external_id, steps);
    co_await if_exists(std::move(removing));
  }
  const std::vector<Resource> resources = co_await adapter.other_resources();
  for (const Resource& resource : resources) {
    if (!is_of_node(resource.metadata)) continue;
    Task<> removing = adapter.remove_resource(resource);
    co_await if_exists(std::move(removing));
  }
}

// Deletes the machine that the record names. Returns whether the cloud has found it.
Task<bool> remove_named(const RemovalContext& context, model::Json external_id,
                        JournaledSteps& steps) {
  Task<> removing = context.adapter.remove(std::move(external_id), steps);
  co_return co_await if_exists(std::move(removing));
}

// Whether the machine that the record names may exist though the cloud does not find it. It does
// not if all steps of an unfinished launch were refused.
bool may_be_hidden(const model::Node& node, const LaunchJournal& journal) {
  return node.launch_journal.is_null() || !journal.steps.empty();
}

}  // namespace

Task<> remove_all_of(RemovalContext context, NodeRecord& record, LaunchJournal& journal,
                     bool is_uncertain) {
  JournaledSteps steps(context.runtime, record, journal, context.adapter.traits().consistency_delay,
                       context.log, JournaledSteps::Purpose::removal);
  steps.on_accepted(std::exchange(context.accepted, nullptr));
  std::exception_ptr failure;  // what the record names is deleted anyway
  try {
    if (is_uncertain) co_await remove_what_is_found(context, record, steps);
  } catch (const CloudError&) {
    failure = std::current_exception();
  }
  steps.set_scope({});
  const model::Json external_id = record.node().external_id;
  if (!external_id.is_null()) {
    const bool was_found = co_await remove_named(context, external_id, steps);
    if (!was_found && !is_uncertain && may_be_hidden(record.node(), journal)) {
      co_await context.runtime.clock.sleep_for(context.adapter.traits().consistency_delay);
      co_await remove_named(context, external_id, steps);
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace nodepool::driver
