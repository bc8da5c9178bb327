#include "launcher/requests_in_progress.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "launcher/trouble.h"

namespace nodepool::launcher {

namespace {

using model::Node;
using model::NodeRequest;
using Outcome = NodeRequestHandler::Outcome;

// Before the next attempt at a request that another process has locked. Request locks cause no
// events, and are held shortly, for example to change the priority.
constexpr auto kLockedPause = std::chrono::milliseconds(250);

// Before the next attempt after the store failed.
constexpr auto kFailurePause = std::chrono::seconds(1);

}  // namespace

RequestsInProgress::RequestsInProgress(const ServingContext& context,
                                       const planning::PoolIdentity& pool,
                                       planning::PoolStock& stock, telemetry::Logger log,
                                       async::TaskScope& scope, Observer observer)
    : context_(context),
      pool_(pool),
      stock_(stock),
      log_(std::move(log)),
      scope_(scope),
      observer_(std::move(observer)) {}

// --- handlers

void RequestsInProgress::fulfil(const NodeRequest& request, ProviderInService provider,
                                planning::Verdict verdict) {
  ids_.insert(request.id);
  const std::vector<std::string>& plan = verdict.reservation.plan;
  // Those for idle nodes have a pace of their own, and would end if they had to wait for a trial.
  const bool tries = request.requestor != planning::kMinReadyRequestor;
  for (std::size_t i = 0; tries && i < plan.size(); ++i) {
    if (plan[i].empty()) provider.quota->begin_launches({pool_.name, request.node_types[i]});
  }
  reserve(request, provider, std::move(verdict.reservation));
  scope_.spawn("request " + request.id,
               run_fulfilment(request.id, std::move(provider), std::move(verdict.bounds),
                              context_.handled_requests.mark(request.id)));
}

Task<> RequestsInProgress::run_fulfilment(std::string request_id, ProviderInService provider,
                                          planning::QuotaBounds bounds,
                                          HandledRequests::Mark mark) {
  NodeRequestHandler handler(context_, pool_, request_id);
  Task<Outcome> serving =
      handler.fulfil(std::move(provider), reservations_.at(request_id)->plan(), std::move(bounds));
  const Result result = co_await result_of(request_id, std::move(serving));
  drop_reservation(request_id);
  if (result == Result::too_large) {
    co_await run_decline(std::move(request_id),
                         planning::Reason{planning::Reason::Code::too_large_for_transaction},
                         std::move(mark));
  } else {
    mark.release();
    co_await end(std::move(request_id), result);
  }
}

void RequestsInProgress::decline(const NodeRequest& request, planning::Reason reason) {
  ids_.insert(request.id);
  scope_.spawn("request " + request.id, run_decline(request.id, std::move(reason),
                                                    context_.handled_requests.mark(request.id)));
}

Task<> RequestsInProgress::run_decline(std::string request_id, planning::Reason reason,
                                       HandledRequests::Mark mark) {
  NodeRequestHandler handler(context_, pool_, request_id);
  Task<Outcome> declining = handler.decline(std::move(reason));
  const Result result = co_await result_of(request_id, std::move(declining));
  mark.release();
  if (result == Result::too_large) {
    ids_.erase(request_id);
    context_.about(log_, request_id)
        .error("Cannot serve or decline the request: its record is too large for the store");
    co_return;
  }
  co_await end(std::move(request_id), result);
}

Task<> RequestsInProgress::resume(std::string request_id, ProviderInService provider) {
  ids_.insert(request_id);
  context_.history.resumed(request_id, pool_.id);
  const auto is_unfinished = [this](const std::string& id) {
    const model::NodeState state = context_.records.nodes.find(id)->state;
    return state != model::NodeState::ready && !is_discarded(state);
  };
  reserve(*context_.records.requests.find(request_id), provider,
          {.launches = std::ranges::count_if(context_.records.nodes.allocated_to(request_id),
                                             is_unfinished)});
  NodeRequestHandler handler(context_, pool_, request_id);
  Task<Outcome> resuming = handler.resume(std::move(provider));
  const Result result = co_await result_of(request_id, std::move(resuming));
  drop_reservation(request_id);
  if (result == Result::too_large) {
    context_.about(log_, request_id)
        .error("Cannot resume the request: the transaction is too large for the store");
  }
  co_await end(std::move(request_id), result);
}

// Waits for a handler's work, and logs a failure.
Task<RequestsInProgress::Result> RequestsInProgress::result_of(std::string request_id,
                                                               Task<Outcome> work) {
  try {
    switch (co_await std::move(work)) {
      case Outcome::done:
        co_return Result::done;
      case Outcome::try_again:
        co_return Result::try_again;
      case Outcome::locked:
        co_return Result::locked;
    }
  } catch (const async::Cancelled&) {
    throw;
  } catch (const std::exception& error) {
    const auto* refusal = dynamic_cast<const coordination::StoreError*>(&error);
    if (refusal != nullptr && refusal->kind() == coordination::StoreError::Kind::too_large) {
      co_return Result::too_large;
    }
    log_failure(context_.about(log_, request_id), "Could not serve the request", error);
  }
  co_return Result::failed;
}

// --- reservations

void RequestsInProgress::reserve(const NodeRequest& request, const ProviderInService& provider,
                                 planning::ReservationSpec reservation) {
  reservations_[request.id] = std::make_unique<planning::Reservation>(
      stock_, context_.usage, provider.quota->launches(), pool_, request.id,
      request.tenant_name.value_or(""), std::move(reservation));
}

// Reserved nodes that were not used become free without a change of a record.
void RequestsInProgress::drop_reservation(const std::string& request_id) {
  const auto reservation = reservations_.find(request_id);
  const std::vector<std::string> plan = reservation->second->plan();
  reservations_.erase(reservation);
  for (const std::string& id : plan) observer_.no_longer_reserved(id);
}

void RequestsInProgress::drop_reservations() {
  while (!reservations_.empty()) drop_reservation(std::string(reservations_.begin()->first));
}

// --- after a handler

// Evaluates the request again if it still waits. During a long pause, no event has it evaluated.
Task<> RequestsInProgress::end(std::string request_id, Result result) {
  async::Duration pause = pause_after(request_id, result);
  if (result == Result::try_again && pause > RetryPauses::kPause) {
    co_await context_.runtime.clock.sleep_for(std::exchange(pause, {}));
  }
  ids_.erase(request_id);
  observer_.handler_ended();
  if (pause > async::Duration::zero()) co_await context_.runtime.clock.sleep_for(pause);
  observer_.evaluate(request_id);
}

async::Duration RequestsInProgress::pause_after(const std::string& request_id, Result result) {
  switch (result) {
    case Result::try_again:
      return retries_.after_outdated(request_id, context_.runtime.clock.now());
    case Result::done:
      retries_.forget(request_id);
      return {};
    case Result::locked:
      return kLockedPause;
    case Result::too_large:
    case Result::failed:
      break;
  }
  return kFailurePause;
}

}  // namespace nodepool::launcher
