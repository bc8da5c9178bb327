#include "drivers/openstack/api/service.h"

#include <fmt/format.h>

#include "driver/cloud_error.h"
#include "driver/if_exists.h"
#include "drivers/openstack/api/classify.h"

namespace nodepool::drivers::openstack {

using driver::CloudError;

namespace {

std::string query_of(const std::string& url) {
  const std::size_t start = url.find('?');
  return start == std::string::npos ? std::string() : url.substr(start + 1);
}

// The query of the next page; empty if this is the last one. The rest of the link is ignored: it is
// often wrong behind a proxy, and the token must be sent to the endpoint only.
std::string next_page(const Element& answer, const std::string& key) {
  for (const Element& link : answer.list(key + "_links")) {
    if (link.text_or("rel") == "next") return query_of(link.text_or("href"));
  }
  return query_of(answer.text_or("next"));  // the Image API
}

// Glance's errors are HTML. Of Cinder, only lists are read.
cloud::Classify classifier_of(ServiceKind kind) {
  const bool names_errors = kind == ServiceKind::compute || kind == ServiceKind::network;
  return names_errors ? classify_named : classify;
}

}  // namespace

Service::Service(const async::Runtime& runtime, ServiceKind kind, const Cloud& cloud,
                 Identity& identity, http::ClientOptions options, http::RateLimit& rate_limit,
                 const telemetry::Logger& log, http::Client::Observer on_attempt)
    : kind_(kind),
      cloud_(cloud),
      identity_(identity),
      client_(runtime, std::move(options), log, std::move(on_attempt)),
      calls_(runtime, client_, rate_limit,
             {.authorize = [this](http::Request& request) { return authorize(request); },
              .classify = classifier_of(kind)},
             log) {}

async::Task<bool> Service::exists() {
  const Identity::TokenPointer token = co_await identity_.token();
  co_return endpoint_of(token->catalog, kind_, cloud_).has_value();
}

async::Task<std::string> Service::project_id() {
  const Identity::TokenPointer token = co_await identity_.token();
  co_return token->project_id;
}

std::string Service::name_of(const ServiceCall& call) const {
  return fmt::format("{}: {}", to_string(kind_), call.name);
}

async::Task<cloud::RestOptions::Reject> Service::authorize(http::Request& request) {
  const Identity::TokenPointer token = co_await identity_.token();
  const std::optional<std::string> endpoint = endpoint_of(token->catalog, kind_, cloud_);
  if (!endpoint) {
    throw CloudError(
        CloudError::Kind::permanent,
        fmt::format("{}: cloud {} has no {} endpoint for it{}{}", request.name, cloud_.name,
                    cloud_.interface, cloud_.region.empty() ? "" : " in region ", cloud_.region));
  }
  request.url = *endpoint + request.url;
  request.headers.push_back(token->header);
  request.secrets.push_back(token->header.second);
  co_return [this, token] { identity_.refused(token); };
}

async::Task<http::Response> Service::send(ServiceCall call) {
  http::Request request{.method = call.method,
                        .url = call.path,
                        .headers = call.headers,
                        .body = call.body.is_null() ? std::string() : call.body.dump(),
                        .streamed_body = call.streamed_body,
                        .name = name_of(call),
                        .deadline = call.deadline};
  request.headers.emplace_back("Accept", "application/json");
  if (!call.body.is_null()) request.headers.emplace_back("Content-Type", "application/json");
  cloud::RestCall rest_call{
      .request = std::move(request), .effect = call.effect, .about = std::move(call.about)};
  co_return co_await calls_.send(std::move(rest_call));
}

async::Task<Element> Service::ask(ServiceCall call) {
  const std::string name = name_of(call);
  const http::Response response = co_await send(std::move(call));
  co_return cloud::parse_answer(name, response);
}

async::Task<bool> Service::send_if_there(ServiceCall call) {
  const auto response = co_await driver::if_exists(send(std::move(call)));
  co_return response.has_value();
}

cloud::AskPage Service::pages_of(const std::string& name, const std::string& path,
                                 const std::string& key) {
  return [this, name, path, key](const std::string& query) {
    const std::string base = path.substr(0, path.find('?'));
    return ask_page(name, query.empty() ? path : base + "?" + query, key);
  };
}

async::Task<cloud::Page> Service::ask_page(std::string name, std::string path, std::string key) {
  ServiceCall call{.name = std::move(name), .path = std::move(path)};
  const std::string full_name = name_of(call);
  const http::Response response = co_await send(std::move(call));
  const Element answer = cloud::parse_answer(full_name, response);
  co_return cloud::Page{
      .items = answer.list(key), .next = next_page(answer, key), .bytes = response.body.size()};
}

}  // namespace nodepool::drivers::openstack
