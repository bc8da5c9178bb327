#include "drivers/azure/vm_removal.h"

#include <algorithm>
#include <optional>

#include "driver/cloud_error.h"
#include "driver/statemachine/wait_in_listing.h"
#include "drivers/azure/names.h"
#include "drivers/azure/poll_intervals.h"

namespace nodepool::drivers::azure {

using async::Task;
using driver::CloudError;

namespace {

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
  const auto removal_of = [](const VirtualMachine& machine) {
    return machine.is_going() ? driver::Removal::in_progress : driver::Removal::not_begun;
  };
  const std::function<Task<bool>()> is_gone = [&context, &name] {
    return context.manager.is_gone(kMachineType, name);
  };
  const driver::ListingWait wait{context.runtime, context.log, "virtual machines"};
  co_await driver::wait_until_gone(wait, context.view.machines(), awaited, name, removal_of,
                                   kConsistencyDelay, is_gone);
  if (const auto taken = awaited.taken()) times.learn(*taken);
}

// Whether the machine belongs to others. One that is not listed may have been made since.
Task<bool> is_of_others(VmContext context, std::string name) {
  const auto list = co_await context.view.machines().get(kListAge);
  if (const VirtualMachine* machine = list->find(name)) {
    co_return is_foreign(context, machine->tags);
  }
  const std::optional<cloud::Element> found = co_await context.manager.get(kMachineType, name);
  if (!found) co_return false;
  co_return is_foreign(context, read_resource(*found).tags);
}

}  // namespace

Task<> remove_vm(VmContext context, std::string name, std::function<void()> accepted) {
  if (co_await is_of_others(context, name)) {
    context.log.warning(
        "Virtual machine {} belongs to another provider or installation, not "
        "deleting it",
        name);
    co_return;
  }
  const auto removing = co_await context.manager.remove(kMachineType, name);
  if (!removing) {
    throw CloudError(CloudError::Kind::not_found, "virtual machine " + name + " does not exist");
  }
  if (accepted) accepted();
  co_await wait_until_vm_is_gone(context, name);
}

}  // namespace nodepool::drivers::azure
