#include "api/request_calls.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <ranges>
#include <utility>

#include "api/arriving_records.h"
#include "api/documents.h"
#include "api/lease_calls.h"
#include "api/token_file.h"
#include "async/event.h"
#include "async/finally.h"
#include "model/lease.h"
#include "report/listings.h"
#include "report/rendering/table_text.h"
#include "requestor/error.h"
#include "requestor/lease.h"
#include "requestor/lease_request.h"

namespace nodepool::api {

using async::Task;
using model::NodeRequest;

namespace {

// Between two parts of an event stream.
constexpr auto kStreamPause = web::kStreamSilence;
constexpr std::size_t kUsualPage = 100;
constexpr std::size_t kLargestPage = 1000;

std::string base_path(const std::string& id) {
  return "/api/v1/requests/" + id;
}

bool is_waiting(const LeaseIndex::Entry& entry) {
  return !entry.lease && !entry.is_failed;
}

// The document of a request that the lease index has.
std::string document_of(const Call& call) {
  const LeaseIndex::Entry& entry = *call.context.lease_index.find(call.id);
  const NodeRequest* request = call.context.records.requests.find(call.id);
  if (entry.lease_request && request != nullptr && !entry.lease) {
    return lease_request_document(call.id, *request, *entry.lease_request,
                                  call.context.records.requests,
                                  call.context.records.components.pools());
  }
  return fulfilled_document(call.id, entry, call.context.records.nodes,
                            call.view.may_change(entry) ? LoginData::shown : LoginData::hidden,
                            call.context.runtime.clock.wall_seconds());
}

// Throws CallError (404) unless the lease index has such a request or lease that the client may
// see.
void require_known(const Call& call) {
  if (call.view.find(call.id) != nullptr) return;
  throw CallError(404, fmt::format("Request {} not found: it has ended or never existed", call.id));
}

// The same, but waits for its record, and until `deadline` for complete tables.
Task<> require_request(Call& call, async::Clock::TimePoint deadline) {
  co_await wait_for_record(call);
  if (call.context.lease_index.find(call.id) == nullptr) {
    co_await require_complete_records(call, deadline);
  }
  require_known(call);
}

Task<> wait_until_settled(Call& call, async::Clock::TimePoint deadline) {
  async::Clock& clock = call.context.runtime.clock;
  async::Event changed;
  const coordination::Subscription watching =
      call.context.lease_index.observe(call.id, [&changed] { changed.set(); });
  while (true) {
    const LeaseIndex::Entry* entry = call.context.lease_index.find(call.id);
    if (entry != nullptr && !is_waiting(*entry)) co_return;
    if (entry == nullptr) {
      co_await require_request(call, deadline);
    } else if (!co_await changed.wait_until(clock, deadline)) {
      co_return;
    }
  }
}

// Returns when the request is fulfilled or has failed, or at `deadline`. Throws CallError if it no
// longer exists or the client's token is no longer valid.
Task<> wait_for_end(Call& call, async::Clock::TimePoint deadline) {
  Task<> waiting = wait_until_settled(call, deadline);
  Task<> limited = call.context.authorizer.while_authorized(call.request, std::move(waiting));
  co_await std::move(limited);
}

requestor::Priority read_priority(const Call& call, CallBody& body) {
  const std::string word = body.text("priority").value_or("normal");
  const std::vector<std::string>& allowed = call.client.priorities;
  if (!allowed.empty() && std::ranges::find(allowed, word) == allowed.end()) {
    throw CallError(403, fmt::format("{} may request with priority {} only", call.client.name,
                                     fmt::join(allowed, " or ")));
  }
  if (word == "high") return requestor::Priority::high;
  if (word == "normal") return requestor::Priority::normal;
  if (word == "low") return requestor::Priority::low;
  throw CallError(422, "`priority` must be high, normal or low");
}

std::optional<std::string> read_tenant(const Call& call, CallBody& body) {
  std::optional<std::string> tenant = body.text("tenant");
  if (call.client.may_name_tenants) return tenant;
  const std::string& own = call.client.tenant;
  if (tenant && *tenant != own) {
    throw CallError(
        403, own.empty()
                 ? fmt::format("{} may not set `tenant`: its token has none", call.client.name)
                 : fmt::format("{} may request nodes for tenant {} only", call.client.name, own));
  }
  return own.empty() ? std::nullopt : std::optional(own);
}

// The content of a lease request.
struct NewRequest {
  requestor::NodeRequestSpec request_spec;
  model::LeaseRequest lease_request;
};

std::vector<std::string> read_labels(const Call& call, CallBody& body) {
  std::vector<std::string> labels = body.texts("labels", kMostLabels);
  if (labels.empty()) throw CallError(422, "`labels` must have at least one label");
  const std::vector<std::string>& allowed = call.client.labels;
  for (const std::string& label : labels) {
    if (allowed.empty() || std::ranges::find(allowed, label) != allowed.end()) continue;
    throw CallError(403, fmt::format("{} may not request label {}, only {}", call.client.name,
                                     label, fmt::join(allowed, ", ")));
  }
  return labels;
}

std::string read_key(const Call& call, CallBody& body) {
  std::string key = body.text("idempotency_key").value_or("");
  const std::string* header = call.request.header("idempotency-key");
  if (header != nullptr) key = *header;
  if (key.size() > kLongestText) {
    throw CallError(422, fmt::format("Idempotency key too long (at most {} bytes)", kLongestText));
  }
  return key.empty() ? key : sha256(call.client.name + "\n" + key);
}

std::chrono::seconds read_lease(const Call& call, CallBody& body) {
  return granted_duration(call, body.duration("lease"), kUsualLease);
}

NewRequest read_request(const Call& call) {
  CallBody body(call.request);
  NewRequest wanted;
  wanted.request_spec.labels = read_labels(call, body);
  wanted.request_spec.requestor = std::string(model::kLeaseRequestorPrefix) + call.client.name;
  wanted.request_spec.priority = read_priority(call, body);
  wanted.request_spec.relative_priority =
      body.integer("relative_priority", 0, 1'000'000).value_or(0);
  wanted.request_spec.tenant = read_tenant(call, body);
  const std::chrono::seconds timeout = body.duration("timeout").value_or(kUsualTimeout);
  if (timeout > kLongestTimeout) throw CallError(422, "`timeout` must be at most 24 hours");
  wanted.lease_request = {
      .owner = call.client.name,
      .holder = body.text("holder").value_or(call.client.name),
      .lease = static_cast<double>(read_lease(call, body).count()),
      .expires = call.context.runtime.clock.wall_seconds() + static_cast<double>(timeout.count()),
      .key = read_key(call, body)};
  body.end();
  return wanted;
}

void require_nodes(const Call& call, const InFlightQuota& in_flight, std::size_t wanted) {
  if (!call.client.max_nodes) return;
  const std::size_t has =
      call.context.lease_index.nodes_of(call.client.name) + in_flight.of(call.client.name);
  if (has + wanted <= *call.client.max_nodes) return;
  web::Headers headers;  // none: the request exceeds the limit by itself
  if (wanted <= *call.client.max_nodes) headers.emplace_back("Retry-After", "10");
  throw CallError(403,
                  fmt::format("Node limit of {} exceeded (max-nodes {}): {} are leased, held or "
                              "requested, this request is for {} more",
                              call.client.name, *call.client.max_nodes, has, wanted),
                  std::move(headers));
}

// The labels of a request or lease by their index in the request. Those of released nodes are
// missing, and so are those of older leases, which did not record them.
std::map<std::size_t, std::string> known_labels(const Call& call) {
  std::map<std::size_t, std::string> known;
  if (const NodeRequest* request = call.context.records.requests.find(call.id)) {
    for (const std::string& label : request->node_types) known.emplace(known.size(), label);
    return known;
  }
  const LeaseIndex::Entry* entry = call.context.lease_index.find(call.id);
  if (entry == nullptr) return known;
  for (const std::string& id : entry->nodes) {
    const model::Node* node = call.context.records.nodes.find(id);
    const std::optional<model::Lease> lease = node == nullptr ? std::nullopt : lease_of(*node);
    if (!lease || lease->label.empty()) continue;
    known.emplace(static_cast<std::size_t>(lease->index), lease->label);
  }
  return known;
}

// Throws CallError (409) if the request or lease is known to be for other labels. A lease may have
// had more nodes than it has now, a request has not.
void require_labels(const Call& call, const std::vector<std::string>& labels) {
  const std::map<std::size_t, std::string> known = known_labels(call);
  const bool is_lease = call.context.records.requests.find(call.id) == nullptr;
  const bool is_same = (is_lease || known.size() == labels.size()) &&
                       std::ranges::all_of(known, [&labels](const auto& each) {
                         return each.first < labels.size() && labels[each.first] == each.second;
                       });
  if (is_same) return;
  throw CallError(
      409,
      fmt::format(
          "This idempotency key belongs to {} for {}", call.id,
          fmt::format("{}", fmt::join(std::views::values(known), ", ")).substr(0, kLongestText)));
}

// Finds the earlier request with this key: sets call.id. Waits until `deadline` for complete
// tables. Throws CallError (409) if it has ended or has other labels.
Task<> find_by_key(Call& call, std::string key, std::vector<std::string> labels,
                   async::Clock::TimePoint deadline) {
  async::Clock& clock = call.context.runtime.clock;
  const async::Clock::TimePoint arrival = clock.now() + kReplicationDelay;
  async::Event changed;
  const coordination::Subscription watching =
      call.context.lease_index.observe_all([&changed](const std::string&) { changed.set(); });
  std::optional<std::string> id = call.context.lease_index.id_of_key(key);
  while (!id && co_await changed.wait_until(clock, arrival))
    id = call.context.lease_index.id_of_key(key);
  if (!id) {
    co_await require_complete_records(call, deadline);
    id = call.context.lease_index.id_of_key(key);
  }
  if (!id) throw CallError(409, "The request with this idempotency key has ended");
  call.id = *id;
  co_await wait_for_nodes(call);
  require_labels(call, labels);
}

// Throws CallError unless the client sees the request or lease and may change it.
void require_withdrawable(const Call& call) {
  require_known(call);
  if (call.view.may_change(*call.view.find(call.id))) return;
  throw CallError(403, fmt::format("{} may not withdraw request {}: another client owns it",
                                   call.client.name, call.id));
}

// Ends a request that another process has removed just now. It may have leased the nodes, which the
// tables need not show yet. `nodes` are those of its last record.
Task<web::Response> release_ended(Call& call, std::vector<std::string> nodes) {
  if (nodes.empty()) {
    co_await wait_for_lease(call);
    const model::IdSet& allocated = call.context.records.nodes.allocated_to(call.id);
    nodes.assign(allocated.begin(), allocated.end());
  }
  std::vector<std::string> released;
  try {
    released = co_await requestor::release_nodes(call.context.runtime, call.context.store, call.id,
                                                 std::move(nodes));
  } catch (const requestor::RequestError& error) {
    throw CallError(409, error.what());
  }
  call.outcome = fmt::format("ended {} [{}]", call.id, fmt::join(released, ", "));
  co_return web::Response{204};
}

Task<> remove_in_flight(InFlightQuota& in_flight, std::string owner, std::size_t nodes) {
  in_flight.remove(owner, nodes);
  co_return;
}

Task<std::optional<NodeRequest>> place(Call& call, NewRequest wanted) {
  std::optional<NodeRequest> placed = co_await requestor::create_lease_request(
      call.context.runtime, call.context.store, std::move(wanted.request_spec),
      std::move(wanted.lease_request));
  if (placed) call.context.records.requests.written(*placed, placed->stat);
  co_return placed;
}

// The nodes are in flight until the table has the request: at no moment do they count nowhere.
Task<std::optional<NodeRequest>> put(Call& call, InFlightQuota& in_flight, NewRequest wanted) {
  const std::size_t count = wanted.request_spec.labels.size();
  in_flight.add(call.client.name, count);
  Task<std::optional<NodeRequest>> placing = place(call, std::move(wanted));
  const std::function<Task<>()> placed = [&in_flight, &call, count] {
    return remove_in_flight(in_flight, call.client.name, count);
  };
  co_return co_await async::finally(std::move(placing), placed);
}

// Throws CallError (404) if the request has ended meanwhile: other tasks run between the end of a
// wait and its caller.
Task<web::Response> request_response(Call& call, unsigned status) {
  co_await wait_for_nodes(call);
  require_known(call);
  web::Response response = json_response(status, document_of(call) + "\n");
  response.headers.emplace_back("Location", base_path(call.id));
  co_return response;
}

Task<> stream(ApiContext& context, Client client, std::string id, web::StreamSink& sink) {
  const web::Request request;
  Call call{.context = context, .client = client, .request = request, .id = std::move(id)};
  async::Event changed;
  const coordination::Subscription watching =
      context.lease_index.observe(call.id, [&changed] { changed.set(); });
  std::string last;
  while (true) {
    co_await wait_for_record(call);
    co_await wait_for_nodes(call);
    const LeaseIndex::Entry* entry = context.lease_index.find(call.id);
    const bool is_there = entry != nullptr;
    const bool is_unknown = !is_there && !context.records.ready();
    std::string document = is_there ? document_of(call) : "null";
    const bool is_over = is_there ? !is_waiting(*entry) : !is_unknown;
    std::string part = ":\n\n";  // a comment: keeps the connection open
    if (!is_unknown && document != last) {
      part = fmt::format("event: {}\ndata: {}\n\n", is_there ? "request" : "gone", document);
      last = std::move(document);
    }
    const bool is_taken = co_await sink.send(std::move(part));
    if (!is_taken || is_over) co_return;
    co_await changed.wait_until(context.runtime.clock, context.runtime.clock.now() + kStreamPause);
  }
}

}  // namespace

Task<web::Response> create_request(Call& call, InFlightQuota& in_flight) {
  NewRequest wanted = read_request(call);
  const std::vector<std::string> labels = wanted.request_spec.labels;
  const std::string key = wanted.lease_request.key;
  const auto deadline = call.context.runtime.clock.now() + call.wait().value_or(async::Duration(0));
  bool is_new = false;
  const bool is_known = !key.empty() && call.context.lease_index.id_of_key(key).has_value();
  if (!is_known) {
    require_nodes(call, in_flight, labels.size());
    const std::optional<NodeRequest> placed = co_await put(call, in_flight, std::move(wanted));
    if (placed) {
      is_new = true;
      call.id = placed->id;
      call.context.worker.adopt(call.id);
      call.outcome = fmt::format("placed {} [{}]", call.id, fmt::join(labels, ", "));
      audit(call, 201);  // whatever the end of the wait
    }
  }
  if (!is_new) {
    co_await find_by_key(call, key, labels, deadline);
    call.outcome = fmt::format("has {} [{}]", call.id, fmt::join(labels, ", "));
  }
  if (call.wait()) {
    co_await wait_for_end(call, deadline);
  } else {
    co_await require_request(call, deadline);
  }
  co_return co_await request_response(call, is_new ? 201 : 200);
}

Task<web::Response> show_request(Call& call) {
  const std::optional<async::Duration> wait = call.wait();
  const auto deadline = call.context.runtime.clock.now() + wait.value_or(async::Duration(0));
  co_await require_request(call, deadline);
  if (wait) co_await wait_for_end(call, deadline);
  co_return co_await request_response(call, 200);
}

Task<web::Response> list_requests(Call& call) {
  const std::size_t most = call.number("limit", kUsualPage, kLargestPage);
  const std::string* after = call.request.parameter("after");
  const auto& all = call.context.records.requests.all();
  const double now = call.context.runtime.clock.wall_seconds();
  report::Table table = report::request_columns();
  std::string last;
  std::string next;
  std::size_t read = 0;
  for (auto at = after == nullptr ? all.begin() : all.upper_bound(*after); at != all.end(); ++at) {
    const auto& [id, request] = *at;
    ++read;
    if (!call.view.has(request)) continue;
    if (table.rows().size() == most) {
      next = fmt::format(R"(, "next": "/api/v1/requests?limit={}&after={}")", most, last);
      break;
    }
    report::add_request(table, request, now);
    last = id;
  }
  call.context.authorizer.charge_list(call.client, call.request, read, table.rows().size());
  co_return json_response(200,
                          fmt::format("{{\"requests\": {}{}}}\n", report::table_json(table), next));
}

Task<web::Response> stream_request(Call& call) {
  co_await require_request(call, call.context.runtime.clock.now());
  web::Response response{200,
                         {{"Content-Type", "text/event-stream"}, {"Cache-Control", "no-store"}}};
  response.stream = [&context = call.context, client = call.client, id = call.id](
                        web::StreamSink& sink) { return stream(context, client, id, sink); };
  co_return response;
}

Task<web::Response> delete_request(Call& call) {
  co_await require_request(call, call.context.runtime.clock.now());
  require_withdrawable(call);
  std::vector<std::string> nodes;  // of the request, as last seen
  for (int attempt = 0; attempt < 5; ++attempt) {
    const LeaseIndex::Entry* entry = call.context.lease_index.find(call.id);
    if (entry != nullptr && entry->lease) co_return co_await release_lease(call);
    const NodeRequest* request = call.context.records.requests.find(call.id);
    if (request == nullptr) co_return co_await release_ended(call, std::move(nodes));
    nodes = request->nodes;
    const std::int32_t version = request->stat.version;
    switch (co_await requestor::end_lease_request(call.context.store, call.id, version)) {
      case requestor::RequestEnd::removed:
        call.context.records.requests.removed(call.id);
        call.outcome = "withdrew " + call.id;
        co_return web::Response{204};
      case requestor::RequestEnd::gone:
        co_return co_await release_ended(call, std::move(nodes));
      case requestor::RequestEnd::changed:  // it may be fulfilled now
        co_await read_from_store(call);
    }
  }
  throw CallError(409, fmt::format("Request {} is being changed by another process", call.id));
}

}  // namespace nodepool::api
