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

constexpr std::string_view kDeleting = "deleting";                 // the status of either
constexpr std::string_view kThings = "instances or floating IPs";  // for the log

// Maximum age of a listing from which an instance is deleted: its id and its owner do not change.
// If IBM does not find that id, a newer listing decides.
constexpr async::Duration kIdAge = std::chrono::seconds(20);

bool is_foreign(const driver::Ownership& ownership, const driver::Metadata& tags) {
  using Maker = driver::Ownership::Maker;
  const Maker maker = ownership.maker_of(tags);
  return maker == Maker::other_provider || maker == Maker::other_installation;
}

// The instances with a node's name in a listing.
struct Namesakes {
  std::optional<VpcInstance> own;
  std::set<std::string> foreign;  // network interfaces of those of others
};

// Names are those of nodes, so that two installations in a region may want the same.
Namesakes namesakes_in(const CloudView::InstanceList& list, const driver::Ownership& ownership,
                       const std::string& name) {
  Namesakes found;
  for (const VpcInstance& candidate : list.all()) {
    if (candidate.name != name) continue;
    if (is_foreign(ownership, owner_tags(name, candidate.group, candidate.boot_disk_name))) {
      found.foreign.insert(candidate.interface_id);
    } else {
      found.own = candidate;
    }
  }
  return found;
}

// From a listing that was sent at most `max_age` ago if that shows an instance to delete. Names
// are unique: if its deletion is accepted, no other instance has the name. Otherwise from a listing
// that was sent after this call.
Task<Namesakes> find_namesakes(VpcContext context, const driver::Ownership& ownership,
                               std::string name, async::Duration max_age) {
  const auto begun = context.runtime.clock.now();
  CloudView::Instances& listing = context.view.instances();
  CloudView::Instances::Pointer list = co_await listing.get(max_age);
  Namesakes found = namesakes_in(*list, ownership, name);
  if (found.own && found.own->status != kDeleting) co_return found;
  list = co_await listing.get(context.runtime.clock.now() - begun);
  co_return namesakes_in(*list, ownership, name);
}

// Begins to delete a thing with `remove`, a function of VpcApi, and returns when that has been
// accepted; false if IBM does not find the thing. IBM refuses it while the thing is being made, and
// while it is being deleted.
template <typename Things, typename Remove>
Task<bool> request_removal(VpcContext context, driver::SharedPoller<Things>& listing,
                           typename Things::Thing thing, Remove remove) {
  driver::PollWaiter changed = listing.await_earlier();
  while (thing.status != kDeleting) {
    try {
      co_return co_await (context.api.*remove)(thing.id);
    } catch (const CloudError& error) {
      if (error.kind() != CloudError::Kind::transient) throw;
      context.log.info("{} is {}, deleting it later: {}", thing.name, thing.status, error.what());
    }
    const auto list = co_await driver::if_answered(listing.next(changed), kThings, context.log);
    const auto* found = list ? list->find(thing.id) : nullptr;
    if (found != nullptr) thing = *found;
  }
  co_return true;
}

// Begins to delete the node's instance after IBM has not found the listed id: if that is from
// before the deletion began, the instance may have been replaced since.
Task<Namesakes> request_current_removal(VpcContext context, const driver::Ownership& ownership,
                                        std::string name, async::Clock::TimePoint begun) {
  const async::Duration age = context.runtime.clock.now() - begun;
  Namesakes found = co_await find_namesakes(context, ownership, std::move(name), age);
  if (found.own) {
    co_await request_removal(context, context.view.instances(), *found.own,
                             &VpcApi::remove_instance);
  }
  co_return found;
}

// Begins to delete the floating IPs that fit; returns the ids of those that exist.
template <typename Fits>
Task<std::vector<std::string>> request_ip_removal(VpcContext context, Fits fits) {
  CloudView::FloatingIps& listing = context.view.floating_ips();
  const auto list = co_await listing.get(async::Duration::zero());
  std::vector<std::string> ids;
  for (const VpcFloatingIp& ip : list->all()) {
    if (!fits(ip)) continue;
    const bool exists = co_await request_removal(context, listing, ip, &VpcApi::remove_floating_ip);
    if (exists) ids.push_back(ip.id);
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
    return thing.status == kDeleting ? driver::Removal::in_progress : driver::Removal::not_begun;
  };
  const std::function<Task<bool>()> confirm = [&context, &id, is_gone] {
    return (context.api.*is_gone)(id);
  };
  const driver::ListingWait wait{context.runtime, context.log, kThings};
  co_await driver::wait_until_gone(wait, listing, awaited, id, removal_of, kConsistencyDelay,
                                   confirm);
  if (const auto taken = awaited.taken()) times.learn(*taken);
}

// The same for a floating IP. Most are gone before their instance, so that no listing would show
// the deletion.
Task<> wait_for_ip_end(VpcContext context, std::string id) {
  Task<bool> asking = context.api.is_floating_ip_gone(id);
  if (co_await driver::if_answered(std::move(asking), kThings, context.log)) co_return;
  co_await wait_for_end(context, context.view.floating_ips(), id, context.view.ip_removal_times(),
                        &VpcApi::is_floating_ip_gone);
}

}  // namespace

Task<> remove_machine(VpcContext context, const driver::Ownership& ownership,
                      MachineRemoval removal) {
  const std::string& name = removal.name;
  const async::Duration max_age = removal.has_no_floating_ip ? kIdAge : async::Duration::zero();
  const auto begun = context.runtime.clock.now();
  Namesakes found = co_await find_namesakes(context, ownership, name, max_age);
  if (!found.own && !found.foreign.empty()) {
    context.log.warning("Instance {} belongs to another provider or installation, not deleting it",
                        name);
    co_return;
  }
  CloudView& view = context.view;
  std::vector<std::string> ips;
  if (!removal.has_no_floating_ip) {
    const auto is_of_node = [&](const VpcFloatingIp& ip) {
      return ip.name == name && !found.foreign.contains(ip.target) &&
             !is_foreign(ownership, owner_tags(name, ip.group, ""));
    };
    ips = co_await request_ip_removal(context, is_of_node);
  }
  if (found.own) {
    const bool is_found =
        co_await request_removal(context, view.instances(), *found.own, &VpcApi::remove_instance);
    if (!is_found && removal.has_no_floating_ip)
      found = co_await request_current_removal(context, ownership, name, begun);
  }
  if (found.own) {
    if (removal.accepted) removal.accepted();
    co_await wait_for_end(context, view.instances(), found.own->id, view.removal_times(),
                          &VpcApi::is_instance_gone);
  }
  for (const std::string& ip : ips) co_await wait_for_ip_end(context, ip);
  if (!found.own) {
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
