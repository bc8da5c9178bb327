#include "drivers/ibmvpc/instance_removal.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "driver/cloud_error.h"
#include "driver/statemachine/wait_in_listing.h"
#include "drivers/ibmvpc/owner_names.h"

namespace nodepool::drivers::ibmvpc {

using async::Task;
using driver::CloudError;

namespace {

constexpr std::string_view kThings = "instances or floating IPs";  // for the log

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
    const auto list = co_await driver::if_answered(listing.next(changed), kThings, context.log);
    const auto* found = list ? list->find(thing.id) : nullptr;
    if (found != nullptr) thing = *found;
  }
}

// Begins to delete the floating IPs that fit; returns their ids.
template <typename Fits>
Task<std::vector<std::string>> request_ip_removal(VpcContext context, Fits fits) {
  CloudView::FloatingIps& listing = context.view.floating_ips();
  const auto list = co_await listing.get(async::Duration::zero());
  std::vector<std::string> ids;
  for (const VpcFloatingIp& ip : list->all()) {
    if (!fits(ip)) continue;
    co_await request_removal(context, listing, ip, &VpcApi::remove_floating_ip);
    ids.push_back(ip.id);
  }
  co_return ids;
}

// Returns when the thing is gone, whose deletion has just been requested. `is_gone`: a function of
// VpcApi.
template <typename Things, typename IsGone>
Task<> wait_for_end(VpcContext context, driver::SharedPoller<Things>& listing, std::string id,
                    driver::BootTimes& times, IsGone is_gone) {
  driver::PollWaiter awaited = listing.await_removal();
  awaited.expected = times.expectation();
  // A deletion is less urgent than a launch.
  if (awaited.expected) {
    awaited.expected->step = std::max(awaited.expected->step, kPollInterval);
  }
  const auto removal_of = [](const typename Things::Thing& thing) {
    return thing.status == "deleting" ? driver::Removal::in_progress : driver::Removal::not_begun;
  };
  const std::function<Task<bool>()> confirm = [&context, &id, is_gone] {
    return (context.api.*is_gone)(id);
  };
  const driver::ListingWait wait{context.runtime, context.log, kThings};
  co_await driver::wait_until_gone(wait, listing, awaited, id, removal_of, kConsistencyDelay,
                                   confirm);
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
  CloudView& view = context.view;
  const std::vector<std::string> ips = co_await request_ip_removal(context, is_of_node);
  if (instance) {
    co_await request_removal(context, view.instances(), *instance, &VpcApi::remove_instance);
    if (accepted) accepted();
    co_await wait_for_end(context, view.instances(), instance->id, view.removal_times(),
                          &VpcApi::is_instance_gone);
  }
  for (const std::string& ip : ips) {
    co_await wait_for_end(context, view.floating_ips(), ip, view.ip_removal_times(),
                          &VpcApi::is_floating_ip_gone);
  }
  if (!instance) {
    throw CloudError(CloudError::Kind::not_found, "no instance " + name + " is listed");
  }
}

Task<> begin_removal(VpcContext context, std::string id) {
  const auto list = co_await context.view.instances().get(kPollInterval);
  const VpcInstance* instance = list->find(id);
  if (instance == nullptr) co_return;
  const auto is_of_instance = [machine = *instance](const VpcFloatingIp& ip) {
    return ip.name == machine.name && ip.group == machine.group &&
           (ip.target.empty() || ip.target == machine.interface_id);
  };
  co_await request_ip_removal(context, is_of_instance);
  co_await context.api.remove_instance(id);
}

}  // namespace nodepool::drivers::ibmvpc
