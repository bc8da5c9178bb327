#include "drivers/ibmvpc/instance_removal.h"

#include <algorithm>
#include <optional>
#include <set>

#include "driver/cloud_error.h"
#include "driver/statemachine/wait_in_listing.h"
#include "drivers/ibmvpc/owner_names.h"

namespace nodepool::drivers::ibmvpc {

using async::Task;
using driver::CloudError;

namespace {

bool is_foreign(const driver::Ownership& ownership, const driver::Metadata& tags) {
  using Maker = driver::Ownership::Maker;
  const Maker maker = ownership.maker_of(tags);
  return maker == Maker::other_provider || maker == Maker::other_installation;
}

// Deletes the floating IPs that fit, and returns when they are gone.
template <typename Fits>
Task<> remove_floating_ips(VpcContext context, Fits fits) {
  CloudView::FloatingIps& listing = context.view.floating_ips();
  const auto list = co_await listing.get(async::Duration::zero());
  for (const VpcFloatingIp& ip : list->all()) {
    if (!fits(ip)) continue;
    if (ip.status != "deleting") co_await context.api.remove_floating_ip(ip.id);
    driver::PollWaiter awaited = listing.await_removal();
    const auto is_gone = [](const VpcFloatingIp& /*ip*/) { return false; };
    const driver::ListingWait wait{context.runtime, context.log, "floating IPs"};
    co_await driver::wait_until_gone(wait, listing, awaited, ip.id, is_gone);
  }
}

// Whether the deletion has been accepted; not while the instance is being made or started.
Task<bool> try_removal(VpcContext context, VpcInstance instance) {
  if (instance.status == "deleting") co_return true;
  try {
    co_await context.api.remove_instance(instance.id);
  } catch (const CloudError& error) {
    const bool is_later = error.kind() == CloudError::Kind::transient && instance.is_coming();
    if (!is_later) throw;
    context.log.info("{}, deleting it later: {}", state_in_words(instance), error.what());
    co_return false;
  }
  co_return true;
}

Task<> remove_instance(VpcContext context, VpcInstance instance, std::function<void()> accepted) {
  CloudView::Instances& listing = context.view.instances();
  driver::PollWaiter coming = listing.await_earlier();
  while (true) {
    const bool is_accepted = co_await try_removal(context, instance);
    if (is_accepted) break;
    const auto list = co_await driver::if_answered(listing.next(coming), "instances", context.log);
    const VpcInstance* found = list ? list->find(instance.id) : nullptr;
    if (found != nullptr) instance = *found;
  }
  if (accepted) accepted();
  driver::BootTimes& times = context.view.removal_times();
  driver::PollWaiter awaited = listing.await_removal();
  awaited.expected = times.expectation();
  // A deletion is less urgent than a launch.
  if (awaited.expected) {
    awaited.expected->step = std::max(awaited.expected->step, kPollInterval);
  }
  const auto is_gone = [](const VpcInstance& /*instance*/) { return false; };
  const driver::ListingWait wait{context.runtime, context.log, "instances"};
  co_await driver::wait_until_gone(wait, listing, awaited, instance.id, is_gone);
  if (const auto taken = awaited.taken(context.runtime.clock.now())) times.learn(*taken);
}

}  // namespace

// Names are those of nodes, so that two installations in a region may want the same.
Task<> remove_machine(VpcContext context, const driver::Ownership& ownership, std::string name,
                      std::function<void()> accepted) {
  const auto list = co_await context.view.instances().get(async::Duration::zero());
  std::optional<VpcInstance> instance;
  std::set<std::string> foreign;  // network interfaces
  for (const VpcInstance& candidate : list->all()) {
    if (candidate.name != name) continue;
    if (is_foreign(ownership, owner_tags(name, candidate.group, candidate.boot_disk_name))) {
      foreign.insert(candidate.interface_id);
    } else {
      instance = candidate;
    }
  }
  if (!instance && !foreign.empty()) {
    context.log.warning("Instance {} belongs to another provider or installation, not deleting it",
                        name);
    co_return;
  }
  const auto is_of_node = [&](const VpcFloatingIp& ip) {
    return ip.name == name && !foreign.contains(ip.target) &&
           !is_foreign(ownership, owner_tags(name, ip.group, ""));
  };
  co_await remove_floating_ips(context, is_of_node);
  if (instance) co_await remove_instance(context, *instance, std::move(accepted));
}

Task<> begin_removal(VpcContext context, std::string id) {
  const auto list = co_await context.view.instances().get(kPollInterval);
  const VpcInstance* instance = list->find(id);
  if (instance == nullptr) co_return;
  const auto is_of_instance = [interface = instance->interface_id,
                               name = instance->name](const VpcFloatingIp& ip) {
    return ip.name == name && !interface.empty() && ip.target == interface;
  };
  co_await remove_floating_ips(context, is_of_instance);
  co_await context.api.remove_instance(id);
}

}  // namespace nodepool::drivers::ibmvpc
