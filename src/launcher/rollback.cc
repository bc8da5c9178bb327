#include "launcher/rollback.h"

#include "model/paths.h"

namespace nodepool::launcher {

namespace {

using coordination::StoreError;
using model::Node;
using model::NodeRequest;
using model::NodeState;
using model::RecordBatch;
using model::RequestState;
using planning::Reason;

// Removes the record of a node that was never locked, and so has no machine. DeletedNodeWorker
// reclaims a node that is not ready once it is unlocked. Changes nothing if another process has
// fulfilled or reset the request.
void free_node_in(RecordBatch& batch, const LockedRequest& request, const RequestedNode& wanted) {
  if (wanted.node_id.empty()) return;  // it has no record yet
  model::NodeTable& nodes = request.context().records.nodes;
  const NodeRequest* record = request.record();
  const Node* node = nodes.find(wanted.node_id);
  const bool is_ours = (record == nullptr || record->state == RequestState::pending) &&
                       node != nullptr && node->allocated_to == request.id();
  if (!request.locks().held(wanted.lock)) {
    if (is_ours && node->state == NodeState::init) {
      batch.transaction().remove(model::node_path(node->id), node->stat.version);
    }
    return;
  }
  if (is_ours && node->state == NodeState::ready) {
    Node copy = *node;
    copy.allocated_to.reset();
    batch.write(nodes, std::move(copy));
  }
  request.locks().release_in(batch.transaction(), wanted.lock);
}

// The check of the request's version, in the write, proves that it was not fulfilled meanwhile.
void reset_in(RecordBatch& batch, const LockedRequest& request, const Reason& reason) {
  const NodeRequest* current = request.record();
  if (current != nullptr && current->state == RequestState::pending) {
    NodeRequest copy = *current;
    copy.set_state(RequestState::requested, request.context().runtime.clock.wall_seconds());
    if (reason.code != Reason::Code::none) request.decline_in(copy, reason);
    batch.write(request.context().records.requests, std::move(copy));
  }
  request.locks().release_in(batch.transaction(), request.request_lock());
}

async::Task<bool> commit_part(const LockedRequest& request, RecordBatch batch) {
  try {
    co_await batch.commit_until_known(request.context().runtime, request.context().store);
  } catch (const StoreError& error) {
    request.log().debug("Could not roll back in this transaction: {}", error.what());
    co_return false;
  }
  co_return true;
}

async::Task<> roll_back_one_by_one(LockedRequest& request, Reason reason) {
  const ServingContext& context = request.context();
  const std::string path = model::request_path(request.id());
  // A deleted request never comes back.
  const bool is_gone = !co_await context.store.exists(path);
  if (is_gone) context.records.requests.removed(request.id());
  for (const RequestedNode& wanted : request.nodes()) {
    if (wanted.node_id.empty()) continue;
    RecordBatch alone;
    const NodeRequest* record = request.record();
    if (record != nullptr) alone.transaction().check(path, record->stat.version);
    // Another launcher that has taken the request over meanwhile has not written it yet.
    if (!is_gone) request.locks().lock(request.request_lock()).check_in(alone.transaction());
    free_node_in(alone, request, wanted);
    if (co_await commit_part(request, std::move(alone))) request.locks().released(wanted.lock);
  }
  RecordBatch alone;
  reset_in(alone, request, reason);
  if (co_await commit_part(request, std::move(alone))) {
    request.locks().released(request.request_lock());
  }
}

}  // namespace

async::Task<> roll_back(LockedRequest& request, Reason reason) {
  RecordBatch batch;
  for (const RequestedNode& wanted : request.nodes()) free_node_in(batch, request, wanted);
  reset_in(batch, request, reason);
  if (co_await commit_part(request, std::move(batch))) {
    request.locks().released();
    if (const NodeRequest* record = request.record()) request.report_end(*record);
  } else {
    co_await roll_back_one_by_one(request, std::move(reason));
  }
}

}  // namespace nodepool::launcher
