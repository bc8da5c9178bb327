#include "remote/remote_installation.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "model/lease_request.h"
#include "remote/documents.h"
#include "report/listings.h"

namespace nodepool::remote {

using json::Json;
using requestor::NoSuchLease;
using requestor::RequestError;

namespace {

// The tolerated difference between the clocks of a launcher and of this host.
constexpr std::chrono::seconds kClockTolerance{5};

// After this process is killed, the nodes that it uses stay leased for at most kLeaseInUse. Until
// a lease expires, the launchers may be unreachable.
constexpr std::chrono::seconds kLeaseInUse = std::chrono::minutes(10);
constexpr std::chrono::seconds kRenewal{45};

// The pauses between calls while no launcher is available, and how long a request waits for the
// first response: the URL may be wrong.
constexpr auto kFirstPause = std::chrono::milliseconds(500);
constexpr auto kLongestPause = std::chrono::seconds(5);
constexpr auto kFirstContact = std::chrono::seconds(10);

// How long nodes that are no longer used wait for a launcher to release them.
constexpr auto kReleasePatience = std::chrono::minutes(1);

// The key with the login data of a held node whose hold this client may end.
constexpr const char* kLogin = "login";

std::vector<std::string> ids_of(const std::vector<model::Node>& nodes) {
  std::vector<std::string> ids;
  ids.reserve(nodes.size());
  for (const model::Node& node : nodes) ids.push_back(node.id);
  return ids;
}

}  // namespace

RemoteInstallation::RemoteInstallation(const async::Runtime& runtime, const ApiAddress& address,
                                       const telemetry::Logger& log, Warn warn)
    : runtime_(runtime),
      api_(runtime, address, log),
      warn_(std::move(warn)),
      withdrawals_(runtime,
                   [log](const std::string& name, const std::string& error) {
                     log.warning("{}: {}", name, error);
                   }),
      renewals_(runtime, [this](const std::string& name, const std::string& error) {
        warn_(name + ": " + error);
      }) {}

Task<> RemoteInstallation::close() {
  co_await renewals_.stop();
  co_await withdrawals_.join();
}

Task<Installation::Outcome> RemoteInstallation::request(Request request, Observer observer) {
  if (request.is_for_process) request.lease = kLeaseInUse;
  Json document = {{"labels", request.labels}, {"timeout", request.timeout.count()}};
  if (request.lease) document["lease"] = request.lease->count();
  if (!request.holder.empty()) document["holder"] = request.holder;
  const Submission submission{.body = document.dump(),
                              .key = request.key.empty() ? runtime_.random.uuid_hex() : request.key,
                              .has_user_key = !request.key.empty()};
  const async::Clock::TimePoint deadline = runtime_.clock.now() + request.timeout;
  Task<Outcome> requesting = submit_and_follow(submission, deadline, std::move(observer));
  Outcome outcome;
  try {
    outcome = co_await std::move(requesting);
  } catch (const async::Cancelled&) {
    withdrawals_.spawn("withdrawing a request", find_and_withdraw(submission, warn_));
    throw;
  } catch (const Unavailable&) {
    // The error says that the outcome is unknown.
    const Warn ignore = [](const std::string& /*text*/) {};
    withdrawals_.spawn("withdrawing a request", find_and_withdraw(submission, ignore));
    throw;
  }
  if (outcome.leased && request.is_for_process) {
    lease_in_use_ = outcome.leased->lease.id;
    nodes_in_use_ = ids_of(outcome.leased->nodes);
    lease_end_ = runtime_.clock.now() + kLeaseInUse;
    renewals_.spawn("renewing the lease", keep_lease(outcome.leased->lease, request.on_lost));
  }
  co_return outcome;
}

Task<Installation::Outcome> RemoteInstallation::submit_and_follow(Submission submission,
                                                                  async::Clock::TimePoint deadline,
                                                                  Observer observer) {
  const std::function<Task<ApiReply>()> submit_once = [this, &submission] {
    return submit(submission);
  };
  Task<ApiReply> submitting = retry_while_unavailable(
      submit_once, deadline, std::min(deadline, runtime_.clock.now() + kFirstContact));
  ApiReply placed = co_await std::move(submitting);
  const std::string id = text_at(placed.document, "id");
  Task<Outcome> following = follow(std::move(placed), deadline, std::move(observer));
  try {
    co_return co_await std::move(following);
  } catch (const Unavailable& error) {
    throw Unavailable(fmt::format("request {} could not be withdrawn: {}", id, error.what()),
                      error.is_answered());
  } catch (const RequestError&) {
    withdrawals_.spawn("withdrawing request " + id, withdraw_if_present(id));
    throw;
  }
}

// Repeats the call until a launcher is available, at most until `limit`; until `first_contact` if
// none has responded at all.
template <typename Result>
Task<Result> RemoteInstallation::retry_while_unavailable(std::function<Task<Result>()> call,
                                                         async::Clock::TimePoint limit,
                                                         async::Clock::TimePoint first_contact) {
  async::Backoff backoff(kFirstPause, kLongestPause);
  async::Clock::TimePoint end = first_contact;
  while (true) {
    Task<Result> calling = call();
    std::string failure;
    try {
      co_return co_await std::move(calling);
    } catch (const Unavailable& error) {
      if (error.is_answered()) end = limit;
      if (runtime_.clock.now() >= end) throw;
      failure = error.what();
    }
    co_await pause_for_launcher(std::move(failure), backoff, end);
  }
}

Task<> RemoteInstallation::pause_for_launcher(std::string failure, async::Backoff& backoff,
                                              async::Clock::TimePoint limit) {
  if (!std::exchange(is_wait_reported_, true)) warn_(failure + "; retrying");
  co_await runtime_.clock.sleep_until(std::min(runtime_.clock.now() + backoff.failed(), limit));
}

Task<ApiReply> RemoteInstallation::submit(Submission submission) {
  ApiReply placed = co_await api_.try_call("POST", "requests", std::move(submission.body),
                                           std::move(submission.key));
  if (placed.is_missing()) throw RequestError("the request has already ended");
  co_return placed;
}

// Withdraws a cancelled request that may or may not exist: submitting it again with its key returns
// its id. Reports the result.
Task<> RemoteInstallation::find_and_withdraw(Submission submission, Warn report) {
  try {
    const ApiReply placed = co_await submit(submission);
    const std::string id = text_at(placed.document, "id");
    // Another process with the key may use the nodes.
    if (submission.has_user_key && read_outcome(placed.document).leased) {
      report(
          fmt::format("request {0} has been fulfilled, and its lease remains: release it with "
                      "`nodepool release {0}`",
                      id));
      co_return;
    }
    co_await withdraw_if_present(id);
    report(fmt::format("request {} has been withdrawn", id));
  } catch (const Unavailable& error) {
    report(std::string("the request may be served until its timeout: ") + error.what());
  } catch (const RequestError& error) {
    report(std::string("the request could not be withdrawn: ") + error.what());
  }
}

Task<Installation::Outcome> RemoteInstallation::follow(ApiReply reply,
                                                       async::Clock::TimePoint deadline,
                                                       Observer observer) {
  async::Backoff backoff(kFirstPause, kLongestPause);
  while (true) {
    Outcome outcome = read_outcome(reply.document);
    if (observer) observer(outcome.progress);
    const auto left = std::chrono::ceil<std::chrono::seconds>(deadline - runtime_.clock.now());
    const bool is_over = outcome.leased || outcome.progress.state == model::RequestState::failed;
    if (is_over || left <= std::chrono::seconds(0)) {
      if (!outcome.leased) co_await withdraw_if_present(outcome.progress.id);
      co_return outcome;
    }
    // When the launchers withdraw it, in seconds since the epoch.
    const double end = number_at(reply.document, "expires");
    Task<ApiReply> asking =
        api_.try_call("GET", fmt::format("requests/{}?wait={}", escaped(outcome.progress.id),
                                         std::min(left, kLongestWait).count()));
    ApiReply next;
    std::string failure;
    try {
      next = co_await std::move(asking);
    } catch (const Unavailable& error) {
      failure = error.what();
    }
    if (!failure.empty()) {
      co_await pause_for_launcher(std::move(failure), backoff, deadline);
      continue;
    }
    backoff.reset();
    reply = std::move(next);
    if (!reply.is_missing()) continue;
    // They do so after its timeout, possibly before they respond.
    const double tolerance = std::chrono::duration<double>(kClockTolerance).count();
    const bool is_in_time = runtime_.clock.now() + kClockTolerance < deadline &&
                            runtime_.clock.wall_seconds() + tolerance < end;
    if (!is_in_time) co_return outcome;
    throw RequestError("request " + outcome.progress.id + " was removed by another client");
  }
}

Task<> RemoteInstallation::withdraw_if_present(std::string id) {
  co_await api_.try_call("DELETE", "requests/" + escaped(id));
}

// Looks first: the deletion says that there is none also if it is a repetition of one whose
// response was lost.
Task<bool> RemoteInstallation::withdraw(std::string id) {
  const ApiReply request = co_await api_.try_call("GET", "requests/" + escaped(id));
  if (request.is_missing()) co_return false;
  co_await withdraw_if_present(std::move(id));
  co_return true;
}

// Renews the lease of the nodes in use until it is cancelled, or the lease has ended.
Task<> RemoteInstallation::keep_lease(model::Lease lease,
                                      std::function<void(const std::string& reason)> on_lost) {
  bool is_failure_reported = false;
  bool is_limit_reported = false;
  bool is_lost = false;
  while (!is_lost) {
    co_await runtime_.clock.sleep_until(std::min(runtime_.clock.now() + kRenewal, lease_end_));
    const async::Clock::TimePoint wanted = runtime_.clock.now() + kLeaseInUse;
    Task<model::Lease> extending = extend(lease.id, kLeaseInUse);
    try {
      const model::Lease renewed = co_await std::move(extending);
      // By the difference of `expires` only: the launchers' clocks may differ from the one here.
      const std::chrono::duration<double> gain(renewed.expires - lease.expires);
      lease.expires = renewed.expires;
      lease_end_ = std::min(lease_end_ + std::chrono::duration_cast<async::Duration>(gain),
                            runtime_.clock.now() + kLeaseInUse);
      if (lease_end_ + kClockTolerance < wanted && !std::exchange(is_limit_reported, true)) {
        warn_("the launchers limit the lease (max-lease): it ends soon, and its nodes are lost");
      }
    } catch (const NoSuchLease&) {
      is_lost = true;
    } catch (const RequestError& error) {
      if (!std::exchange(is_failure_reported, true)) {
        warn_(std::string("the lease could not be renewed, retrying: ") + error.what());
      }
    }
    is_lost = is_lost || runtime_.clock.now() >= lease_end_;
  }
  lease_in_use_.clear();
  nodes_in_use_.clear();
  if (on_lost) on_lost("the lease of the nodes has ended");
}

Task<std::vector<std::string>> RemoteInstallation::end_use(std::optional<std::string> hold_reason) {
  co_await renewals_.stop();
  if (lease_in_use_.empty()) co_return std::vector<std::string>();
  const std::string lease = std::exchange(lease_in_use_, {});
  const std::vector<std::string> nodes = std::exchange(nodes_in_use_, {});
  // A release that fails happens when the lease expires, a hold never.
  const async::Clock::TimePoint limit =
      hold_reason ? lease_end_ : std::min(lease_end_, runtime_.clock.now() + kReleasePatience);
  const std::function<Task<std::vector<std::string>>()> release_once = [&] {
    return release_from(lease, nodes, /*is_whole=*/true, hold_reason);
  };
  is_wait_reported_ = false;
  Task<std::vector<std::string>> releasing = retry_while_unavailable(release_once, limit, limit);
  try {
    co_return co_await std::move(releasing);
  } catch (const RequestError& error) {
    throw RequestError(std::string("that happens when their lease expires: ") + error.what());
  }
}

// Throws NoSuchLease if the API knows that the lease has ended.
Task<model::Lease> RemoteInstallation::extend(std::string lease,
                                              std::optional<std::chrono::seconds> duration) {
  std::string body = duration ? Json{{"lease", duration->count()}}.dump() : std::string();
  const ApiReply renewed =
      co_await api_.try_call("POST", "leases/" + escaped(lease) + "/renew", std::move(body));
  if (renewed.is_missing()) throw NoSuchLease(text_at(renewed.document, "detail"));
  co_return model::Lease{
      .id = lease, .expires = number_at(renewed.document, "expires"), .holder = {}};
}

Task<Installation::Renewal> RemoteInstallation::renew(
    std::string lease, std::optional<std::chrono::seconds> duration) {
  const Json before = co_await api_.call("GET", "leases/" + escaped(lease));
  model::Lease renewed = co_await extend(std::move(lease), duration);
  co_return Renewal{std::move(renewed), number_at(before, "expires")};
}

// Releases these nodes of a lease, which are all or one of it; with a reason, holds them. Returns
// the ids of those for which it was done. A lease or node that is missing was there before: the
// response to an earlier attempt may have been lost.
Task<std::vector<std::string>> RemoteInstallation::release_from(
    std::string lease, std::vector<std::string> nodes, bool is_whole,
    std::optional<std::string> hold_reason) {
  std::string path = "leases/" + escaped(lease);
  if (!hold_reason) {
    if (!is_whole) path += "?node=" + escaped(nodes.front());
    co_await api_.try_call("DELETE", std::move(path));
    co_return nodes;
  }
  Json document = {{"reason", *hold_reason}};
  if (!is_whole) document["nodes"] = nodes;
  const ApiReply held = co_await api_.try_call("POST", path + "/hold", document.dump());
  if (!held.is_missing()) co_return nodes;
  co_return co_await held_from(std::move(lease), std::move(nodes));
}

// The ids of those nodes that are held and were in the lease.
Task<std::vector<std::string>> RemoteInstallation::held_from(std::string lease,
                                                             std::vector<std::string> nodes) {
  const std::string state(to_string(model::NodeState::hold));
  const std::vector<Json> rows = co_await api_.rows("nodes", "&state=" + state);
  std::erase_if(nodes, [&](const std::string& id) {
    return std::ranges::none_of(rows, [&](const Json& row) {
      return text_at(row, "id") == id && text_at(row, "allocated_to") == lease;
    });
  });
  co_return nodes;
}

Task<std::vector<std::string>> RemoteInstallation::release(std::string id,
                                                           std::optional<std::string> hold_reason) {
  const requestor::LeasedNodes leased = co_await find_lease(id);
  const bool is_whole = leased.lease.id == id;
  std::vector<std::string> released =
      co_await release_from(leased.lease.id, ids_of(leased.nodes), is_whole, hold_reason);
  if (released.empty()) throw RequestError(id + " is no longer leased, and not held");
  co_return released;
}

// The lease with this id, or the lease of the node with this id, with this node only. Throws
// NoSuchLease.
Task<requestor::LeasedNodes> RemoteInstallation::find_lease(std::string id) {
  const ApiReply lease = co_await api_.try_call("GET", "leases/" + escaped(id));
  if (!lease.is_missing()) co_return read_lease(lease.document);
  const ApiReply node = co_await api_.try_call("GET", "nodes/" + escaped(id));
  const std::string lease_id =
      node.is_missing() ? std::string() : text_at(node.document, "allocated_to");
  if (lease_id.empty()) throw NoSuchLease("there is no lease or leased node " + id);
  const ApiReply of_node = co_await api_.try_call("GET", "leases/" + escaped(lease_id));
  requestor::LeasedNodes leased;
  if (!of_node.is_missing()) leased = read_lease(of_node.document);
  std::erase_if(leased.nodes, [&id](const model::Node& each) { return each.id != id; });
  if (leased.nodes.empty()) throw NoSuchLease("node " + id + " is not leased");
  co_return leased;
}

Task<std::vector<model::Node>> RemoteInstallation::find_nodes(std::string id) {
  const ApiReply node = co_await api_.try_call("GET", "nodes/" + escaped(id));
  const auto login = node.document.find(kLogin);
  if (login != node.document.end()) co_return std::vector<model::Node>{read_node(*login)};
  requestor::LeasedNodes leased = co_await find_lease(std::move(id));
  co_return std::move(leased.nodes);
}

// Looks first, like withdraw().
Task<bool> RemoteInstallation::end_hold(std::string id) {
  const ApiReply node = co_await api_.try_call("GET", "nodes/" + escaped(id));
  const ApiReply ended = co_await api_.try_call("DELETE", "nodes/" + escaped(id) + "/hold");
  co_return node.document.contains(kLogin) || !ended.is_missing();
}

Task<std::vector<Installation::LeaseRequest>> RemoteInstallation::lease_requests() {
  std::vector<LeaseRequest> found;
  const std::vector<Json> rows = co_await api_.rows("requests");
  for (const Json& row : rows) {
    const std::string requestor = text_at(row, "requestor");
    if (!requestor.starts_with(model::kLeaseRequestorPrefix)) continue;
    found.push_back({text_at(row, "id"), text_at(row, "holder")});
  }
  co_return found;
}

Task<std::vector<requestor::LeasedNodes>> RemoteInstallation::leases() {
  std::vector<requestor::LeasedNodes> leases;
  const std::vector<Json> rows = co_await api_.rows("leases");
  leases.reserve(rows.size());
  for (const Json& row : rows) leases.push_back(read_lease(row));
  co_return leases;
}

Task<report::Table> RemoteInstallation::list(std::string listing,
                                             std::vector<report::Column> columns) {
  const std::vector<Json> rows = co_await api_.rows(std::move(listing));
  co_return read_table(rows, std::move(columns));
}

Task<report::Table> RemoteInstallation::nodes() {
  return list("nodes", report::node_columns(report::Detail::wide).columns());
}

Task<report::Table> RemoteInstallation::requests() {
  return list("requests", report::request_columns().columns());
}

Task<report::Table> RemoteInstallation::labels() {
  return list("labels", report::label_columns().columns());
}

Task<std::vector<model::HostReport>> RemoteInstallation::host_reports() {
  co_return std::vector<model::HostReport>();
}

Task<std::vector<history::JournalEntry>> RemoteInstallation::history(std::string id) {
  const Json document = co_await api_.call("GET", "history/" + escaped(id));
  const auto rows = document.find("history");
  if (rows == document.end()) throw invalid_response("no history");
  std::vector<history::JournalEntry> entries;
  for (const Json& row : *rows) entries.push_back(read_entry(row, id));
  if (entries.empty()) throw RequestError("the history has no entries for " + id);
  co_return entries;
}

Task<report::Explanation> RemoteInstallation::explain(std::string subject, bool online) {
  if (online) throw RequestError("--online needs the store and does not work with --url");
  const Json document = co_await api_.call("GET", "explain/" + escaped(subject));
  co_return read_explanation(document);
}

Task<std::vector<coordination::Subscription>> RemoteInstallation::watch(
    std::function<void()> /*observer*/) {
  throw RequestError("--watch needs the store and does not work with --url");
}

}  // namespace nodepool::remote
