#include "drivers/kubernetes/api/kube_api.h"

#include <fmt/format.h>

#include <exception>
#include <utility>

#include "cloud/answer.h"
#include "cloud/url_text.h"
#include "driver/cloud_error.h"
#include "driver/if_exists.h"
#include "drivers/kubernetes/api/classify.h"

namespace nodepool::drivers::kubernetes {

using async::Task;
using cloud::Effect;
using driver::CloudError;

namespace {

// Page size of lists.
constexpr int kPage = 500;

// The requested duration of a watch, and its timeout.
constexpr auto kWatch = std::chrono::seconds(240);
constexpr auto kLongestWatch = std::chrono::seconds(300);

http::ClientOptions options_of(const ClusterAccount& account) {
  const Cluster& cluster = account.cluster();
  http::ClientOptions options;
  options.request_id_headers = {"audit-id"};
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

bool is_being_deleted(const Element& object) {
  return !object.object("metadata").text_or("deletionTimestamp").empty();
}

}  // namespace

ClusterAccount::ClusterAccount(const async::Runtime& runtime, Cluster cluster,
                               async::ThreadPool& threads, const telemetry::Logger& log)
    : cluster_(std::move(cluster)),
      credentials_(runtime, cluster_, threads, log),
      rate_limit_(runtime.clock, 0) {}

KubeApi::KubeApi(const async::Runtime& runtime, ClusterAccount& account,
                 const telemetry::Logger& log, http::Client::Observer on_attempt)
    : cluster_(account.cluster()),
      credentials_(account.credentials()),
      client_(runtime, options_of(account), log, std::move(on_attempt)),
      calls_(runtime, client_, account.rate_limit(),
             {.authorize = [this](http::Request& request) { return authorize(request); },
              .classify = classify},
             log) {}

http::Request KubeApi::request(std::string name, std::string method,
                               const std::string& path) const {
  http::Request request{.method = std::move(method),
                        .url = cluster_.server + path,
                        .headers = {{"Accept", "application/json"}},
                        .name = std::move(name)};
  if (!cluster_.impersonated_user.empty()) {
    request.headers.emplace_back("Impersonate-User", cluster_.impersonated_user);
  }
  for (const std::string& group : cluster_.impersonated_groups) {
    request.headers.emplace_back("Impersonate-Group", group);
  }
  return request;
}

Task<cloud::RestOptions::Reject> KubeApi::authorize(http::Request& request) {
  const Credentials::Pointer credential = co_await credentials_.get();
  if (!credential->header.empty()) {
    request.headers.emplace_back("Authorization", credential->header);
  }
  if (!credential->token.empty()) request.secrets.push_back(credential->token);
  co_return [this, credential] { credentials_.refused(credential); };
}

Task<http::Response> KubeApi::send(http::Request request, Effect effect) {
  cloud::RestCall call{.request = std::move(request), .effect = effect};
  return calls_.send(std::move(call));
}

Task<bool> KubeApi::make(std::string name, std::string path, Json body, Retry retry) {
  http::Request call = request(std::move(name), "POST", path);
  call.headers.emplace_back("Content-Type", "application/json");
  call.body = body.dump();
  const bool may_retry = retry == Retry::allowed;
  if (may_retry) call.repeatable = http::Request::Repeatable::yes;
  const Effect effect = may_retry ? Effect::creates_named : Effect::creates;
  try {
    co_await send(std::move(call), effect);
  } catch (const CloudError& error) {
    if (error.code() != kAlreadyExists) throw;
    co_return false;
  }
  co_return true;
}

Task<std::optional<Element>> KubeApi::find(std::string name, std::string path) {
  const auto response = co_await driver::if_exists(send(request(name, "GET", path)));
  if (!response) co_return std::nullopt;
  co_return cloud::parse_answer(name, *response);
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
  const http::Response response = co_await send(request(name, "GET", path));
  const Element answer = cloud::parse_answer(name, response);
  const std::optional<Element> metadata = answer.optional_object("metadata");
  co_return cloud::Page{.items = answer.list("items"),
                        .next = metadata ? metadata->text_or("continue") : std::string(),
                        .bytes = response.body.size()};
}

Task<bool> KubeApi::remove(std::string name, std::string path) {
  http::Request call = request(std::move(name), "DELETE", path + "?propagationPolicy=Background");
  std::exception_ptr conflict;
  try {
    co_await send(std::move(call));
    co_return true;
  } catch (const CloudError& error) {
    if (error.kind() == CloudError::Kind::not_found) co_return false;
    if (error.code() != kConflict) throw;
    conflict = std::current_exception();
  }
  // Some releases return a conflict for an object that is already being deleted.
  const std::optional<Element> found = co_await find("get object to delete", path);
  if (found && !is_being_deleted(*found)) std::rethrow_exception(conflict);
  co_return found.has_value();
}

Task<> KubeApi::watch(std::string name, std::string path, std::string query,
                      std::function<void()> on_change) {
  http::Request call = request(std::move(name), "GET",
                               fmt::format("{}?watch=true&resourceVersion=0&timeoutSeconds={}{}{}",
                                           path, kWatch.count(), query.empty() ? "" : "&", query));
  call.on_body = [on_change = std::move(on_change)](std::string_view) { on_change(); };
  call.deadline = kLongestWatch;
  co_await send(std::move(call));
}

Task<std::string> KubeApi::token() {
  const Credentials::Pointer credential = co_await credentials_.get();
  co_return credential->token;
}

}  // namespace nodepool::drivers::kubernetes
