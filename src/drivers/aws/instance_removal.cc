#include "drivers/aws/instance_removal.h"

namespace nodepool::drivers::aws {

using async::Task;

namespace {

Task<> wait_until_terminated(MachineContext context, std::string id) {
  driver::Awaited awaited = context.view.instances().await_removal();
  while (true) {
    const auto list = co_await instances_if_answered(context, awaited);
    if (!list) continue;
    const Ec2Instance* instance = list->find(id);
    if (instance == nullptr || instance->is_gone()) co_return;
  }
}

Task<> release_host(MachineContext context, std::string id) {
  const bool was_there = co_await context.ec2.release_host(id);
  if (!was_there) co_return;
  while (true) {
    const auto list = co_await context.view.hosts(async::Duration::zero());
    const DedicatedHost* host = list->find(id);
    if (host == nullptr || host->is_gone()) co_return;
    co_await context.runtime.clock.sleep_for(context.pace.poll);
  }
}

}  // namespace

Task<> remove_machine(MachineContext context, ExternalId id, std::function<void()> accepted) {
  if (!id.instance.empty()) {
    const bool was_there = co_await context.terminator.terminate(id.instance);
    if (was_there && accepted) accepted();
    if (was_there) co_await wait_until_terminated(context, id.instance);
  }
  if (!id.host.empty()) co_await release_host(context, id.host);
}

}  // namespace nodepool::drivers::aws
