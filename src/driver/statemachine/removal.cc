#include "driver/statemachine/removal.h"

#include <algorithm>

#include "driver/cloud_error.h"

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

}  // namespace

Task<> remove_all_of(async::Runtime runtime, Adapter& adapter, model::Node node,
                     const Ownership& ownership, std::optional<double> uncertain_since) {
  if (!node.external_id.is_null()) {
    Task<> removing = adapter.remove(node.external_id);
    co_await remove_if_there(std::move(removing));
  }
  if (!uncertain_since) co_return;
  co_await wait_until_settled(runtime.clock, adapter.settling_time(), *uncertain_since);
  const auto is_of_node = [&node, &ownership](const Metadata& metadata) {
    return ownership.is_of_node(metadata, node.id);
  };
  const std::vector<Instance> instances = co_await adapter.instances();
  for (const Instance& instance : instances) {
    if (!is_of_node(instance.metadata)) continue;
    Task<> removing = adapter.remove(instance.external_id);
    co_await remove_if_there(std::move(removing));
  }
  const std::vector<Resource> resources = co_await adapter.resources();
  for (const Resource& resource : resources) {
    if (resource.type == kInstanceResource || !is_of_node(resource.metadata)) continue;
    Task<> removing = adapter.remove_resource(resource);
    co_await remove_if_there(std::move(removing));
  }
}

}  // namespace nodepool::driver
