#include "drivers/aws/instance_removal.h"

namespace nodepool::drivers::aws {

using async::Task;

Task<> remove_machine(MachineContext context, ExternalId id, std::function<void()> accepted) {
  if (id.instance.empty()) co_return;
  const bool was_there = co_await context.terminator.terminate(id.instance);
  if (!was_there) co_return;
  if (accepted) accepted();
  driver::Awaited awaited = context.view.instances().await_removal();
  while (true) {
    const auto list = co_await instances_if_answered(context, awaited);
    if (!list) continue;
    const Ec2Instance* instance = list->find(id.instance);
    if (instance == nullptr || instance->is_gone()) co_return;
  }
}

}  // namespace nodepool::drivers::aws
