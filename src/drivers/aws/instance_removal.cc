#include "drivers/aws/instance_removal.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "driver/cloud_error.h"
#include "driver/ownership.h"
#include "driver/statemachine/wait_in_listing.h"
#include "drivers/aws/poll_intervals.h"

namespace nodepool::drivers::aws {

using async::Task;

namespace {

Task<> wait_until_terminated(MachineContext context, std::string id) {
  driver::BootTimes& times = context.view.removal_times();
  driver::PollWaiter awaited = context.view.instances().await_removal();
  awaited.expected = times.expectation();
  // A termination is less urgent than a launch.
  if (awaited.expected) {
    awaited.expected->step = std::max(awaited.expected->step, kPollInterval);
  }
  const auto removal_of = [](const Ec2Instance& instance) {
    if (instance.is_gone()) return driver::Removal::done;
    return instance.is_going() ? driver::Removal::in_progress : driver::Removal::not_begun;
  };
  const std::function<Task<bool>()> is_gone = [&context, &id] { return context.ec2.is_gone(id); };
  const driver::ListingWait wait{context.runtime, context.log, "instances"};
  const auto last = co_await driver::wait_until_gone(wait, context.view.instances(), awaited, id,
                                                     removal_of, kConsistencyDelay, is_gone);
  const auto taken = awaited.taken();
  if (taken && last) times.learn(*taken);
}

// Returns whether the instance existed. EC2 may neither find nor list a new one yet, so an instance
// is gone only if it is listed as ended, or if both still lack it after the delay. It may also
// belong to another account.
Task<bool> request_termination(MachineContext context, std::string id) {
  for (const bool is_last : {false, true}) {
    const bool was_there = co_await context.terminator.terminate(id);
    if (was_there) co_return true;
    const auto list = co_await context.view.instances().get(kPollInterval);
    const Ec2Instance* instance = list->find(id);
    if (instance != nullptr && instance->is_going()) co_return false;
    if (instance != nullptr) {
      throw driver::CloudError(driver::CloudError::Kind::transient,
                               "EC2 lists instance " + id + ", but does not find it");
    }
    if (!is_last) co_await context.runtime.clock.sleep_for(kConsistencyDelay);
  }
  context.log.warning("Instance {} does not exist, nothing to delete", id);
  co_return false;
}

Task<> release_host(MachineContext context, std::string id) {
  const bool was_there = co_await context.ec2.release_host(id);
  if (!was_there) co_return;
  while (true) {
    const auto list = co_await driver::if_answered(context.view.hosts(async::Duration::zero()),
                                                   "dedicated hosts", context.log);
    const DedicatedHost* host = list ? list->find(id) : nullptr;
    if (list && (host == nullptr || host->is_gone())) co_return;
    co_await context.runtime.clock.sleep_for(kPollInterval);
  }
}

// The instances to terminate. A Python launcher writes the id of an instance into the node's record
// only when it runs: if it is killed before, the record has just the host, which EC2 does not
// release while it is occupied.
Task<std::vector<std::string>> instances_of(MachineContext context, ExternalId id,
                                            driver::Metadata owner) {
  std::vector<std::string> ids;
  if (!id.instance.empty()) ids.push_back(id.instance);
  if (!ids.empty() || owner.empty()) co_return ids;
  const auto list = co_await context.view.instances().get(kPollInterval);
  for (const Ec2Instance& instance : list->all()) {
    const bool is_on_host = instance.host_id == id.host && !instance.is_gone();
    if (is_on_host && driver::carries(instance.tags, owner)) ids.push_back(instance.id);
  }
  co_return ids;
}

}  // namespace

Task<> remove_machine(MachineContext context, ExternalId id, driver::Metadata owner,
                      std::function<void()> accepted) {
  const std::vector<std::string> instances = co_await instances_of(context, id, std::move(owner));
  for (const std::string& instance : instances) {
    const bool was_there = co_await request_termination(context, instance);
    if (!was_there) continue;
    if (accepted) accepted();
    co_await wait_until_terminated(context, instance);
  }
  if (!id.host.empty()) co_await release_host(context, id.host);
}

}  // namespace nodepool::drivers::aws
