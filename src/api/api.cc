#include "api/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/embedded_files.h"
#include "api/lease_calls.h"
#include "api/operator_calls.h"
#include "api/record_calls.h"
#include "coordination/error.h"

namespace nodepool::api {

using async::Task;
using coordination::StoreError;
using Scope = Client::Scope;

namespace {

// Clients without rights and clients above their rate limit cause these, in any number. The audit
// log leaves them out.
bool is_excluded_from_audit(unsigned status) {
  return status == 401 || status == 429;
}

Task<web::Response> show_description(Call& /*call*/) {
  co_return json_response(200, std::string(embedded_files().front().text));
}

// The response to a call that failed because of the store.
CallError store_failure(const StoreError& error) {
  if (error.kind() == StoreError::Kind::bad_version) {
    return {409, "Another process has changed the record during the call. Check it, and retry"};
  }
  const bool is_unknown = error.kind() == StoreError::Kind::unknown_outcome ||
                          error.kind() == StoreError::Kind::session_expired;
  return {503,
          is_unknown
              ? "The connection to the store was lost during the call: its outcome is unknown. "
                "Check the result, or retry with the same idempotency key"
              : "The store is unreachable; nothing has been changed. Retry later",
          {{"Retry-After", "5"}}};
}

}  // namespace

struct Api::Route {
  std::string_view method;
  std::string_view path;  // "{id}" stands for one component
  Scope scope;
  Task<web::Response> (*call)(Call&);  // null: create_request, which takes one argument more
  std::vector<std::string_view> parameters = {};  // of the query
};

const std::vector<Api::Route>& Api::routes() {
  static const std::vector<Route> kRoutes{
      {"POST", "/api/v1/requests", Scope::request, nullptr, {"wait"}},
      {"GET", "/api/v1/requests", Scope::read, list_requests, {"limit", "after"}},
      {"GET", "/api/v1/requests/{id}", Scope::read, show_request, {"wait"}},
      {"GET", "/api/v1/requests/{id}/events", Scope::read, stream_request},
      {"DELETE", "/api/v1/requests/{id}", Scope::request, delete_request, {"node"}},
      {"GET", "/api/v1/leases", Scope::read, list_leases, {"limit", "after"}},
      {"GET", "/api/v1/leases/{id}", Scope::read, show_lease},
      {"POST", "/api/v1/leases/{id}/renew", Scope::request, renew_lease},
      {"POST", "/api/v1/leases/{id}/hold", Scope::request, hold_nodes},
      {"DELETE", "/api/v1/leases/{id}", Scope::request, release_lease, {"node"}},
      {"GET",
       "/api/v1/nodes",
       Scope::read,
       list_nodes,
       {"limit", "after", "label", "state", "provider"}},
      {"GET", "/api/v1/nodes/{id}", Scope::read, show_node},
      {"DELETE", "/api/v1/nodes/{id}", Scope::admin, delete_node},
      {"POST", "/api/v1/nodes/{id}/hold", Scope::admin, hold_node},
      {"DELETE", "/api/v1/nodes/{id}/hold", Scope::request, end_hold},
      {"POST", "/api/v1/images/{id}/build", Scope::admin, build_image},
      {"POST", "/api/v1/images/{id}/pause", Scope::admin, pause_image},
      {"DELETE", "/api/v1/images/{id}/pause", Scope::admin, unpause_image},
      // The list has no pages, but clients send the parameters.
      {"GET", "/api/v1/labels", Scope::read, list_labels, {"limit", "after"}},
      {"GET", "/api/v1/explain/{id}", Scope::read, explain_subject},
      {"GET", "/api/v1/history/{id}", Scope::read, show_history},
      {"GET", "/api/v1/client", Scope::none, show_client},
      {"GET", "/api/v1/openapi.json", Scope::none, show_description},
  };
  return kRoutes;
}

std::vector<std::string> Api::calls() {
  std::vector<std::string> calls;
  for (const Route& route : routes())
    calls.push_back(fmt::format("{} {}", route.method, route.path));
  return calls;
}

Api::Api(const async::Runtime& runtime, coordination::Store& store, model::Records& records,
         const telemetry::Logger& log, const telemetry::Logger& audit, Options options)
    : runtime_(runtime),
      records_(records),
      log_(log),
      options_(std::move(options)),
      lease_index_(records.requests, records.nodes),
      worker_(runtime, store, records, lease_index_, log),
      threads_(1, "api"),
      authorizer_(runtime, log, audit, options_.access),
      context_{.runtime = runtime,
               .store = store,
               .records = records,
               .lease_index = lease_index_,
               .worker = worker_,
               .threads = threads_,
               .journal = options_.journal,
               .explain = options_.explain,
               .max_lease = options_.max_lease,
               .configured_pause = options_.configured_pause,
               .authorizer = authorizer_,
               .audit = audit} {}

Api::~Api() = default;

void Api::start() {
  worker_.start();
  authorizer_.start();
}

Task<> Api::stop() {
  co_await authorizer_.stop();
  co_await worker_.stop();
}

bool Api::matches(const Route& route, const web::Request& request, std::string& id) {
  std::string_view pattern = route.path;
  std::string_view path = request.path;
  const std::size_t id_at = pattern.find("{id}");
  if (id_at == std::string_view::npos) return pattern == path;
  constexpr std::size_t kIdSize = 4;  // "{id}"
  if (!path.starts_with(pattern.substr(0, id_at))) return false;
  path.remove_prefix(id_at);
  pattern.remove_prefix(id_at + kIdSize);
  const std::size_t end = std::min(path.find('/'), path.size());
  if (end == 0 || path.substr(end) != pattern) return false;
  id = std::string(path.substr(0, end));
  return true;
}

const Api::Route& Api::find_route(const web::Request& request, std::string& id) const {
  std::string methods;
  for (const Route& route : routes()) {
    if (!matches(route, request, id)) continue;
    const bool is_head = request.method == "HEAD" && route.method == "GET";
    if (route.method == request.method || is_head) return route;
    methods += (methods.empty() ? "" : ", ") + std::string(route.method);
  }
  if (methods.empty())
    throw CallError(404, "Unknown path; /api/v1/openapi.json describes all calls");
  throw CallError(405, fmt::format("Method not allowed; use {}", methods), {{"Allow", methods}});
}

Task<web::Response> Api::answer(web::Request request) {
  const web::Request head = head_of(request);
  web::Response response;
  std::optional<CallError> refusal;
  try {
    response = co_await perform(std::move(request));
  } catch (const CallError& error) {
    refusal = error;
  } catch (const StoreError& error) {
    if (error.kind() == StoreError::Kind::closed) throw async::Cancelled();
    log_.warning("API call failed: {}", error.what());
    refusal = store_failure(error);
  }
  if (!refusal) {
    authorizer_.bind_to_client(response, head);
    co_return response;
  }
  authorizer_.log_refusal(head, refusal->status());
  response = problem_response(refusal->status(), refusal->what());
  for (const auto& header : refusal->headers()) response.headers.push_back(header);
  if (refusal->status() == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  co_return response;
}

Task<web::Response> Api::perform(web::Request request) {
  std::string id;
  const Route& route = find_route(request, id);
  const Client client = authorizer_.authenticate(request);
  Call call{.context = context_, .client = client, .request = request, .id = std::move(id)};
  const bool is_change = route.scope >= Scope::request;
  web::Response response;
  try {
    check(route, call);
    Task<web::Response> calling =
        route.call == nullptr ? create_request(call, in_flight_) : route.call(call);
    response = co_await std::move(calling);
  } catch (const CallError& error) {
    if (is_change && !is_excluded_from_audit(error.status())) audit(call, error.status());
    throw;
  } catch (const StoreError& error) {
    if (is_change) audit(call, store_failure(error).status());
    throw;
  } catch (const async::Cancelled&) {
    if (!call.outcome.empty()) audit(call, std::nullopt);
    throw;
  }
  if (is_change) audit(call, response.status);
  co_return response;
}

// Throws CallError unless the client may make the call now.
void Api::check(const Route& route, const Call& call) {
  authorizer_.require(call.client, route.scope, call.request);
  if (call.request.has_form) throw CallError(415, "The body is a form; send JSON");
  for (const auto& [name, value] : call.request.parameters) {
    if (std::ranges::find(route.parameters, name) != route.parameters.end()) continue;
    throw CallError(422, fmt::format("Unknown parameter `{}`", name.substr(0, kLongestText)));
  }
  constexpr std::size_t kLongestId = 256;
  if (call.id.size() > kLongestId)
    throw CallError(404, fmt::format("id too long (at most {} characters)", kLongestId));
  if (route.scope != Scope::none) require_ready(records_);
}

}  // namespace nodepool::api
