#include "drivers/aws/api/caller.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "cloud/digest.h"
#include "cloud/outcome.h"
#include "drivers/aws/api/error_response.h"
#include "drivers/aws/api/signature.h"

namespace nodepool::drivers::aws {

using async::Task;

namespace {

constexpr const char* kEc2Version = "2016-11-15";
// The hash of a body, if the caller knows it. sign() adds the header where S3 expects it.
constexpr const char* kBodyHash = "X-Amz-Content-Sha256";

std::string name_of(const Call& call) {
  return fmt::format("{}: {}", host_name(call.service), call.action);
}

// Removes the header, and returns its value; empty if there is none.
std::string take_header(http::Request& request, std::string_view name) {
  const auto found = std::ranges::find(request.headers, name, &http::Headers::value_type::first);
  if (found == request.headers.end()) return {};
  std::string value = std::move(found->second);
  request.headers.erase(found);
  return value;
}

}  // namespace

// Each service has its own rate limit and signature.
Caller::Caller(const async::Runtime& runtime, AccountState& state, const telemetry::Logger& log,
               const http::Client::Observer& on_attempt, int attempts)
    : runtime_(runtime),
      state_(state),
      client_(runtime,
              {.transfers = {.ca_file = state.account().ca_file},
               .request_id_headers = kRequestIdHeaders},
              log, on_attempt) {
  for (const ServiceKind service : kAllServices) {
    cloud::RestOptions options{
        .authorize = [this,
                      service](http::Request& request) { return authorize(service, request); },
        .classify = classify,
        .attempts = attempts};
    services_.try_emplace(service, runtime, client_, state.rate_limit(service), std::move(options),
                          log);
  }
}

// Each attempt is signed separately: the signature contains the current time.
Task<cloud::RestOptions::Reject> Caller::authorize(ServiceKind service, http::Request& request) {
  const Credentials::Pointer keys = co_await state_.credentials().get();
  const SigningScope scope{.region = state_.account().region,
                           .service = std::string(host_name(service)),
                           .time = runtime_.clock.wall_seconds(),
                           .is_plain = service == ServiceKind::s3};
  std::string hash = take_header(request, kBodyHash);
  if (hash.empty()) hash = cloud::sha256_hex(request.body);
  sign(request, keys->keys, scope, hash);
  co_return [this, keys] { state_.credentials().refused(keys); };
}

Task<http::Response> Caller::send(Call call) {
  const bool may_repeat = !call.creates || call.has_token;
  const std::chrono::milliseconds deadline = cloud::deadline_to_send(call.body.size());
  http::Request request{
      .method = std::move(call.method),
      .url = state_.account().endpoint(call.service) + call.path,
      .headers = std::move(call.headers),
      .body = std::move(call.body),
      .secrets = std::move(call.secrets),
      .name = name_of(call),
      .repeatable = may_repeat ? http::Request::Repeatable::yes : http::Request::Repeatable::no,
      .deadline = deadline};
  if (!call.body_hash.empty()) request.headers.emplace_back(kBodyHash, call.body_hash);
  cloud::RestCall rest_call{.request = std::move(request),
                            .effect = call.creates ? cloud::Effect::creates : cloud::Effect::none,
                            .about = std::move(call.about),
                            .precedence = call.precedence};
  co_return co_await services_.at(call.service).send(std::move(rest_call));
}

Task<cloud::XmlElement> Caller::ask(Call call, Query query) {
  const std::string name = name_of(call);
  const bool creates = call.creates;
  const bool is_look = call.precedence == http::Precedence::read;
  Query all;
  all.add("Action", call.action).add("Version", kEc2Version);
  call.body = all.text();
  if (!query.parameters().empty()) call.body += "&" + query.text();
  call.headers.emplace_back("Content-Type", "application/x-www-form-urlencoded; charset=utf-8");
  const http::Response response = co_await send(std::move(call));
  if (is_look) co_return cloud::XmlElement::parse(name, response.body);
  co_return cloud::read_outcome(creates,
                                [&] { return cloud::XmlElement::parse(name, response.body); });
}

}  // namespace nodepool::drivers::aws
