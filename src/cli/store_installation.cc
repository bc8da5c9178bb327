#include "cli/store_installation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ostream>
#include <stdexcept>
#include <utility>

#include "cli/store_explanation.h"
#include "cli/store_request.h"
#include "config/duration.h"
#include "model/lease_request.h"
#include "program/journal.h"
#include "report/listings.h"
#include "requestor/error.h"
#include "requestor/lease_request.h"

namespace nodepool::cli {

using coordination::SessionState;

namespace {

// Unless the site limits leases to less.
constexpr std::chrono::seconds kUsualLease = std::chrono::hours(2);

}  // namespace

StoreInstallation::StoreInstallation(Session& session)
    : session_(session),
      scope_(session.runtime(), [](const std::string& /*name*/, const std::string& /*error*/) {}) {}

// The maximum length of a lease, renewals included; nothing: no maximum.
std::optional<std::chrono::seconds> StoreInstallation::longest_lease() const {
  if (!session_.config().max_lease) return std::nullopt;
  return std::chrono::seconds(*session_.config().max_lease);
}

// Throws requestor::Refused if the wanted length exceeds the maximum.
std::chrono::seconds StoreInstallation::lease_length(
    std::optional<std::chrono::seconds> wanted) const {
  const std::optional<std::chrono::seconds> longest = longest_lease();
  if (!longest) return wanted.value_or(kUsualLease);
  if (!wanted) return std::min(*longest, kUsualLease);
  if (*wanted <= *longest) return *wanted;
  throw requestor::Refused(fmt::format("a lease of {} is too long: at most {} (max-lease)",
                                       config::duration_words(*wanted),
                                       config::duration_words(*longest)));
}

Task<> StoreInstallation::close() {
  co_await scope_.stop();
  co_await session_.close();
  if (cancelled_request_.empty()) co_return;
  session_.context().err << fmt::format("nodepool: request {} has been withdrawn\n",
                                        cancelled_request_);
}

Task<Installation::Outcome> StoreInstallation::request(Request request, Observer observer) {
  std::string id;
  const Observer note_id = [&id, &observer](const Progress& progress) {
    id = progress.id;
    observer(progress);
  };
  Task<Outcome> obtaining = obtain(std::move(request), note_id);
  try {
    co_return co_await std::move(obtaining);
  } catch (const async::Cancelled&) {
    cancelled_request_ = id;
    throw;
  }
}

Task<Installation::Outcome> StoreInstallation::obtain(Request request, Observer observer) {
  if (!request.key.empty()) throw std::runtime_error("--key needs the request API (--url)");
  requestor::LeaseTerms terms{.duration = lease_length(request.lease), .holder = request.holder};
  const bool is_for_process = request.is_for_process;
  const auto on_lost = request.on_lost;
  const requestor::Result result =
      co_await request_from_store(session_, std::move(request), std::move(observer));
  Outcome outcome{.progress = progress_of(result.request)};
  if (result.kind != requestor::Result::Kind::fulfilled) co_return outcome;
  if (is_for_process) {
    held_.emplace(session_.runtime(), session_.store());
    co_await held_->accept(result.request);
    watch_session(on_lost);
    outcome.leased.emplace().nodes = held_->nodes();
  } else {
    outcome.leased = co_await requestor::accept_with_lease(session_.runtime(), session_.store(),
                                                           result.request, std::move(terms));
  }
  co_return outcome;
}

// Until end_use().
void StoreInstallation::watch_session(
    const std::function<void(const std::string& reason)>& on_lost) {
  session_watch_ = session_.store().on_session([this, on_lost](SessionState state) {
    session_changed_.set();
    const bool is_lost = state == SessionState::expired;
    if (on_lost && is_lost) on_lost("the session with the store has expired");
  });
  // A session with the embedded store lives as long as the process.
  const bool can_time_out = session_.config().store.kind == config::StoreChoice::Kind::zookeeper;
  if (can_time_out) scope_.spawn("outages", warn_of_outages());
}

// Warns when the store has been unreachable for the timeout of the session: whether that has
// expired is not known before the store is back.
Task<> StoreInstallation::warn_of_outages() {
  const coordination::Store& store = session_.store();
  async::Clock& clock = session_.runtime().clock;
  const std::chrono::duration<double> timeout(session_.config().zookeeper.timeout);
  const std::string warning =
      fmt::format("nodepool: the store has been unreachable for {:g} s: the nodes may be lost\n",
                  timeout.count());
  while (true) {
    while (store.session_state() != SessionState::suspended) co_await session_changed_.wait();
    const auto deadline = clock.now() + std::chrono::duration_cast<async::Duration>(timeout);
    while (store.session_state() == SessionState::suspended && clock.now() < deadline) {
      co_await session_changed_.wait_until(clock, deadline);
    }
    if (store.session_state() != SessionState::suspended) continue;
    session_.context().err << warning << std::flush;
    while (store.session_state() == SessionState::suspended) co_await session_changed_.wait();
  }
}

Task<std::vector<std::string>> StoreInstallation::end_use(std::optional<std::string> hold_reason) {
  session_watch_.reset();
  co_await scope_.stop();
  if (!held_) co_return std::vector<std::string>();
  try {
    co_return co_await held_->release(std::move(hold_reason));
  } catch (const coordination::StoreError& error) {
    throw requestor::RequestError(std::string("that happens when this session ends: ") +
                                  error.what());
  }
}

Task<Installation::Renewal> StoreInstallation::renew(std::string lease,
                                                     std::optional<std::chrono::seconds> duration) {
  const std::chrono::seconds length = lease_length(duration);
  const model::NodeTable* nodes = co_await session_.nodes();
  const double before = requestor::end_of_lease(*nodes, lease);
  model::Lease renewed = co_await requestor::renew_lease(
      session_.runtime(), session_.store(), *nodes, std::move(lease), length, longest_lease());
  co_return Renewal{std::move(renewed), before};
}

Task<std::vector<std::string>> StoreInstallation::release(std::string id,
                                                          std::optional<std::string> hold_reason) {
  const model::NodeTable* nodes = co_await session_.nodes();
  co_return co_await requestor::release_lease(session_.runtime(), session_.store(), *nodes,
                                              std::move(id), std::move(hold_reason));
}

Task<bool> StoreInstallation::end_hold(std::string id) {
  model::NodeTable* nodes = co_await session_.nodes();
  const model::Node* node = nodes->find(id);
  if (node == nullptr || node->state != model::NodeState::hold) co_return false;
  co_return co_await requestor::end_hold(session_.runtime(), session_.store(), *nodes,
                                         std::move(id));
}

Task<std::vector<Installation::LeaseRequest>> StoreInstallation::lease_requests() {
  const model::RequestTable* requests = co_await session_.requests();
  std::vector<LeaseRequest> found;
  for (const auto& [id, request] : requests->all()) {
    const std::optional<model::LeaseRequest> terms = model::lease_request_of(request);
    if (terms) found.push_back({id, terms->holder});
  }
  co_return found;
}

Task<bool> StoreInstallation::withdraw(std::string id) {
  const model::RequestTable* requests = co_await session_.requests();
  const model::NodeRequest* request = requests->find(id);
  if (request == nullptr || !model::lease_request_of(*request)) co_return false;
  const requestor::RequestEnd end = co_await requestor::end_lease_request(
      session_.store(), std::move(id), coordination::kAnyVersion);
  co_return end == requestor::RequestEnd::removed;
}

Task<std::vector<requestor::LeasedNodes>> StoreInstallation::leases() {
  const model::NodeTable* nodes = co_await session_.nodes();
  co_return requestor::leases(*nodes);
}

Task<std::vector<model::Node>> StoreInstallation::find_nodes(std::string id) {
  const model::NodeTable* nodes = co_await session_.nodes();
  if (const model::Node* node = nodes->find(id)) co_return std::vector<model::Node>{*node};
  for (requestor::LeasedNodes& leased : requestor::leases(*nodes)) {
    if (leased.lease.id == id) co_return std::move(leased.nodes);
  }
  throw std::runtime_error("there is no node or lease " + id);
}

Task<report::Table> StoreInstallation::nodes() {
  const model::NodeTable* nodes = co_await session_.nodes();
  co_return report::node_listing(*nodes, session_.now());
}

Task<report::Table> StoreInstallation::requests() {
  const model::RequestTable* requests = co_await session_.requests();
  co_return report::request_listing(*requests, session_.now());
}

Task<report::Table> StoreInstallation::labels() {
  const model::ComponentTable* components = co_await session_.components();
  const model::NodeTable* nodes = co_await session_.nodes();
  co_return report::label_listing(components->pools(), *nodes);
}

Task<std::vector<model::HostReport>> StoreInstallation::host_reports() {
  co_await session_.open();
  co_return co_await model::read_host_reports(session_.store());
}

Task<report::Explanation> StoreInstallation::explain(std::string subject, bool online) {
  co_return co_await explain_by_store(session_, std::move(subject), online);
}

Task<std::vector<history::JournalEntry>> StoreInstallation::history(std::string id) {
  const history::Journal journal = program::journal_of(session_.config());
  const double now = session_.now();
  std::vector<history::JournalEntry> entries = history::entries_of(journal, id, now);
  if (entries.empty()) {
    throw std::runtime_error(
        fmt::format("the history in {} has no entries for {}", journal.directory, id));
  }
  co_return entries;
}

Task<std::vector<coordination::Subscription>> StoreInstallation::watch(
    std::function<void()> observer) {
  co_await session_.open();
  co_return session_.observe(observer);
}

}  // namespace nodepool::cli
