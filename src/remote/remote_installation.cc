#include "remote/remote_installation.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "json/json.h"
#include "report/listings.h"
#include "requestor/error.h"

namespace nodepool::remote {

using json::Json;
using requestor::RequestError;

namespace {

constexpr std::string_view kApi = "/api/v1/";
constexpr std::string_view kUnix = "unix://";

// The longest wait of one call, and the time that a call may take in addition.
constexpr std::chrono::seconds kWait{30};
constexpr std::chrono::seconds kCallTimeout{30};
// The tolerated difference between the clocks of a launcher and of this host.
constexpr std::chrono::seconds kClockTolerance{5};
constexpr int kNotFound = 404;

// After this process is killed, the nodes that it uses stay leased for at most kLeaseInUse. Until
// a lease expires, the launchers may be unreachable.
constexpr std::chrono::seconds kLeaseInUse = std::chrono::minutes(3);
constexpr std::chrono::seconds kRenewal{45};

std::vector<std::string> bases_of(const std::string& url) {
  std::vector<std::string> bases;
  std::size_t at = 0;
  while (at <= url.size()) {
    const std::size_t end = std::min(url.find(',', at), url.size());
    std::string base = url.substr(at, end - at);
    while (base.ends_with('/')) base.pop_back();
    if (!base.empty()) bases.push_back(std::move(base));
    at = end + 1;
  }
  const bool is_http = !bases.empty() && std::ranges::all_of(bases, [](const std::string& base) {
    return base.starts_with("https://") || base.starts_with("http://");
  });
  const bool is_unix = bases.size() == 1 && bases.front().starts_with(kUnix);
  if (!is_http && !is_unix) {
    throw RequestError("invalid URL of the API (expected https://host:8006 or " +
                       std::string(kUnix) + "/run/nodepool/api.socket): " + url);
  }
  return bases;
}

http::ClientOptions client_options(const ApiAddress& address) {
  http::ClientOptions options;
  options.transfers.ca_file = address.ca_file;
  if (address.url.starts_with(kUnix)) {
    options.transfers.unix_socket = address.url.substr(kUnix.size());
  }
  options.attempts = 2;  // then the next launcher is called
  return options;
}

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

RequestError invalid_response(const std::string& what) {
  return RequestError("the API's response is invalid: " + what);
}

Json parse_response(const std::string& body) {
  try {
    Json document = json::parse(body);
    if (document.is_object()) return document;
  } catch (const json::ParseError& error) {
    throw invalid_response(error.what());
  }
  throw invalid_response("not an object");
}

// The id as one segment of a path.
std::string escaped(const std::string& id) {
  std::string text;
  for (const char c : id) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                          (c >= 'A' && c <= 'Z') || c == '-' || c == '_' || c == '.';
    text += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return text;
}

// A node's record. Of another client's node only id, provider and labels are known.
model::Node read_node(const Json& document) {
  if (document.contains("type")) {
    return model::parse_node(text_at(document, "id"), {document.dump(), {}});
  }
  model::Node node;
  node.id = text_at(document, "id");
  node.provider = text_at(document, "provider");
  const auto labels = document.find("label");
  if (labels != document.end() && labels->is_array()) {
    node.type = labels->get<std::vector<std::string>>();
  }
  return node;
}

requestor::LeasedNodes read_lease(const Json& document) {
  requestor::LeasedNodes leased;
  leased.lease.id = text_at(document, "id");
  leased.lease.holder = text_at(document, "holder");
  leased.lease.owner = text_at(document, "owner");
  try {
    leased.lease.expires = document.at("expires").get<double>();
    for (const Json& node : document.at("nodes")) leased.nodes.push_back(read_node(node));
  } catch (const Json::exception& error) {
    throw invalid_response(error.what());
  } catch (const model::RecordError& error) {
    throw invalid_response(error.what());
  }
  return leased;
}

Installation::Progress read_progress(const Json& document) {
  Installation::Progress progress{.id = text_at(document, "id")};
  const auto state = model::parse_request_state(text_at(document, "state"));
  if (!state) throw invalid_response("no state");
  progress.state = *state;
  const auto position = document.find("position");
  if (position != document.end() && position->is_number_unsigned()) {
    progress.position = position->get<std::size_t>();
  }
  const auto declined = document.find("declined");
  if (declined != document.end() && declined->is_array()) {
    for (const Json& item : *declined) {
      progress.declined.emplace_back(text_at(item, "pool"), text_at(item, "reason"));
    }
  }
  return progress;
}

Installation::Outcome read_outcome(const Json& document) {
  Installation::Outcome outcome{.progress = read_progress(document)};
  const auto lease = document.find("lease");
  if (lease != document.end() && lease->is_object()) outcome.leased = read_lease(*lease);
  return outcome;
}

// When the launchers withdraw a waiting request, in seconds since the epoch.
double withdrawal_time(const Json& document) {
  const auto expires = document.find("expires");
  if (expires == document.end() || !expires->is_number()) throw invalid_response("no expires");
  return expires->get<double>();
}

// Parses a row of the history, in the form of report/history_listing.h.
history::JournalEntry read_entry(const Json& row, const std::string& id) {
  history::JournalEntry entry;
  const auto time = row.find("time");
  if (time != row.end() && time->is_number()) entry.time = time->get<double>();
  const auto request = row.find("request");
  const auto nodes = row.find("nodes");
  const bool is_node = request != row.end();
  entry.subject =
      is_node ? history::JournalEntry::Subject::node : history::JournalEntry::Subject::request;
  entry.id = id;
  entry.event = text_at(row, "event");
  entry.details = text_at(row, "details");
  if (is_node && request->is_string()) entry.related = {request->get<std::string>()};
  if (nodes != row.end() && nodes->is_array()) {
    for (const Json& node : *nodes) {
      if (node.is_string()) entry.related.push_back(node.get<std::string>());
    }
  }
  const auto data = row.find("data");
  if (data != row.end() && !data->is_null()) entry.data = data->dump();
  return entry;
}

report::Table read_table(const Json& rows, std::vector<report::Column> columns) {
  if (!rows.is_array()) throw invalid_response("not a list");
  report::Table table(std::move(columns));
  for (const Json& item : rows) {
    report::Row row;
    for (const report::Column& column : table.columns()) {
      const auto found = item.find(column.key);
      row.emplace_back(model::Json{found == item.end() ? "null" : found->dump()});
    }
    table.add(std::move(row));
  }
  return table;
}

report::Statements read_statements(const Json& list) {
  report::Statements statements;
  for (const Json& item : list) {
    report::Statement statement{
        .key = text_at(item, "key"), .name = text_at(item, "name"), .text = text_at(item, "text")};
    const auto details = item.find("details");
    if (details != item.end()) statement.details = read_statements(*details);
    statements.push_back(std::move(statement));
  }
  return statements;
}

report::Explanation read_explanation(const Json& document) {
  report::Explanation explanation;
  const auto statements = document.find("statements");
  if (statements == document.end()) throw invalid_response("no statements");
  explanation.statements = read_statements(*statements);
  const auto others = document.find("others");
  if (others != document.end()) {
    for (const Json& other : *others) explanation.others.push_back(read_explanation(other));
  }
  const auto omitted = document.find("omitted");
  if (omitted != document.end() && omitted->is_number_unsigned()) {
    explanation.omitted = omitted->get<std::size_t>();
  }
  return explanation;
}

}  // namespace

struct RemoteInstallation::Reply {
  int status = 0;
  Json document = Json();  // an object; null if there is none
};

RemoteInstallation::RemoteInstallation(const async::Runtime& runtime, const ApiAddress& address,
                                       const telemetry::Logger& log, Warn warn)
    : runtime_(runtime),
      bases_(bases_of(address.url)),
      token_(address.token),
      client_(runtime, client_options(address), log),
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

// Sends a call to the launcher that responded last, then to the others. Throws for error statuses
// except 404.
Task<RemoteInstallation::Reply> RemoteInstallation::call(std::string method, std::string path,
                                                         std::string body, std::string key) {
  std::string failure;
  for (std::size_t attempt = 0; attempt < bases_.size(); ++attempt) {
    const std::string& base = bases_.at((current_ + attempt) % bases_.size());
    http::Request request;
    request.method = method;
    request.deadline = kWait + kCallTimeout;
    request.url = (base.starts_with(kUnix) ? "http://nodepool" : base) + std::string(kApi) + path;
    request.name = "nodepool: " + method + " " + path.substr(0, path.find_first_of("/?"));
    request.repeatable = http::Request::Repeatable::yes;  // calls are idempotent, some by their key
    request.body = body;
    if (!body.empty()) request.headers.emplace_back("Content-Type", "application/json");
    if (!token_.empty()) request.headers.emplace_back("Authorization", "Bearer " + token_);
    if (!key.empty()) request.headers.emplace_back("Idempotency-Key", key);
    std::optional<http::Response> response;
    try {
      response = co_await client_.send(std::move(request));
    } catch (const http::HttpError& error) {
      failure = error.what();
    }
    if (!response) continue;
    constexpr int kUnavailable = 503;
    const bool is_last = attempt + 1 == bases_.size();
    if (response->status == kUnavailable && !is_last) continue;
    current_ = (current_ + attempt) % bases_.size();
    Reply reply{.status = response->status};
    if (!response->body.empty()) reply.document = parse_response(response->body);
    if (response->is_success() || response->status == kNotFound) co_return reply;
    const std::string detail =
        reply.document.is_object() ? text_at(reply.document, "detail") : std::string();
    throw RequestError(detail.empty()
                           ? fmt::format("the API responded with status {}", response->status)
                           : detail);
  }
  throw RequestError("no launcher responds: " + failure);
}

// The same, but throws also for 404.
Task<RemoteInstallation::Reply> RemoteInstallation::call_existing(std::string method,
                                                                  std::string path,
                                                                  std::string body) {
  Reply reply = co_await call(std::move(method), std::move(path), std::move(body), {});
  if (reply.status == kNotFound) throw RequestError(text_at(reply.document, "detail"));
  co_return reply;
}

Task<Installation::Outcome> RemoteInstallation::request(Request request, Observer observer) {
  if (request.is_for_process) request.lease = kLeaseInUse;
  Json document = {{"labels", request.labels}, {"timeout", request.timeout.count()}};
  if (request.lease) document["lease"] = request.lease->count();
  if (!request.holder.empty()) document["holder"] = request.holder;
  const std::string body = document.dump();
  const async::Clock::TimePoint deadline = runtime_.clock.now() + request.timeout;
  const std::string key = request.key.empty() ? runtime_.random.uuid_hex() : request.key;
  Task<Outcome> requesting = submit_and_follow(body, key, deadline, std::move(observer));
  Outcome outcome;
  try {
    outcome = co_await std::move(requesting);
  } catch (const async::Cancelled&) {
    withdrawals_.spawn("withdrawing a request", find_and_withdraw(body, key));
    throw;
  }
  if (outcome.leased && request.is_for_process) {
    lease_in_use_ = outcome.leased->lease.id;
    renewals_.spawn("renewing the lease", keep_lease(lease_in_use_));
  }
  co_return outcome;
}

Task<Installation::Outcome> RemoteInstallation::submit_and_follow(std::string body, std::string key,
                                                                  async::Clock::TimePoint deadline,
                                                                  Observer observer) {
  Reply placed = co_await submit(std::move(body), std::move(key));
  co_return co_await follow(std::move(placed), deadline, std::move(observer));
}

Task<RemoteInstallation::Reply> RemoteInstallation::submit(std::string body, std::string key) {
  Reply placed = co_await call("POST", "requests", std::move(body), std::move(key));
  if (placed.status == kNotFound) throw RequestError("the request has already ended");
  co_return placed;
}

// Withdraws a cancelled request that may or may not exist: submitting it again with its key returns
// its id.
Task<> RemoteInstallation::find_and_withdraw(std::string body, std::string key) {
  try {
    const Reply placed = co_await submit(std::move(body), std::move(key));
    co_await withdraw(text_at(placed.document, "id"));
  } catch (const RequestError&) {
    // It was refused, or has ended, or no launcher responds: then it ends with its timeout.
  }
}

Task<Installation::Outcome> RemoteInstallation::follow(Reply reply,
                                                       async::Clock::TimePoint deadline,
                                                       Observer observer) {
  while (true) {
    Outcome outcome = read_outcome(reply.document);
    if (observer) observer(outcome.progress);
    const auto left = std::chrono::ceil<std::chrono::seconds>(deadline - runtime_.clock.now());
    const bool is_over = outcome.leased || outcome.progress.state == model::RequestState::failed;
    if (is_over || left <= std::chrono::seconds(0)) {
      if (!outcome.leased) co_await withdraw(outcome.progress.id);
      co_return outcome;
    }
    const double end = withdrawal_time(reply.document);
    reply = co_await call("GET",
                          fmt::format("requests/{}?wait={}", escaped(outcome.progress.id),
                                      std::min(left, kWait).count()),
                          {}, {});
    if (reply.status != kNotFound) continue;
    // The launchers withdraw a request after its timeout, possibly before they respond.
    const double tolerance = std::chrono::duration<double>(kClockTolerance).count();
    const bool is_in_time = runtime_.clock.now() + kClockTolerance < deadline &&
                            runtime_.clock.wall_seconds() + tolerance < end;
    if (!is_in_time) co_return outcome;
    throw RequestError("request " + outcome.progress.id + " was removed by another client");
  }
}

Task<> RemoteInstallation::withdraw(std::string id) {
  co_await call("DELETE", "requests/" + escaped(id), {}, {});
}

// Renews the lease of the nodes in use until it is cancelled.
Task<> RemoteInstallation::keep_lease(std::string lease) {
  bool is_reported = false;
  while (true) {
    co_await runtime_.clock.sleep_for(kRenewal);
    std::string failure;
    try {
      co_await extend(lease, kLeaseInUse);
    } catch (const RequestError& error) {
      failure = error.what();
    }
    if (!failure.empty() && !std::exchange(is_reported, true)) {
      warn_("the lease could not be renewed, retrying: " + failure);
    }
  }
}

Task<> RemoteInstallation::end_use(std::optional<std::string> hold_reason) {
  co_await renewals_.stop();
  if (lease_in_use_.empty()) co_return;
  try {
    co_await release_from(std::exchange(lease_in_use_, {}), std::nullopt, std::move(hold_reason));
  } catch (const RequestError& error) {
    throw RequestError(std::string("that happens when their lease expires: ") + error.what());
  }
}

Task<model::Lease> RemoteInstallation::extend(std::string lease,
                                              std::optional<std::chrono::seconds> duration) {
  std::string body = duration ? Json{{"lease", duration->count()}}.dump() : std::string();
  const Reply reply =
      co_await call_existing("POST", "leases/" + escaped(lease) + "/renew", std::move(body));
  const auto expires = reply.document.find("expires");
  if (expires == reply.document.end() || !expires->is_number())
    throw invalid_response("no expires");
  co_return model::Lease{.id = lease, .expires = expires->get<double>(), .holder = {}};
}

Task<Installation::Renewal> RemoteInstallation::renew(
    std::string lease, std::optional<std::chrono::seconds> duration) {
  const Reply before = co_await call_existing("GET", "leases/" + escaped(lease), {});
  model::Lease renewed = co_await extend(std::move(lease), duration);
  co_return Renewal{std::move(renewed), read_lease(before.document).lease.expires};
}

// Releases a lease, or one of its nodes; with a reason, holds the nodes.
Task<> RemoteInstallation::release_from(std::string lease, std::optional<std::string> node,
                                        std::optional<std::string> hold_reason) {
  std::string path = "leases/" + escaped(lease);
  if (!hold_reason) {
    if (node) path += "?node=" + escaped(*node);
    co_await call_existing("DELETE", std::move(path), {});
    co_return;
  }
  Json document = {{"reason", *hold_reason}};
  if (node) document["nodes"] = std::vector<std::string>{*node};
  co_await call_existing("POST", path + "/hold", document.dump());
}

Task<std::vector<std::string>> RemoteInstallation::release(std::string id,
                                                           std::optional<std::string> hold_reason) {
  const requestor::LeasedNodes leased = co_await find_lease(id);
  const std::string& lease = leased.lease.id;
  const std::optional<std::string> node = lease == id ? std::nullopt : std::optional(id);
  co_await release_from(lease, node, std::move(hold_reason));
  std::vector<std::string> ids;
  ids.reserve(leased.nodes.size());
  for (const model::Node& released : leased.nodes) ids.push_back(released.id);
  co_return ids;
}

// The lease with this id, or the lease of the node with this id, with this node only.
Task<requestor::LeasedNodes> RemoteInstallation::find_lease(std::string id) {
  const Reply reply = co_await call("GET", "leases/" + escaped(id), {}, {});
  if (reply.status != kNotFound) co_return read_lease(reply.document);
  const Reply node = co_await call("GET", "nodes/" + escaped(id), {}, {});
  const std::string lease =
      node.status == kNotFound ? std::string() : text_at(node.document, "allocated_to");
  if (lease.empty()) throw RequestError("there is no lease or leased node " + id);
  const Reply of_node = co_await call("GET", "leases/" + escaped(lease), {}, {});
  if (of_node.status == kNotFound) throw RequestError("node " + id + " is not leased");
  requestor::LeasedNodes leased = read_lease(of_node.document);
  std::erase_if(leased.nodes, [&id](const model::Node& each) { return each.id != id; });
  co_return leased;
}

Task<std::vector<model::Node>> RemoteInstallation::find_nodes(std::string id) {
  requestor::LeasedNodes leased = co_await find_lease(std::move(id));
  co_return std::move(leased.nodes);
}

// The rows of a listing, each a JSON text.
Task<std::vector<std::string>> RemoteInstallation::pages(std::string listing) {
  std::vector<std::string> all;
  std::string after;
  while (true) {
    const std::string page = after.empty() ? "" : "&after=" + escaped(after);
    const Reply reply = co_await call("GET", fmt::format("{}?limit=1000{}", listing, page), {}, {});
    const auto rows = reply.document.find(listing);
    if (rows == reply.document.end() || !rows->is_array()) {
      throw invalid_response("no " + listing);
    }
    for (const Json& row : *rows) all.push_back(row.dump());
    if (!reply.document.contains("next") || rows->empty()) co_return all;
    after = text_at(rows->back(), "id");
  }
}

Task<std::vector<requestor::LeasedNodes>> RemoteInstallation::leases() {
  std::vector<requestor::LeasedNodes> leases;
  const std::vector<std::string> rows = co_await pages("leases");
  leases.reserve(rows.size());
  for (const std::string& row : rows) leases.push_back(read_lease(json::parse(row)));
  co_return leases;
}

Task<report::Table> RemoteInstallation::list(std::string listing,
                                             std::vector<report::Column> columns) {
  const std::vector<std::string> rows = co_await pages(std::move(listing));
  Json list = Json::array();
  for (const std::string& row : rows) list.push_back(json::parse(row));
  co_return read_table(list, std::move(columns));
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
  const Reply reply = co_await call_existing("GET", "history/" + escaped(id), {});
  const auto rows = reply.document.find("history");
  if (rows == reply.document.end()) throw invalid_response("no history");
  std::vector<history::JournalEntry> entries;
  for (const Json& row : *rows) entries.push_back(read_entry(row, id));
  if (entries.empty()) throw RequestError("the history has no entries for " + id);
  co_return entries;
}

Task<report::Explanation> RemoteInstallation::explain(std::string subject, bool online) {
  if (online) throw RequestError("--online needs the store and does not work with --url");
  const Reply reply = co_await call_existing("GET", "explain/" + escaped(subject), {});
  co_return read_explanation(reply.document);
}

Task<std::vector<coordination::Subscription>> RemoteInstallation::watch(
    std::function<void()> /*observer*/) {
  throw RequestError("--watch needs the store and does not work with --url");
}

}  // namespace nodepool::remote
