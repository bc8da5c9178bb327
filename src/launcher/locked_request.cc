#include "launcher/locked_request.h"

#include <fmt/format.h>

#include <chrono>
#include <set>

#include "coordination/tree.h"
#include "launcher/launcher_metrics.h"
#include "launcher/request_wait.h"
#include "model/failure_text.h"
#include "model/paths.h"
#include "planning/decision.h"

namespace nodepool::launcher {

using coordination::LockSet;
using coordination::TransactionError;
using model::NodeRequest;
using model::RequestState;

LockedRequest::LockedRequest(const ServingContext& context, planning::PoolIdentity pool,
                             std::string id)
    : context_(context),
      pool_(std::move(pool)),
      id_(std::move(id)),
      log_(context.log.child(fmt::format("NodeRequestHandler.{}-{}", pool_.provider, pool_.name))),
      locks_(context.store, context.runtime.random) {
  if (const NodeRequest* request = record()) {
    log_ = log_.about(request->event_id.value_or(""), id_);
  }
  request_lock_ = locks_.add(model::request_lock_path(id_), /*root_exists=*/false);
}

const NodeRequest* LockedRequest::record() const {
  return context_.records.requests.find(id_);
}

void LockedRequest::add_node(std::string id) {
  RequestedNode wanted{std::move(id), 0};
  if (!wanted.node_id.empty()) {
    wanted.lock = locks_.add(model::node_lock_path(wanted.node_id),
                             context_.records.nodes.has_lock_root(wanted.node_id));
  }
  nodes_.push_back(std::move(wanted));
}

// Creates the root of all requests' locks again if it was removed.
async::Task<LockSet::Outcome> LockedRequest::take() {
  LockSet::Outcome taken = co_await locks_.try_acquire();
  if (taken.kind == LockSet::Outcome::Kind::gone && taken.index == request_lock_) {
    co_await coordination::ensure_path(context_.store, std::string(model::kRequestLocksRoot));
    taken = co_await locks_.try_acquire();
  }
  co_return taken;
}

async::Task<bool> LockedRequest::commit_last(model::RecordBatch batch, std::string_view refusal) {
  locks_.release_in(batch.transaction(), request_lock_);
  try {
    co_await batch.commit_until_known(context_.runtime, context_.store);
  } catch (const TransactionError& error) {
    rethrow_argument_error(error);
    log_.debug("{}, a record has changed meanwhile: {}", refusal, error.what());
    co_return false;
  }
  locks_.released();
  co_return true;
}

void LockedRequest::decline_in(NodeRequest& request, const planning::Reason& reason) const {
  const std::string text = model::failure_text(sentence(reason));
  context_.history.declines(id_, pool_.id, reason);
  if (!request.declined(pool_.id)) {
    request.declined_by.push_back(pool_.id);
    request.decline_reasons[pool_.id] = text;
  }
  const bool failed = planning::declined_by_all(request, context_.records.components.pools()) &&
                      context_.expected_pool(request).empty();
  request.set_state(failed ? RequestState::failed : RequestState::requested,
                    context_.runtime.clock.wall_seconds());
  log_.info("Declining node request because: {}", text);
  if (failed) log_.info("Request failed: all pools have declined it");
}

void LockedRequest::report_end(const NodeRequest& request) const {
  const bool is_over =
      request.state == RequestState::fulfilled || request.state == RequestState::failed;
  const std::optional<double> seconds = wait_of(request, context_.runtime.clock.wall_seconds());
  if (!is_over || !seconds) return;
  const std::chrono::duration<double> wait(*seconds);
  // Other labels are any text from a requestor.
  const std::set<std::string_view> offered = context_.records.components.supported_labels();
  for (const std::string& label : std::set(request.node_types.begin(), request.node_types.end())) {
    if (!offered.contains(label)) continue;
    context_.metrics.time(telemetry::series<kRequestWait>(label, to_string(request.state)),
                          std::chrono::duration_cast<std::chrono::nanoseconds>(wait));
  }
}

void rethrow_argument_error(const TransactionError& error) {
  if (error.is_argument_error()) throw TransactionError(error);
}

}  // namespace nodepool::launcher
