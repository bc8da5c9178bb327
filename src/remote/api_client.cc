#include "remote/api_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "http/retry.h"
#include "remote/documents.h"

namespace nodepool::remote {

using json::Json;
using requestor::RequestError;

namespace {

constexpr std::string_view kApi = "/api/v1/";
constexpr std::string_view kUnix = "unix://";

// The time that a call may take in addition to its wait.
constexpr std::chrono::seconds kCallTimeout{30};

// The outcome of the call is unknown, and a repeated one may have the same result.
constexpr int kInternalError = 500;

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

Json parse_response(const std::string& body) {
  try {
    Json document = json::parse(body);
    if (document.is_object()) return document;
  } catch (const json::ParseError& error) {
    throw invalid_response(error.what());
  }
  throw invalid_response("not an object");
}

// The `detail` of an error; empty if the body is not one, but a page of a proxy.
std::string problem_detail(const std::string& body) {
  try {
    return text_at(parse_response(body), "detail");
  } catch (const RequestError&) {
    return {};
  }
}

// Whether the same call fails likewise until the token, its rights or the call is changed. With
// Retry-After, it may succeed later: the token has no more nodes than its limit then.
bool is_refusal(const http::Response& response) {
  constexpr std::array kRefusals{401, 403, 422};
  return std::ranges::find(kRefusals, response.status) != kRefusals.end() &&
         response.header("retry-after").empty();
}

// What the response to a failed call says, in words. If it is not the API's, but a proxy's or web
// server's: its status, and the first line of plain text.
std::string failure_in(const http::Response& response) {
  std::string detail = problem_detail(response.body);
  if (!detail.empty()) return detail;
  std::string failure = fmt::format("the API responded with status {}", response.status);
  if (!response.header("content-type").starts_with("text/plain")) return failure;
  constexpr std::size_t kLongestLine = 200;
  const std::size_t end = response.body.find_first_of("\r\n");
  const std::string line = response.body.substr(0, std::min(end, kLongestLine));
  return line.empty() ? failure : failure + ": " + line;
}

}  // namespace

bool ApiReply::is_missing() const {
  constexpr int kNotFound = 404;
  return status == kNotFound;
}

std::string escaped(const std::string& id) {
  std::string text;
  for (const char c : id) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                          (c >= 'A' && c <= 'Z') || c == '-' || c == '_' || c == '.';
    text += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return text;
}

ApiClient::ApiClient(const async::Runtime& runtime, const ApiAddress& address,
                     const telemetry::Logger& log)
    : bases_(bases_of(address.url)),
      token_(address.token),
      client_(runtime, client_options(address), log) {}

Task<ApiReply> ApiClient::try_call(std::string method, std::string path, std::string body,
                                   std::string key) {
  std::string failure;
  bool is_answered = false;
  bool is_none_trusted = !has_responded_;  // of the launchers, so far
  for (std::size_t attempt = 0; attempt < bases_.size(); ++attempt) {
    const std::string& base = bases_.at((current_ + attempt) % bases_.size());
    http::Request request;
    request.method = method;
    request.deadline = kLongestWait + kCallTimeout;
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
      if (error.kind() == http::HttpError::Kind::invalid) throw RequestError(error.what());
      failure = error.is_untrusted() ? "the launcher's certificate is not trusted: "
                                     : "no launcher responds: ";
      failure += error.what();
      if (base.starts_with(kUnix) && error.kind() == http::HttpError::Kind::not_sent) {
        failure += "; check that the launcher runs, that its `api` has a `socket`, and its mode";
      }
      is_none_trusted = is_none_trusted && error.is_untrusted();
    }
    if (!response) continue;
    is_none_trusted = false;
    has_responded_ = true;
    // Another launcher, or the same one later, may respond otherwise: it or its store is
    // unavailable, or the launcher behind a proxy, or the client is above its rate limit.
    if (http::is_retryable_status(response->status)) {
      failure = failure_in(*response);
      is_answered = is_answered || response->status != kInternalError;
      continue;
    }
    current_ = (current_ + attempt) % bases_.size();
    ApiReply reply{.status = response->status};
    // A 404 of a proxy says nothing about the thing.
    const bool is_known = reply.is_missing() && !problem_detail(response->body).empty();
    if (is_refusal(*response)) throw requestor::Refused(failure_in(*response));
    if (!response->is_success() && !is_known) throw RequestError(failure_in(*response));
    if (!response->body.empty()) reply.document = parse_response(response->body);
    co_return reply;
  }
  if (is_none_trusted) {
    throw requestor::Refused(failure +
                             "; name the file of the certificates to trust with "
                             "--ca-file or NODEPOOL_CA_FILE");
  }
  throw Unavailable(failure, is_answered);
}

Task<Json> ApiClient::call(std::string method, std::string path, std::string body) {
  ApiReply reply = co_await try_call(std::move(method), std::move(path), std::move(body));
  if (reply.is_missing()) throw RequestError(text_at(reply.document, "detail"));
  co_return std::move(reply.document);
}

Task<std::vector<Json>> ApiClient::rows(std::string listing, std::string filter) {
  std::vector<Json> all;
  std::string after;
  while (true) {
    const std::string page = after.empty() ? "" : "&after=" + escaped(after);
    const Json document =
        co_await call("GET", fmt::format("{}?limit=1000{}{}", listing, filter, page));
    const auto rows = document.find(listing);
    if (rows == document.end() || !rows->is_array()) {
      throw invalid_response("no " + listing);
    }
    all.insert(all.end(), rows->begin(), rows->end());
    if (!document.contains("next") || rows->empty()) co_return all;
    after = text_at(rows->back(), "id");
  }
}

}  // namespace nodepool::remote
