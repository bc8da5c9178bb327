#include "api/api.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "api/embedded_files.h"
#include "api/lease_calls.h"
#include "api/record_calls.h"
#include "async/file_watch.h"
#include "config/yaml.h"
#include "coordination/error.h"
#include "web/origin.h"

namespace nodepool::api {

using async::Task;
using coordination::StoreError;
using Scope = Client::Scope;

namespace {

constexpr std::string_view kBearer = "Bearer ";
// Of clients without a token, for each origin. It is meant for looking at pages.
constexpr double kAnonymousRate = 200;

double seconds_since_start(const async::Runtime& runtime) {
  return std::chrono::duration<double>(runtime.clock.now().time_since_epoch()).count();
}

bool is_out_of_hand(unsigned status) {
  return status == 401 || status == 429;
}

Task<web::Response> show_description(Call& /*call*/) {
  co_return json_answer(200, std::string(embedded_files().front().text));
}

// What the client is told of a store that does not answer.
CallError explained(const StoreError& error) {
  const bool is_unknown = error.kind() == StoreError::Kind::unknown_outcome ||
                          error.kind() == StoreError::Kind::session_expired;
  return {503,
          is_unknown ? "The store went away meanwhile: it may or may not have been done. Look, or "
                       "send it again with the same idempotency key"
                     : "The store is out of reach; nothing has been done",
          {"Retry-After", "5"}};
}

}  // namespace

struct Api::Route {
  std::string_view method;
  std::string_view path;  // "{id}" stands for one component
  Scope scope;
  Task<web::Response> (*call)(Call&);  // null: place_order, which takes more
};

const std::vector<Api::Route>& Api::routes() {
  static const std::vector<Route> kRoutes{
      {"POST", "/api/v1/requests", Scope::request, nullptr},
      {"GET", "/api/v1/requests", Scope::read, list_orders},
      {"GET", "/api/v1/requests/{id}", Scope::read, show_order},
      {"GET", "/api/v1/requests/{id}/events", Scope::read, stream_order},
      {"DELETE", "/api/v1/requests/{id}", Scope::request, end_order},
      {"GET", "/api/v1/leases", Scope::read, list_leases},
      {"GET", "/api/v1/leases/{id}", Scope::read, show_lease},
      {"POST", "/api/v1/leases/{id}/renew", Scope::request, renew_lease},
      {"POST", "/api/v1/leases/{id}/hold", Scope::request, hold_nodes},
      {"DELETE", "/api/v1/leases/{id}", Scope::request, release_lease},
      {"GET", "/api/v1/nodes", Scope::read, list_nodes},
      {"GET", "/api/v1/nodes/{id}", Scope::read, show_node},
      {"DELETE", "/api/v1/nodes/{id}/hold", Scope::request, end_hold},
      {"GET", "/api/v1/labels", Scope::read, list_labels},
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
      audit_(audit),
      options_(std::move(options)),
      ledger_(records.requests, records.nodes),
      keeper_(runtime, store, records, ledger_, log),
      threads_(1, "api"),
      site_{.runtime = runtime,
            .store = store,
            .records = records,
            .ledger = ledger_,
            .keeper = keeper_,
            .threads = threads_,
            .journal = options_.journal,
            .explain = options_.explain,
            .max_lease = options_.max_lease},
      refusals_(runtime, log),
      scope_(runtime, [log](const std::string& name, const std::string& error) {
        log.error("{}: {}", name, error);
      }) {}

Api::~Api() = default;

void Api::start() {
  keeper_.start();
  if (options_.tokens.empty()) return;
  read_tokens();
  scope_.spawn("tokens", follow_tokens());
}

Task<> Api::stop() {
  co_await scope_.stop();
  co_await refusals_.stop();
  co_await keeper_.stop();
}

void Api::read_tokens() {
  try {
    tokens_ = Tokens::read(options_.tokens);
    log_.info("{} tokens are in {}", tokens_.size(), options_.tokens);
  } catch (const std::exception& error) {
    log_.error("The tokens stay as they were, {} of them: {}", tokens_.size(), error.what());
  }
}

Task<> Api::follow_tokens() {
  async::FileWatch file(runtime_.executor, {options_.tokens});
  while (true) {
    co_await file.changed();
    read_tokens();
  }
}

// Who asks; with nothing to show for it, who may read if the site says so.
Client Api::identify(const web::Request& request) const {
  const std::string* header = request.header("authorization");
  if (header != nullptr) {
    if (!header->starts_with(kBearer)) throw CallError(401, "Say `Authorization: Bearer TOKEN`");
    if (!request.peer.is_private) {
      throw CallError(403,
                      "Tokens are taken over TLS, over the Unix socket, and from this machine: "
                      "others could read this one. Replace it");
    }
    const Client* client =
        tokens_.find(header->substr(kBearer.size()), runtime_.clock.wall_seconds());
    if (client == nullptr) throw CallError(401, "This token is not known, or no longer valid");
    return *client;
  }
  if (request.peer.user) {
    const bool is_operator = *request.peer.user == 0 || *request.peer.user == ::geteuid();
    return {.name = fmt::format("user:{}", *request.peer.user),
            .scope = is_operator ? Scope::admin : Scope::request};
  }
  return {.name = {},
          .scope = options_.anonymous_read ? Scope::read : Scope::none,
          .rate = kAnonymousRate};
}

void Api::require(const Client& client, Scope scope, const web::Request& request) {
  const std::string who = client.name.empty() ? web::origin(request.peer) : client.name;
  if (!pace_.allows(who, client.rate, seconds_since_start(runtime_))) {
    throw CallError(429, fmt::format("{} calls a second are too many", client.rate),
                    {"Retry-After", "1"});
  }
  if (client.scope >= scope) return;
  if (client.name.empty()) throw CallError(401, "This needs a token");
  throw CallError(403,
                  fmt::format("{} may not {} this: its scope is {}", client.name,
                              request.method == "GET" ? "see" : "do", to_string(client.scope)));
}

std::optional<web::Response> Api::refuse_reading(const web::Request& request) {
  if (options_.anonymous_read) return std::nullopt;
  try {
    require(identify(request), Scope::read, request);
  } catch (const CallError& error) {
    tell_of_refusal(request, error.status());
    web::Response response = problem_answer(error.status(), error.what());
    if (error.status() == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
    return response;
  }
  return std::nullopt;
}

bool Api::may_read(const web::Request& request) const {
  if (options_.anonymous_read) return true;
  try {
    return identify(request).scope >= Scope::read;
  } catch (const CallError&) {
    return false;
  }
}

std::string Api::client_of(const web::Request& request) const {
  try {
    return identify(request).name;
  } catch (const CallError&) {
    return {};
  }
}

bool Api::matches(const Route& route, const web::Request& request, std::string& id) {
  std::string_view pattern = route.path;
  std::string_view path = request.path;
  const std::size_t hole = pattern.find("{id}");
  if (hole == std::string_view::npos) return pattern == path;
  constexpr std::size_t kHole = 4;
  if (!path.starts_with(pattern.substr(0, hole))) return false;
  path.remove_prefix(hole);
  pattern.remove_prefix(hole + kHole);
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
  if (methods.empty()) throw CallError(404, "There is no such call; see /api/v1/openapi.json");
  throw CallError(405, fmt::format("This takes {}", methods), {"Allow", methods});
}

Task<web::Response> Api::answer(web::Request request) {
  const web::Request asked{.method = request.method,
                           .path = request.path,
                           .parameters = {},
                           .headers = {},
                           .peer = request.peer};
  web::Response response;
  std::optional<CallError> refusal;
  try {
    response = co_await perform(std::move(request));
  } catch (const CallError& error) {
    refusal = error;
  } catch (const StoreError& error) {
    if (error.kind() == StoreError::Kind::closed) throw async::Cancelled();
    log_.warning("A call has failed: {}", error.what());
    refusal = explained(error);
  }
  if (!refusal) co_return response;
  tell_of_refusal(asked, refusal->status());
  response = problem_answer(refusal->status(), refusal->what());
  for (std::size_t i = 0; i + 1 < refusal->headers().size(); i += 2) {
    response.headers.emplace_back(refusal->headers()[i], refusal->headers()[i + 1]);
  }
  if (refusal->status() == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  co_return response;
}

Task<web::Response> Api::perform(web::Request request) {
  std::string id;
  const Route& route = find_route(request, id);
  const Client client = identify(request);
  Call call{.site = site_, .client = client, .request = request, .id = std::move(id)};
  const bool is_change = route.scope >= Scope::request;
  web::Response response;
  try {
    check(route, call);
    Task<web::Response> calling =
        route.call == nullptr ? place_order(call, placements_) : route.call(call);
    response = co_await std::move(calling);
  } catch (const CallError& error) {
    if (is_change && !is_out_of_hand(error.status())) write_down(call, error.status());
    throw;
  } catch (const StoreError& error) {
    if (is_change) write_down(call, explained(error).status());
    throw;
  }
  if (is_change) write_down(call, response.status);
  co_return response;
}

// Throws CallError unless the client may make the call, now.
void Api::check(const Route& route, const Call& call) {
  require(call.client, route.scope, call.request);
  if (call.request.has_form) throw CallError(415, "The body is a form; calls take JSON");
  constexpr std::size_t kLongestId = 256;
  if (call.id.size() > kLongestId) throw CallError(404, "There is nothing of so long a name");
  if (!records_.ready() && route.scope != Scope::none) {
    throw CallError(503, "The launcher does not know the records yet", {"Retry-After", "1"});
  }
}

// Clients without rights, and those above their rate, can call at any rate: the log counts them.
void Api::tell_of_refusal(const web::Request& request, unsigned status) {
  if (!is_out_of_hand(status)) return;
  refusals_.warn(fmt::format("Calls refused with {}", status),
                 fmt::format("{} from {}", request_summary(request), web::origin(request.peer)));
}

// Who wanted to change what, and what has come of it.
void Api::write_down(const Call& call, unsigned status) const {
  const web::Request& request = call.request;
  const std::string from =
      request.peer.user ? fmt::format("user {}", *request.peer.user) : request.peer.address;
  audit_.info("{} from {}: {}: {}{}", call.client.name, from, request_summary(request), status,
              call.outcome.empty() ? "" : ", " + call.outcome);
}

}  // namespace nodepool::api
