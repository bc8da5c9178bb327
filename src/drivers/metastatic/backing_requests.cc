#include "drivers/metastatic/backing_requests.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "async/finally.h"
#include "coordination/error.h"
#include "coordination/known_outcome.h"
#include "coordination/lock.h"
#include "coordination/outage.h"
#include "driver/backing.h"
#include "model/paths.h"
#include "requestor/error.h"
#include "requestor/request.h"
#include "telemetry/log_errors.h"

namespace nodepool::drivers::metastatic {

namespace {

using State = BackingRequest::State;
using coordination::StoreError;
using coordination::Transaction;

// Before a request is repeated because its node could not be accepted.
constexpr auto kAskAgainPause = std::chrono::seconds(1);

std::string why_failed(const model::NodeRequest& request) {
  std::set<std::string> reasons;
  for (const auto& [pool, reason] : request.decline_reasons) reasons.insert(reason);
  std::string text = fmt::format("backing request {} for label {} failed", request.id,
                                 fmt::join(request.node_types, ", "));
  if (!reasons.empty()) text += fmt::format(": {}", fmt::join(reasons, "; "));
  return text;
}

}  // namespace

BackingWait::BackingWait(std::shared_ptr<BackingRequest> request, async::Clock& clock)
    : request_(std::move(request)), clock_(clock) {
  ++request_->waiting;
  request_->unwanted_since.reset();
}

BackingWait::~BackingWait() {
  if (--request_->waiting == 0) request_->unwanted_since = clock_.now();
}

BackingRequests::BackingRequests(driver::ProviderContext context, std::string provider,
                                 BackingNodes& nodes, telemetry::Logger log)
    : context_(std::move(context)),
      provider_(std::move(provider)),
      owner_(owner_of(provider_)),
      nodes_(nodes),
      log_(std::move(log)),
      withdrawals_(context_.runtime,
                   [log = log_](const std::string& name, const std::string& error) {
                     log.warning("{}: {}", name, error);
                   }) {}

std::unique_ptr<async::TaskScope> BackingRequests::make_scope() {
  return std::make_unique<async::TaskScope>(context_.runtime, telemetry::log_errors(log_));
}

std::unique_ptr<BackingWait> BackingRequests::expect(const std::string& label,
                                                     const BackingRules& rules,
                                                     const std::string& node_id) {
  std::erase_if(open_, [](const PendingRequest& asking) {
    return asking.request->state != State::open && asking.scope->empty();
  });
  for (const PendingRequest& asking : open_) {
    const BackingRequest& request = *asking.request;
    const bool fits = request.state == State::open && request.label == label &&
                      request.backing_label == rules.label && request.waiting < request.slots;
    if (fits) return std::make_unique<BackingWait>(asking.request, context_.runtime.clock);
  }
  auto request = std::make_shared<BackingRequest>(
      BackingRequest{.label = label,
                     .backing_label = rules.label,
                     .slots = static_cast<std::size_t>(rules.slots),
                     .launched = context_.runtime.clock.wall_seconds(),
                     .first_node = node_id});
  auto expectation = std::make_unique<BackingWait>(request, context_.runtime.clock);
  const PendingRequest& asking = open_.emplace_back(PendingRequest{request, make_scope()});
  asking.scope->spawn("backing node for label " + label, serve(std::move(request)));
  return expectation;
}

// --- one request

Task<> BackingRequests::serve(std::shared_ptr<BackingRequest> request) {
  while (!co_await ask_once(request)) {
    co_await context_.runtime.clock.sleep_for(kAskAgainPause);
    if (request->waiting > 0) continue;
    request->state = State::failed;
    co_return;
  }
  nodes_.changed(request->label).set();
}

// Returns whether the request has ended. If the store is unreachable, or the request was lost with
// the session, it is repeated.
Task<bool> BackingRequests::ask_once(std::shared_ptr<BackingRequest> request) {
  std::string failure;
  request->id.clear();
  try {
    requestor::NodeRequestSpec request_spec{
        .labels = {request->backing_label},
        .requestor = owner_,
        .priority = requestor::Priority::high,
        .data = driver::backing_purpose_data({provider_, request->label, request->first_node})};
    request->id = co_await requestor::create_request(context_.runtime, context_.store,
                                                     std::move(request_spec));
    log_.info("Request {}: requested a node with label {} as backing node for label {}",
              request->id, request->backing_label, request->label);
    const requestor::Progress unobserved;
    requestor::Result answer = co_await requestor::await_result(
        context_.runtime, context_.store, request->id, async::Clock::TimePoint::max(), unobserved);
    if (answer.kind == requestor::Result::Kind::fulfilled) {
      co_await accept(request, std::move(answer.request));
    } else {
      request->failure = why_failed(answer.request);
      request->state = State::failed;
      log_.warning("{}", request->failure);
    }
    co_return true;
  } catch (const requestor::RequestError& error) {
    failure = error.what();
  } catch (const model::RecordError& error) {
    failure = error.what();
  } catch (const StoreError& error) {
    if (error.kind() == StoreError::Kind::closed) throw;
    failure = error.what();
  }
  log_.warning("Requesting a node with label {} again: {}", request->backing_label, failure);
  co_return false;
}

// Removes the request in any case, so that its node is released after a failure. Retries while the
// store is unreachable.
Task<> BackingRequests::accept(std::shared_ptr<BackingRequest> request, model::NodeRequest answer) {
  const std::function<Task<>()> withdraw = [this, id = answer.id] {
    return requestor::withdraw(context_.store, id);
  };
  Task<> taking = take_until_known(request, std::move(answer));
  co_await async::undo_on_failure(std::move(taking), withdraw);
  request->state = State::served;
}

Task<> BackingRequests::take_until_known(std::shared_ptr<BackingRequest> request,
                                         model::NodeRequest answer) {
  while (true) {
    try {
      requestor::LockedNodes locked(context_.runtime, context_.store);
      const std::function<Task<>()> unlock = [&locked] { return locked.release(); };
      Task<> taking = take(request, answer, locked);
      co_await async::undo_on_failure(std::move(taking), unlock);
      co_return;
    } catch (const StoreError& error) {
      if (!coordination::may_recover(error)) throw;
    }
    co_await coordination::wait_for_store(context_.runtime, context_.store);
  }
}

// Replaces the session's lock with a persistent one in the transaction that writes the node's
// purpose, so that the node is never unlocked.
Task<> BackingRequests::take(std::shared_ptr<BackingRequest> request, model::NodeRequest answer,
                             requestor::LockedNodes& locked) {
  co_await locked.lock(std::move(answer));
  model::Node node = locked.nodes().front();
  const double now = context_.runtime.clock.wall_seconds();
  BackingRecord record;
  record.owner = owner_;
  record.label = request->label;
  record.slots = static_cast<std::int64_t>(request->slots);
  record.launched = request->launched;
  record.used = now;
  node.set_state(model::NodeState::in_use, now);
  node.user_data = to_user_data(record);
  Transaction transaction;
  transaction.set(model::node_path(node.id), to_record(node), node.stat.version);
  coordination::Lock lasting(context_.store, context_.runtime.random,
                             model::node_lock_path(node.id), owner_,
                             coordination::Lock::Lifetime::persistent);
  lasting.contend_in(transaction, /*root_exists=*/true);
  locked.release_in(transaction);
  transaction.remove(model::request_path(locked.request().id));
  const auto results = co_await coordination::commit_until_known(context_.runtime, context_.store,
                                                                 std::move(transaction));
  locked.released();
  request->node = node.id;
  log_.about({}, request->id, node.id)
      .info("Accepted node {} of provider {} as backing node: {} slot(s) for label {}", node.id,
            node.provider.value_or(""), record.slots, record.label);
  const coordination::Stat& stat = results.front().stat;
  if (stat.mzxid != 0) context_.nodes.written(std::move(node), stat);
}

// --- withdrawal

void BackingRequests::withdraw_unwanted(const MetastaticConfig& config) {
  const auto now = context_.runtime.clock.now();
  for (auto asking = open_.begin(); asking != open_.end();) {
    const BackingRequest& request = *asking->request;
    const BackingRules* rules = config.find_rules(request.label);
    const std::chrono::duration<double> grace(rules == nullptr ? 0 : grace_time(*rules));
    const bool is_there = request.state == State::open && !request.id.empty();
    const bool is_unwanted =
        is_there && request.unwanted_since && now - *request.unwanted_since > grace;
    const auto next = std::next(asking);
    if (is_unwanted) {
      withdrawals_.spawn("withdraw request " + request.id, withdraw(std::move(*asking)));
      open_.erase(asking);
    }
    asking = next;
  }
}

Task<> BackingRequests::withdraw(PendingRequest asking) {
  log_.info("Withdrawing request {}: no node waits for it any more", asking.request->id);
  co_await asking.scope->stop();
}

Task<> BackingRequests::stop() {
  for (const PendingRequest& asking : open_) asking.scope->cancel();
  for (const PendingRequest& asking : open_) co_await asking.scope->join();
  open_.clear();
  co_await withdrawals_.join();
}

}  // namespace nodepool::drivers::metastatic
