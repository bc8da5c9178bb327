#include "launcher/terminated_machine_detector.h"

#include <map>

#include "model/failure_text.h"
#include "model/record_batch.h"

namespace nodepool::launcher {

namespace {

using model::Node;
using model::NodeState;

// Machines that are being launched or deleted are monitored by those workers.
bool is_monitored(const Node& node) {
  const bool is_kept = node.state == NodeState::ready || node.state == NodeState::in_use ||
                       node.state == NodeState::hold;
  return is_kept && !node.external_id.is_null();
}

bool is_free(const Node& node) {
  return node.state == NodeState::ready && !node.allocated_to;
}

}  // namespace

void set_termination_reason(Node& node, const std::string& reason) {
  if (node.comment.value_or("").empty()) node.comment = model::failure_text(reason);
}

TerminatedMachineDetector::TerminatedMachineDetector(const WorkerContext& context,
                                                     HistoryRecorder& history,
                                                     driver::Provider& provider,
                                                     telemetry::Logger log)
    : context_(context), history_(history), provider_(provider), log_(std::move(log)) {}

Task<> TerminatedMachineDetector::check() {
  if (!context_.records.ready()) co_return;
  std::erase_if(reported_, [this](const std::string& id) {
    return context_.records.nodes.find(id) == nullptr;
  });
  const std::map<std::string, std::string> terminated = co_await provider_.terminated();
  for (const auto& [id, reason] : terminated) co_await handle_terminated(id, reason);
}

Task<> TerminatedMachineDetector::handle_terminated(std::string id, std::string reason) {
  const Node* node = context_.records.nodes.find(id);
  if (node == nullptr || !is_monitored(*node)) co_return;
  if (reported_.insert(id).second) {
    context_.about(log_, *node).warning("The machine of node {} has ended: {}", id, reason);
    history_.machine_ended(id, reason);
  }
  if (is_free(*node)) {
    co_await take_out_of_service(std::move(id), std::move(reason));
  } else {
    co_await comment(std::move(id), std::move(reason));
  }
}

// DeletedNodeWorker reclaims the node. Skips locked nodes, which their holder checks.
Task<> TerminatedMachineDetector::take_out_of_service(std::string id, std::string reason) {
  const auto is_due = [&reason](Node& node) {
    set_termination_reason(node, reason);
    return is_free(node);
  };
  Task<bool> retiring = lifecycle::retire(context_.node_writer(), std::move(id), is_due);
  co_await std::move(retiring);
}

// Writes without the lock, which the holder has. The write fails if the record has changed: the
// next check retries.
Task<> TerminatedMachineDetector::comment(std::string id, std::string reason) {
  Node node = *context_.records.nodes.find(id);
  if (!node.comment.value_or("").empty()) co_return;
  set_termination_reason(node, reason);
  model::RecordBatch batch;
  batch.write(context_.records.nodes, std::move(node));
  try {
    co_await batch.commit(context_.store);
  } catch (const coordination::StoreError& error) {
    if (!error.is_rejection()) throw;
  }
}

}  // namespace nodepool::launcher
