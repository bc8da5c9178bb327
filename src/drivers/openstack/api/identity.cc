#include "drivers/openstack/api/identity.h"

#include <ctime>

#include "cloud/answer.h"
#include "driver/cloud_error.h"
#include "drivers/openstack/api/auth_request.h"
#include "drivers/openstack/api/classify.h"
#include "drivers/openstack/clouds/cloud_files.h"

namespace nodepool::drivers::openstack {

using cloud::Element;
using driver::CloudError;

namespace {

constexpr const char* kCall = "identity: authenticate";

// Assumed lifetime of a token without expiry.
constexpr double kUsualLife = 3600;  // seconds

// Converts "2026-11-21T11:00:00.000000Z" to seconds since the epoch; nothing if it is invalid.
std::optional<double> parse_time(const std::string& text) {
  std::tm parts{};
  const char* end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (end == nullptr) return std::nullopt;
  return static_cast<double>(::timegm(&parts));
}

std::vector<ServiceEndpoint> read_catalog(const Element& token) {
  std::vector<ServiceEndpoint> catalog;
  for (const Element& service : token.list("catalog")) {
    for (const Element& endpoint : service.list("endpoints")) {
      catalog.push_back({.type = service.text("type"),
                         .interface = endpoint.text_or("interface"),
                         .region = endpoint.text_or("region_id", endpoint.text_or("region")),
                         .url = endpoint.text_or("url")});
    }
  }
  return catalog;
}

}  // namespace

Identity::Identity(const async::Runtime& runtime, const Cloud& cloud, http::ClientOptions options,
                   http::RateLimit& rate_limit, const telemetry::Logger& log,
                   http::Client::Observer on_attempt)
    : runtime_(runtime),
      cloud_(cloud),
      client_(runtime, std::move(options), log, std::move(on_attempt)),
      calls_(runtime, client_, rate_limit, {.classify = classify}, log),
      token_(runtime, "OpenStack token", log, [this] { return ask(); }) {}

async::Task<Identity::Token> Identity::ask() {
  http::Request request{
      .method = "POST",
      .url = {},
      .headers = {{"Content-Type", "application/json"}, {"Accept", "application/json"}},
      .name = kCall,
      .repeatable = http::Request::Repeatable::yes};
  try {
    if (auto header = fixed_credentials(cloud_)) {
      co_return Token{.header = std::move(*header), .catalog = {}, .life = {}};
    }
    request.url = token_url(cloud_);
    request.body = auth_request(cloud_);
    request.secrets = secrets_of(cloud_);
  } catch (const CloudsError& error) {
    throw CloudError(CloudError::Kind::permanent, error.what());
  }
  try {
    co_return co_await request_token(std::move(request));
  } catch (const CloudError& error) {
    using Kind = CloudError::Kind;
    if (error.kind() == Kind::transient || error.kind() == Kind::quota) throw;
    throw CloudError(Kind::auth, error.what(), {}, error.code());
  }
}

async::Task<Identity::Token> Identity::request_token(http::Request request) {
  const async::Clock::TimePoint asked_at = runtime_.clock.now();
  cloud::RestCall call{.request = std::move(request)};
  const http::Response response = co_await calls_.send(std::move(call));
  const Element token = cloud::parse_answer(kCall, response).object("token");
  Token result;
  result.header = {"X-Auth-Token", std::string(response.header("x-subject-token"))};
  if (result.header.second.empty()) {
    throw CloudError(CloudError::Kind::failed, std::string(kCall) + ": no token in the response");
  }
  result.catalog = read_catalog(token);
  if (const auto project = token.optional_object("project")) {
    result.project_id = project->text_or("id");
  }
  const auto begin = parse_time(token.text_or("issued_at"));
  const auto end = parse_time(token.text_or("expires_at"));
  const double life = begin && end ? std::max(0.0, *end - *begin) : kUsualLife;
  result.life = cloud::token_life(asked_at, std::chrono::duration<double>(life));
  co_return result;
}

}  // namespace nodepool::drivers::openstack
