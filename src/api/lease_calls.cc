#include "api/lease_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "api/arriving_records.h"
#include "api/documents.h"
#include "api/request_calls.h"
#include "config/duration.h"
#include "coordination/known_outcome.h"
#include "model/lease.h"
#include "requestor/error.h"
#include "requestor/lease.h"

namespace nodepool::api {

using async::Task;

namespace {

constexpr std::size_t kUsualLeases = 100;
constexpr std::size_t kMostLeases = 1000;
// Default duration of a hold.
constexpr auto kUsualHold = std::chrono::hours(24);

LoginData login_data_for(const Call& call, const LeaseIndex::Entry& entry) {
  return call.view.may_change(entry) ? LoginData::shown : LoginData::hidden;
}

void require_change(const Call& call, const LeaseIndex::Entry& entry) {
  if (call.view.may_change(entry)) return;
  throw CallError(403, fmt::format("{} may not change lease {}: another client owns it",
                                   call.client.name, call.id));
}

CallError not_in_lease(const Call& call, const std::string& node) {
  return {404, fmt::format("Lease {} has no node {}", call.id, node.substr(0, 100))};
}

CallError not_held(const Call& call) {
  return {404, fmt::format("Held node {} not found", call.id)};
}

// Returns nothing if there is no limit.
std::optional<std::chrono::seconds> max_lease(const Call& call) {
  std::optional<std::chrono::seconds> longest = call.client.max_lease;
  const auto configured = call.context.max_lease ? call.context.max_lease() : std::nullopt;
  if (configured && (!longest || *configured < *longest)) longest = configured;
  return longest;
}

// Another launcher may have made the lease just now: waits for its records. The id of a node is no
// lease's.
Task<> wait_until_arrived(Call& call) {
  if (call.context.records.nodes.find(call.id) == nullptr) co_await wait_for_lease(call);
  co_await wait_for_nodes(call);
}

// The lease with this id. Throws CallError if there is none that the client may see (404), or if
// this is not known (503).
const LeaseIndex::Entry& visible_lease(const Call& call) {
  const LeaseIndex::Entry* entry = call.view.find(call.id);
  if (entry != nullptr && entry->lease) return *entry;
  require_ready(call.context.records);
  throw CallError(404, fmt::format("Lease {} not found: it has ended or never existed", call.id));
}

}  // namespace

std::chrono::seconds granted_duration(const Call& call,
                                      std::optional<std::chrono::seconds> requested,
                                      std::chrono::seconds usual) {
  const std::optional<std::chrono::seconds> longest = max_lease(call);
  if (!longest) return requested.value_or(usual);
  if (!requested) return std::min(usual, *longest);
  if (*requested <= *longest) return *requested;
  throw CallError(422, fmt::format("Leases and holds of {} are limited to {}", call.client.name,
                                   config::duration_words(*longest)));
}

Task<web::Response> list_leases(Call& call) {
  const std::size_t most = call.number("limit", kUsualLeases, kMostLeases);
  const std::string* after = call.request.parameter("after");
  const auto& all = call.context.lease_index.all();
  std::string list;
  std::string last;
  std::string next;
  std::size_t read = 0;
  std::size_t count = 0;
  for (auto at = after == nullptr ? all.begin() : all.upper_bound(*after); at != all.end(); ++at) {
    const auto& [id, entry] = *at;
    ++read;
    if (!entry.lease || !call.view.has(entry)) continue;
    if (count == most) {
      next = fmt::format(R"(, "next": "/api/v1/leases?limit={}&after={}")", most, last);
      break;
    }
    list += (count == 0 ? "" : ", ") + lease_document(id, entry, call.context.records.nodes,
                                                      login_data_for(call, entry),
                                                      call.context.runtime.clock.wall_seconds());
    ++count;
    last = id;
  }
  call.context.authorizer.charge_list(call.client, call.request, read, count);
  co_return json_response(200, fmt::format("{{\"leases\": [{}]{}}}\n", list, next));
}

Task<web::Response> show_lease(Call& call) {
  co_await wait_until_arrived(call);
  const LeaseIndex::Entry& entry = visible_lease(call);
  co_return json_response(
      200, lease_document(call.id, entry, call.context.records.nodes, login_data_for(call, entry),
                          call.context.runtime.clock.wall_seconds()) +
               "\n");
}

Task<web::Response> renew_lease(Call& call) {
  co_await wait_until_arrived(call);
  require_change(call, visible_lease(call));
  CallBody body(call.request);
  const std::optional<std::chrono::seconds> requested = body.duration("lease");
  body.end();
  const std::chrono::seconds duration = granted_duration(call, requested, kUsualLease);
  model::Lease renewed;
  try {
    renewed = co_await requestor::renew_lease(call.context.runtime, call.context.store,
                                              call.context.records.nodes, call.id, duration,
                                              max_lease(call));
  } catch (const requestor::RequestError& error) {
    throw CallError(409, error.what());
  }
  call.outcome = fmt::format("renewed {} until {}", call.id, renewed.expires);
  co_return json_response(
      200, fmt::format("{{\"id\": \"{}\", \"expires\": {}}}\n", renewed.id, renewed.expires));
}

Task<web::Response> hold_nodes(Call& call) {
  co_await wait_until_arrived(call);
  const LeaseIndex::Entry& entry = visible_lease(call);
  require_change(call, entry);
  CallBody body(call.request);
  const std::string reason = body.text("reason").value_or("");
  const std::chrono::seconds duration =
      granted_duration(call, body.duration("duration"), kUsualHold);
  std::vector<std::string> wanted = body.texts("nodes", kMostLabels);
  body.end();
  if (wanted.empty()) wanted.assign(entry.nodes.begin(), entry.nodes.end());
  for (const std::string& node : wanted) {
    if (!entry.nodes.contains(node)) throw not_in_lease(call, node);
  }
  std::vector<std::string> held;
  for (const std::string& node : wanted) {
    Task<bool> keeping = requestor::keep_leased_node(call.context.runtime, call.context.store, node,
                                                     call.id, reason, duration);
    if (!held.empty()) keeping = coordination::continue_change(std::move(keeping));
    bool is_held = false;
    try {
      is_held = co_await std::move(keeping);
    } catch (const requestor::RequestError& error) {
      throw CallError(409, error.what());
    }
    if (!is_held) throw not_in_lease(call, node);
    held.push_back(node);
    call.outcome =
        fmt::format("held {} of {} for {} s", fmt::join(held, ", "), call.id, duration.count());
  }
  // The client's next call, such as for login data, finds them held.
  const std::function<bool()> is_seen = [&call, &held] {
    return std::ranges::none_of(held, [&call](const std::string& id) {
      const model::Node* node = call.context.records.nodes.find(id);
      return node != nullptr && node->state == model::NodeState::in_use;
    });
  };
  co_await wait_for_records(call, is_seen);
  co_return web::Response{204};
}

Task<web::Response> end_hold(Call& call) {
  const model::Node* node = call.view.find_node(call.id);
  if (node == nullptr || node->state != model::NodeState::hold) throw not_held(call);
  if (!call.view.may_change(*node)) {
    throw CallError(403, fmt::format("{} may not end the hold of node {}: another client holds it",
                                     call.client.name, call.id));
  }
  bool is_ended = false;
  try {
    is_ended = co_await requestor::end_hold(call.context.runtime, call.context.store,
                                            call.context.records.nodes, call.id);
  } catch (const requestor::RequestError& error) {
    throw CallError(409, error.what());
  }
  if (!is_ended) throw not_held(call);
  call.outcome = fmt::format("ended the hold of {}", call.id);
  co_return web::Response{204};
}

Task<web::Response> release_lease(Call& call) {
  co_await wait_until_arrived(call);
  const LeaseIndex::Entry& entry = visible_lease(call);
  require_change(call, entry);
  const std::string* node = call.request.parameter("node");
  if (node != nullptr && !entry.nodes.contains(*node)) throw not_in_lease(call, *node);
  std::vector<std::string> released;
  try {
    released = co_await requestor::release_lease(call.context.runtime, call.context.store,
                                                 call.context.records.nodes,
                                                 node == nullptr ? call.id : *node);
  } catch (const requestor::NoSuchLease&) {
    // The lease has ended meanwhile: the call is idempotent.
  } catch (const requestor::RequestError& error) {
    throw CallError(409, error.what());
  }
  call.outcome = fmt::format("released {} [{}]", call.id, fmt::join(released, ", "));
  co_return web::Response{204};
}

}  // namespace nodepool::api
