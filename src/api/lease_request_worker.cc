#include "api/lease_request_worker.h"

#include <algorithm>
#include <chrono>
#include <ranges>
#include <utility>
#include <vector>

#include "async/backoff.h"
#include "requestor/lease_request.h"
#include "telemetry/log_errors.h"

namespace nodepool::api {

using async::Task;
using coordination::StoreError;
using model::NodeRequest;
using model::RequestState;

namespace {

constexpr double kPeerPrecedence = 2;  // seconds left to the launcher that received the request
// Seconds after its timeout in which a fulfilled request is still leased: it was fulfilled in time.
constexpr double kLeaseGrace = 10;
// Seconds. Bounds the delay after the wall clock was set forward.
constexpr double kLongestSleep = 60;
constexpr async::Duration kRetryPause = std::chrono::seconds(1);
constexpr async::Duration kLongestRetryPause = std::chrono::seconds(30);
constexpr auto kKeyPause = std::chrono::hours(6);

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
  unschedule(id);
  const std::optional<double> when = due(id);
  if (!when) {
    adopted_.erase(id);
  } else if (!in_progress_.contains(id)) {
    due_[id] = *when;
    next_due_.emplace(*when, id);
    if (next_due_.begin()->second == id) changed_.set();
  }
}

// When the request needs its next step, in seconds since the epoch; nothing: it is gone.
std::optional<double> LeaseRequestWorker::due(const std::string& id) const {
  const LeaseIndex::Entry* entry = lease_index_.find(id);
  const NodeRequest* request = records_.requests.find(id);
  if (entry == nullptr || !entry->lease_request || request == nullptr) return std::nullopt;
  // Another host's clock does not defer the step.
  const double since = std::min(request->state_time, runtime_.clock.wall_seconds());
  if (request->state == RequestState::failed) return since + kFailureRetention;
  if (request->state == RequestState::fulfilled) {
    return adopted_.contains(id) || in_progress_.contains(id) ? 0 : since + kPeerPrecedence;
  }
  return entry->lease_request->expires;
}

void LeaseRequestWorker::unschedule(const std::string& id) {
  const auto found = due_.find(id);
  if (found == due_.end()) return;
  next_due_.erase({found->second, id});
  due_.erase(found);
}

void LeaseRequestWorker::reevaluate_all() {
  const auto keys = std::views::keys(due_);
  const std::vector<std::string> ids(keys.begin(), keys.end());
  for (const std::string& id : ids) reevaluate(id);
}

Task<> LeaseRequestWorker::run() {
  double before = 0;
  while (true) {
    co_await records_.until_ready();
    const double now = runtime_.clock.wall_seconds();
    if (now < std::exchange(before, now)) reevaluate_all();  // the clock was set back
    while (!next_due_.empty() && next_due_.begin()->first <= now) {
      const std::string id = next_due_.begin()->second;
      unschedule(id);
      in_progress_.insert(id);
      scope_.spawn("lease request " + id, serve(id));
    }
    const double next = next_due_.empty() ? kLongestSleep : next_due_.begin()->first - now;
    const std::chrono::duration<double> pause(std::min(next, kLongestSleep));
    const auto until = runtime_.clock.now() + std::chrono::duration_cast<async::Duration>(pause);
    co_await changed_.wait_until(runtime_.clock, until);
  }
}

// Retries as long as the request is due: another process has its lock, or a failure lasts, which is
// reported once.
Task<> LeaseRequestWorker::serve(std::string id) {
  async::Backoff failures(kRetryPause, kLongestRetryPause);
  std::optional<double> next;
  do {
    std::string failure;
    try {
      co_await complete(id);
    } catch (const async::Cancelled&) {
      throw;
    } catch (const std::exception& error) {
      failure = error.what();
    }
    if (!failure.empty() && !failures.has_failed()) {
      log_.about({}, id, {}).warning("Processing the lease request failed, retrying: {}", failure);
    }
    const async::Duration pause = failure.empty() ? kRetryPause : failures.failed();
    co_await records_.pause_before_retry(pause);
    co_await records_.until_ready();
    next = due(id);
  } while (next && *next <= runtime_.clock.wall_seconds());
  in_progress_.erase(id);
  reevaluate(id);
}

Task<> LeaseRequestWorker::complete(std::string id) {
  const NodeRequest* request = records_.requests.find(id);
  if (request == nullptr) co_return;
  const telemetry::Logger log = log_.about(request->event_id.value_or(""), id, {});
  const std::optional<model::LeaseRequest> terms = model::lease_request_of(*request);
  const bool is_late = terms && runtime_.clock.wall_seconds() > terms->expires + kLeaseGrace;
  if (request->state == RequestState::fulfilled && !is_late) {
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
