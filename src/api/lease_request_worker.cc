#include "api/lease_request_worker.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "requestor/lease_request.h"
#include "telemetry/log_errors.h"

namespace nodepool::api {

using async::Task;
using coordination::StoreError;
using model::NodeRequest;
using model::RequestState;

namespace {

constexpr double kPeerPrecedence = 2;  // seconds left to the launcher that received the request
constexpr double kRetryPause = 1;      // seconds
constexpr auto kKeyPause = std::chrono::hours(6);
constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

LeaseRequestWorker::LeaseRequestWorker(const async::Runtime& runtime, coordination::Store& store,
                                       model::Records& records, LeaseIndex& lease_index,
                                       const telemetry::Logger& log)
    : runtime_(runtime),
      store_(store),
      records_(records),
      lease_index_(lease_index),
      log_(log),
      scope_(runtime, telemetry::log_errors(log)) {}

void LeaseRequestWorker::start() {
  changes_ = lease_index_.observe_all([this](const std::string& id) { reevaluate(id); });
  for (const auto& [id, entry] : lease_index_.all()) reevaluate(id);
  scope_.spawn("lease requests", run());
  scope_.spawn("idempotency keys", remove_old_keys());
}

Task<> LeaseRequestWorker::stop() {
  changes_.reset();
  co_await scope_.stop();
}

void LeaseRequestWorker::adopt(const std::string& id) {
  adopted_.insert(id);
  reevaluate(id);
}

void LeaseRequestWorker::reevaluate(const std::string& id) {
  const LeaseIndex::Entry* entry = lease_index_.find(id);
  if (entry == nullptr || !entry->lease_request) return forget(id);
  schedule(id, due(id));
}

// When the request needs its next step, in seconds since the epoch.
double LeaseRequestWorker::due(const std::string& id) const {
  const NodeRequest* request = records_.requests.find(id);
  if (request == nullptr) return kNever;
  if (request->state == RequestState::failed) return request->state_time + kFailureRetention;
  if (request->state == RequestState::fulfilled) {
    return adopted_.contains(id) ? 0 : request->state_time + kPeerPrecedence;
  }
  return lease_index_.find(id)->lease_request->expires;
}

void LeaseRequestWorker::schedule(const std::string& id, double when) {
  const auto found = due_.find(id);
  if (found != due_.end()) {
    if (found->second == when) return;
    next_due_.erase({found->second, id});
  }
  due_[id] = when;
  next_due_.emplace(when, id);
  if (next_due_.begin()->second == id) changed_.set();
}

void LeaseRequestWorker::forget(const std::string& id) {
  adopted_.erase(id);
  const auto found = due_.find(id);
  if (found == due_.end()) return;
  next_due_.erase({found->second, id});
  due_.erase(found);
}

Task<> LeaseRequestWorker::run() {
  while (true) {
    co_await records_.until_ready();
    const double now = runtime_.clock.wall_seconds();
    while (!next_due_.empty() && next_due_.begin()->first <= now) {
      const std::string id = next_due_.begin()->second;
      schedule(id, now + kRetryPause);
      if (in_progress_.insert(id).second) scope_.spawn("lease request " + id, serve(id));
    }
    constexpr double kLongestSleep = 3600;  // the wall clock may jump
    const double next = next_due_.empty() ? kLongestSleep : next_due_.begin()->first - now;
    const std::chrono::duration<double> pause(std::min(next, kLongestSleep));
    const auto until = runtime_.clock.now() + std::chrono::duration_cast<async::Duration>(pause);
    co_await changed_.wait_until(runtime_.clock, until);
  }
}

Task<> LeaseRequestWorker::serve(std::string id) {
  std::string failure;
  try {
    co_await complete(id);
  } catch (const StoreError& error) {
    failure = error.what();
  } catch (...) {
    in_progress_.erase(id);
    throw;
  }
  in_progress_.erase(id);
  if (failure.empty()) co_return;
  log_.about({}, id, {}).warning("Processing the lease request failed, retrying: {}", failure);
}

Task<> LeaseRequestWorker::complete(std::string id) {
  const NodeRequest* request = records_.requests.find(id);
  if (request == nullptr) co_return;
  const telemetry::Logger log = log_.about(request->event_id.value_or(""), id, {});
  if (request->state == RequestState::fulfilled) {
    const auto leased = co_await requestor::serve_lease_request(runtime_, store_, id);
    if (leased) {
      log.info("Leased {} nodes to {}", leased->nodes.size(), leased->lease.owner);
    }
    co_return;
  }
  const bool is_failed = request->state == RequestState::failed;
  const requestor::RequestEnd end =
      co_await requestor::end_lease_request(store_, id, request->stat.version);
  if (end == requestor::RequestEnd::removed && !is_failed)
    log.info("Withdrew the lease request: it has expired");
}

Task<> LeaseRequestWorker::remove_old_keys() {
  while (true) {
    try {
      co_await requestor::remove_old_keys(runtime_, store_);
    } catch (const StoreError& error) {
      log_.debug("Removing old idempotency keys failed, retrying later: {}", error.what());
    }
    co_await runtime_.clock.sleep_for(kKeyPause);
  }
}

}  // namespace nodepool::api
