#include "drivers/kubernetes/api/kube_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "cloud/url_text.h"
#include "driver/cloud_error.h"
#include "telemetry/version.h"

namespace nodepool::drivers::kubernetes {

using async::Task;
using cloud::Effect;
using driver::CloudError;

namespace {

constexpr int kNotFound = 404;
constexpr int kConflict = 409;

// Page size of lists.
constexpr int kPage = 500;

// The requested duration of a watch, and its timeout.
constexpr auto kWatch = std::chrono::seconds(240);
constexpr auto kLongestWatch = std::chrono::seconds(300);

http::ClientOptions options_of(const ClusterAccount& account) {
  const Cluster& cluster = account.cluster();
  http::ClientOptions options;
  options.pace = account.rate_limit();
  options.transfers = {.ca_file = cluster.ca.text.empty() ? cluster.ca.file : "",
                       .client_cert = cluster.client_cert.file,
                       .client_key = cluster.client_key.file,
                       .ca_pem = cluster.ca.text,
                       .client_cert_pem = cluster.client_cert.text,
                       .client_key_pem = cluster.client_key.text,
                       .verify = cluster.verify,
                       .proxy = cluster.proxy};
  return options;
}

bool is_conflict(int status) {
  return status == kConflict;
}

bool is_not_found(int status) {
  return status == kNotFound;
}

// Some releases return a conflict for an object that is already being deleted.
bool is_gone_or_going(int status) {
  return status == kNotFound || status == kConflict;
}

}  // namespace

bool speaks_of_quota(std::string_view message) {
  std::string text(message);
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text.contains("exceeded quota");
}

ClusterAccount::ClusterAccount(const async::Runtime& runtime, Cluster cluster,
                               async::ThreadPool& threads, const telemetry::Logger& log)
    : cluster_(std::move(cluster)),
      credentials_(runtime, cluster_, threads, log),
      rate_limit_(std::make_shared<http::RateGovernor>(runtime.clock, 0)) {}

KubeApi::KubeApi(const async::Runtime& runtime, ClusterAccount& account, telemetry::Logger log,
                 http::Client::Observer on_attempt)
    : cluster_(account.cluster()),
      credentials_(account.credentials()),
      client_(runtime, options_of(account), std::move(log), std::move(on_attempt)) {}

http::Request KubeApi::request(std::string name, std::string method,
                               const std::string& path) const {
  http::Request request{
      .method = std::move(method),
      .url = cluster_.server + path,
      .headers = {{"Accept", "application/json"},
                  {"User-Agent", fmt::format("nodepool/{}", telemetry::version())}},
      .name = std::move(name)};
  if (!cluster_.impersonated_user.empty()) {
    request.headers.emplace_back("Impersonate-User", cluster_.impersonated_user);
  }
  for (const std::string& group : cluster_.impersonated_groups) {
    request.headers.emplace_back("Impersonate-Group", group);
  }
  return request;
}

void KubeApi::show(http::Request& request, const Credential& credential) const {
  if (!credential.header.empty()) request.headers.emplace_back("Authorization", credential.header);
  if (!credential.token.empty()) request.secrets.push_back(credential.token);
}

// Renews a rejected credential once.
Task<http::Response> KubeApi::send(http::Request request, Effect effect,
                                   cloud::IsAnswer is_rejection) {
  for (bool is_first = true;; is_first = false) {
    const Credentials::Pointer credential = co_await credentials_.get();
    http::Request shown = request;
    show(shown, *credential);
    try {
      co_return co_await cloud::send(client_, std::move(shown), effect, "", speaks_of_quota,
                                     is_rejection);
    } catch (const CloudError& error) {
      if (error.kind() != CloudError::Kind::auth || !is_first) throw;
    }
    credentials_.refused(credential);
  }
}

Task<bool> KubeApi::make(std::string name, std::string path, Json body, Retry retry) {
  http::Request call = request(std::move(name), "POST", path);
  call.headers.emplace_back("Content-Type", "application/json");
  call.body = body.dump();
  const bool may_retry = retry == Retry::allowed;
  if (may_retry) call.repeatable = http::Request::Repeatable::yes;
  const Effect effect = may_retry ? Effect::none : Effect::creates;
  const http::Response response = co_await send(std::move(call), effect, is_conflict);
  co_return response.is_success();
}

Task<std::optional<Element>> KubeApi::find(std::string name, std::string path) {
  const http::Response response =
      co_await send(request(name, "GET", path), Effect::none, is_not_found);
  if (!response.is_success()) co_return std::nullopt;
  co_return cloud::parse_answer(name, response);
}

cloud::AskPage KubeApi::pages_of(std::string name, const std::string& path,
                                 const std::string& query) {
  const std::string base =
      fmt::format("{}?limit={}{}{}", path, kPage, query.empty() ? "" : "&", query);
  return [this, name = std::move(name), base](const std::string& where) {
    return ask_page(name, base, where);
  };
}

Task<cloud::Page> KubeApi::ask_page(std::string name, std::string path, std::string query) {
  if (!query.empty()) path += "&continue=" + cloud::url_text(query);
  const http::Response response = co_await send(request(name, "GET", path), Effect::none, nullptr);
  const Element answer = cloud::parse_answer(name, response);
  const std::optional<Element> metadata = answer.optional_object("metadata");
  co_return cloud::Page{.items = answer.list("items"),
                        .next = metadata ? metadata->text_or("continue") : std::string(),
                        .bytes = response.body.size()};
}

Task<bool> KubeApi::remove(std::string name, std::string path) {
  http::Request call = request(std::move(name), "DELETE", path + "?propagationPolicy=Background");
  const http::Response response = co_await send(std::move(call), Effect::none, is_gone_or_going);
  co_return response.status != kNotFound;
}

Task<> KubeApi::watch(std::string name, std::string path, std::string query,
                      std::function<void()> on_change) {
  http::Request call = request(std::move(name), "GET",
                               fmt::format("{}?watch=true&resourceVersion=0&timeoutSeconds={}{}{}",
                                           path, kWatch.count(), query.empty() ? "" : "&", query));
  call.on_body = [on_change = std::move(on_change)](std::string_view) { on_change(); };
  call.deadline = kLongestWatch;
  co_await send(std::move(call), Effect::none, nullptr);
}

Task<std::string> KubeApi::token() {
  const Credentials::Pointer credential = co_await credentials_.get();
  co_return credential->token;
}

}  // namespace nodepool::drivers::kubernetes
