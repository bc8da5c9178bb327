#include "launcher/usability_check.h"

#include <exception>
#include <map>
#include <optional>
#include <ranges>
#include <vector>

#include "async/task_scope.h"
#include "launcher/terminated_machine_detector.h"
#include "lifecycle/node_writer.h"
#include "telemetry/log_errors.h"

namespace nodepool::launcher {

namespace {

using coordination::StoreError;
using model::Node;
using model::NodeState;

struct UsabilityCheck {
  Node node;
  std::size_t lock = 0;
  bool is_usable = false;
  std::optional<std::string> termination_reason = {};
  std::exception_ptr failure = {};

  Task<> run(driver::Provider& provider) {
    try {
      is_usable = co_await provider.is_usable(node.id);
      if (is_usable) co_return;
      std::map<std::string, std::string> terminated = co_await provider.terminated();
      const auto reason = terminated.find(node.id);
      if (reason != terminated.end()) termination_reason = std::move(reason->second);
    } catch (...) {
      failure = std::current_exception();
    }
  }
};

// DeletedNodeWorker reclaims the node once it is unlocked.
Task<> take_out_of_service(LockedRequest& request, const UsabilityCheck& check) {
  const ServingContext& context = request.context();
  Node node = check.node;
  const std::optional<std::string>& reason = check.termination_reason;
  context.about(request.log(), request.id(), node.id)
      .warning("Node {} is not usable, taking it out of service{}{}",
               node.hostname.value_or(node.id), reason ? ": " : "", reason.value_or(""));
  if (reason) {
    set_termination_reason(node, *reason);
    context.history.machine_ended(node.id, *reason);
  }
  node.set_state(NodeState::deleting, context.runtime.clock.wall_seconds());
  try {
    co_await lifecycle::save_locked(context.node_writer(), node, request.locks().lock(check.lock));
  } catch (const StoreError& error) {
    if (!error.is_rejection()) throw;  // another process was faster
  }
}

}  // namespace

Task<bool> all_usable(LockedRequest& request, driver::Provider& provider) {
  const ServingContext& context = request.context();
  std::vector<UsabilityCheck> checks;
  for (const RequestedNode& wanted : request.nodes()) {
    if (wanted.node_id.empty()) continue;
    const Node* node = context.records.nodes.find(wanted.node_id);
    // Another launcher may have been faster, before the locks were taken.
    if (node == nullptr || node->state != NodeState::ready || node->allocated_to) co_return false;
    checks.push_back({*node, wanted.lock});
  }
  async::TaskScope scope(context.runtime, telemetry::log_errors(request.log()));
  for (UsabilityCheck& check : checks | std::views::drop(1)) {
    scope.spawn("check node " + check.node.id, check.run(provider));
  }
  // In this task: a request for one node, the usual one, does not wait for another turn of the
  // loop.
  if (!checks.empty()) co_await checks.front().run(provider);
  co_await scope.join_or_stop();
  bool usable = true;
  for (const UsabilityCheck& check : checks) {
    if (check.failure) std::rethrow_exception(check.failure);
    if (check.is_usable) continue;
    usable = false;
    if (context.records.nodes.find(check.node.id) == nullptr) continue;  // it was removed meanwhile
    co_await take_out_of_service(request, check);
  }
  co_return usable;
}

}  // namespace nodepool::launcher
