#include "drivers/azure/vm_removal.h"

#include <algorithm>
#include <map>
#include <vector>

#include "driver/cloud_error.h"
#include "driver/statemachine/wait_in_listing.h"
#include "drivers/azure/names.h"
#include "drivers/azure/poll_intervals.h"

namespace nodepool::drivers::azure {

using async::Task;
using driver::CloudError;

namespace {

// Between two calls to delete a resource that is in use.
constexpr async::Duration kAskAgain = std::chrono::seconds(10);

bool is_foreign(const VmContext& context, const driver::Metadata& tags) {
  using Maker = driver::Ownership::Maker;
  const Maker maker = context.ownership.maker_of(tags);
  return !tags.empty() && (maker == Maker::other_provider || maker == Maker::other_installation);
}

Task<> wait_until_vm_is_gone(VmContext context, std::string name) {
  driver::BootTimes& times = context.view.removal_times();
  driver::PollWaiter awaited = context.view.machines().await_removal();
  awaited.expected = times.expectation();
  // A deletion is less urgent than a launch.
  if (awaited.expected) {
    awaited.expected->step = std::max(awaited.expected->step, kPollInterval);
  }
  const auto never = [](const VirtualMachine&) { return false; };
  const driver::ListingWait wait{context.runtime, context.log, "virtual machines"};
  co_await driver::wait_until_gone(wait, context.view.machines(), awaited, name, never);
  if (const auto taken = awaited.taken(context.runtime.clock.now())) times.learn(*taken);
}

// A resource that is left of a machine.
struct Remains {
  ResourceType type;
  std::string name;
  bool is_going = false;
};

void add_if_listed(std::vector<Remains>& all, const VmContext& context, const ResourceType& type,
                   const auto& listing, const std::string& name) {
  for (const auto& each : listing) {
    if (lowered(each.name) == name && !is_foreign(context, each.tags)) {
      all.push_back({.type = type, .name = each.name, .is_going = each.is_going()});
    }
  }
}

// In the order in which they can be deleted. Azure deletes most of them with the machine.
Task<std::vector<Remains>> remains_of(VmContext context, std::string host) {
  std::vector<Remains> all;
  const auto interfaces = co_await context.view.interfaces({});
  add_if_listed(all, context, kInterfaceType, *interfaces, interface_name(host));
  const auto addresses = co_await context.view.addresses({});
  add_if_listed(all, context, kAddressType, *addresses, ipv4_address_name(host));
  add_if_listed(all, context, kAddressType, *addresses, ipv6_address_name(host));
  const auto disks = co_await context.view.disks({});
  add_if_listed(all, context, kDiskType, *disks, disk_name(host));
  co_return all;
}

// An interface may be reserved for a machine for some minutes, an address be in use by an interface
// that is being deleted: the caller retries.
Task<> begin_to_remove(VmContext context, Remains part) {
  try {
    co_await context.manager.remove(part.type, part.name);
  } catch (const CloudError& error) {
    if (error.kind() != CloudError::Kind::failed && error.kind() != CloudError::Kind::transient) {
      throw;
    }
    context.log.info("Cannot delete {} {} yet: {}", part.type.what, part.name, error.what());
  }
}

Task<> remove_remains(VmContext context, std::string host) {
  std::map<std::string, async::Clock::TimePoint> asked_at;  // by name
  while (true) {
    const std::vector<Remains> left = co_await remains_of(context, host);
    if (left.empty()) co_return;
    for (const Remains& part : left) {
      const auto now = context.runtime.clock.now();
      const auto asked = asked_at.find(part.name);
      const bool is_asked = asked != asked_at.end() && now - asked->second < kAskAgain;
      const bool is_used =
          part.type.path == kAddressType.path && left.front().type.path == kInterfaceType.path;
      if (part.is_going || is_asked || is_used) continue;
      asked_at[part.name] = now;
      co_await begin_to_remove(context, part);
    }
    co_await context.runtime.clock.sleep_for(kPollInterval);
  }
}

}  // namespace

Task<> remove_vm(VmContext context, std::string name, std::function<void()> accepted) {
  const auto list = co_await context.view.machines().get(kPollInterval);
  const VirtualMachine* machine = list->find(name);
  if (machine != nullptr && is_foreign(context, machine->tags)) {
    context.log.warning(
        "Virtual machine {} belongs to another provider or installation, not "
        "deleting it",
        name);
    co_return;
  }
  const auto removing = co_await context.manager.remove(kMachineType, name);
  if (removing) {
    if (accepted) accepted();
    co_await wait_until_vm_is_gone(context, name);
    co_await context.runtime.clock.sleep_for(kPollInterval);  // for what goes with it
  }
  co_await remove_remains(context, name);
}

}  // namespace nodepool::drivers::azure
