#include "driver/statemachine/removal.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "driver/cloud_error.h"
#include "driver/statemachine/journalled_machine.h"

namespace nodepool::driver {

namespace {

// What is gone already needs no deletion.
Task<> remove_if_there(Task<> removing) {
  try {
    co_await std::move(removing);
  } catch (const CloudError& error) {
    if (error.kind() != CloudError::Kind::not_found) throw;
  }
}

// Returns when whatever was made at `since`, by a clock that may not be ours, shows in listings.
Task<> wait_until_settled(async::Clock& clock, async::Duration settling_time, double since) {
  const double settling = std::chrono::duration<double>(settling_time).count();
  const double wait = std::min(since + settling - clock.wall_seconds(), settling);
  if (wait <= 0) co_return;
  co_await clock.sleep_for(
      std::chrono::duration_cast<async::Duration>(std::chrono::duration<double>(wait)));
}

// Whatever carries the node's metadata, once it would show what was begun at `uncertain_since`.
Task<> remove_what_is_found(const RemovalContext& context, NodeRecord& record,
                            JournalledMachine& machine, double uncertain_since) {
  Adapter& adapter = context.adapter;
  co_await wait_until_settled(context.runtime.clock, adapter.settling_time(), uncertain_since);
  const auto is_of_node = [&record, &context](const Metadata& metadata) {
    return context.ownership.is_of_node(metadata, record.node());
  };
  const std::vector<Instance> instances = co_await adapter.instances();
  for (const Instance& instance : instances) {
    if (!is_of_node(instance.metadata)) continue;
    machine.set_scope(instance.external_id.text);
    Task<> removing = adapter.remove(instance.external_id, machine);
    co_await remove_if_there(std::move(removing));
  }
  const std::vector<Resource> resources = co_await adapter.resources();
  for (const Resource& resource : resources) {
    if (resource.type == kInstanceResource || !is_of_node(resource.metadata)) continue;
    Task<> removing = adapter.remove_resource(resource);
    co_await remove_if_there(std::move(removing));
  }
}

}  // namespace

Task<> remove_all_of(RemovalContext context, NodeRecord& record, LaunchJournal& journal,
                     std::optional<double> uncertain_since) {
  JournalledMachine machine(context.runtime, record, journal, context.adapter.settling_time(),
                            context.log, JournalledMachine::Purpose::removal);
  machine.tell_when_accepted(std::exchange(context.accepted, nullptr));
  std::exception_ptr failure;  // keeps nobody from deleting what the record names
  try {
    if (uncertain_since) {
      co_await remove_what_is_found(context, record, machine, *uncertain_since);
    }
  } catch (const CloudError&) {
    failure = std::current_exception();
  }
  machine.set_scope({});
  const model::Json external_id = record.node().external_id;
  if (!external_id.is_null()) {
    Task<> removing = context.adapter.remove(external_id, machine);
    co_await remove_if_there(std::move(removing));
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace nodepool::driver
