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

// Begins to delete a thing with `remove`, a function of VpcApi, and returns when that has been
// accepted, or the thing is gone. IBM refuses it while the thing is being made, and while it is
// being deleted.
template <typename Things, typename Remove>
Task<> request_removal(VpcContext context, driver::SharedPoller<Things>& listing,
                       typename Things::Thing thing, Remove remove) {
  driver::PollWaiter changed = listing.await_earlier();
  while (thing.status != "deleting") {
    try {
      co_await (context.api.*remove)(thing.id);
      co_return;
    } catch (const CloudError& error) {
      if (error.kind() != CloudError::Kind::transient) throw;
      context.log.info("{} is {}, deleting it later: {}", thing.name, thing.status, error.what());
    }
    const auto list = co_await driver::if_answered(listing.next(changed), "things", context.log);
    if (!list) continue;
    const auto* found = list->find(thing.id);
    if (found == nullptr) co_return;
    thing = *found;
  }
}

// Deletes the floating IPs that fit, and returns when they are gone.
template <typename Fits>
Task<> remove_floating_ips(VpcContext context, Fits fits) {
  CloudView::FloatingIps& listing = context.view.floating_ips();
  const auto list = co_await listing.get(async::Duration::zero());
  for (const VpcFloatingIp& ip : list->all()) {
    if (!fits(ip)) continue;
    co_await request_removal(context, listing, ip, &VpcApi::remove_floating_ip);
    driver::PollWaiter awaited = listing.await_removal();
    const auto is_gone = [](const VpcFloatingIp& /*ip*/) { return false; };
    const driver::ListingWait wait{context.runtime, context.log, "floating IPs"};
    co_await driver::wait_until_gone(wait, listing, awaited, ip.id, is_gone);
  }
}

Task<> remove_instance(VpcContext context, VpcInstance instance, std::function<void()> accepted) {
  CloudView::Instances& listing = context.view.instances();
  co_await request_removal(context, listing, instance, &VpcApi::remove_instance);
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
  const auto is_of_instance = [machine = *instance](const VpcFloatingIp& ip) {
    return ip.name == machine.name && ip.group == machine.group &&
           (ip.target.empty() || ip.target == machine.interface_id);
  };
  co_await remove_floating_ips(context, is_of_instance);
  co_await context.api.remove_instance(id);
}

}  // namespace nodepool::drivers::ibmvpc
