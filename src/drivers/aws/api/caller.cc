#include "drivers/aws/api/caller.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "driver/cloud_error.h"
#include "drivers/aws/api/error_response.h"
#include "drivers/aws/api/outcome.h"
#include "drivers/aws/api/signature.h"
#include "telemetry/version.h"

namespace nodepool::drivers::aws {

using async::Task;
using driver::CloudError;

namespace {

constexpr const char* kEc2Version = "2016-11-15";
// Attempts of a create call with unknown outcome; after these, the caller looks for its result.
constexpr int kUnansweredAttempts = 2;
constexpr std::chrono::seconds kDeadline{60};  // of each attempt, plus the time to send its body
constexpr std::size_t kMinSpeed = std::size_t{64} << 10;  // bytes a second
// Between attempts; doubles each time, with jitter.
constexpr async::Duration kFirstPause = std::chrono::milliseconds(500);

std::string name_of(const Call& call) {
  return fmt::format("{}: {}", host_name(call.service), call.action);
}

}  // namespace

// The outcome of one attempt: a response, or the error to throw if there is no further attempt.
struct Caller::Outcome {
  std::optional<http::Response> response;
  std::optional<CloudError> error;
  bool is_retryable = false;
};

// Each attempt is rate limited and signed separately: the signature contains the current time.
Caller::Caller(const async::Runtime& runtime, AccountState& state, const telemetry::Logger& log,
               const http::Client::Observer& on_attempt, int attempts)
    : runtime_(runtime),
      state_(state),
      log_(log),
      attempts_(attempts),
      client_(runtime, {.transfers = {.ca_file = state.account().ca_file}, .attempts = 1}, log,
              on_attempt) {}

http::Request Caller::request(const Call& call) const {
  http::Request request{.method = call.method,
                        .url = state_.account().endpoint(call.service) + call.path,
                        .headers = call.headers,
                        .body = call.body,
                        .secrets = call.secrets,
                        .name = name_of(call),
                        .deadline = kDeadline + std::chrono::seconds(call.body.size() / kMinSpeed)};
  const bool may_repeat = !call.creates || call.has_token;
  request.repeatable = may_repeat ? http::Request::Repeatable::yes : http::Request::Repeatable::no;
  request.headers.emplace_back("User-Agent", fmt::format("nodepool/{}", telemetry::version()));
  return request;
}

Task<Caller::Outcome> Caller::attempt(const Call& call) {
  using HttpKind = http::HttpError::Kind;
  const std::string what = call.about.empty() ? name_of(call) : name_of(call) + " " + call.about;
  const bool may_repeat = !call.creates || call.has_token;
  CallRateLimit& rate_limit = state_.rate_limit(call.service);
  Outcome outcome;
  co_await rate_limit.turn(call.precedence);
  Credentials::Pointer keys;
  try {
    keys = co_await state_.credentials().get();
  } catch (const CloudError& error) {
    outcome.error.emplace(error);
  }
  if (!keys) co_return outcome;
  http::Request signed_request = request(call);
  const SigningScope scope{.region = state_.account().region,
                           .service = std::string(host_name(call.service)),
                           .time = runtime_.clock.wall_seconds(),
                           .is_plain = call.service == ServiceKind::s3};
  const std::string hash = call.body_hash.empty() ? sha256_hex(call.body) : call.body_hash;
  sign(signed_request, keys->keys, scope, hash);
  const std::vector<std::string> secrets = signed_request.secrets;
  try {
    outcome.response = co_await client_.send(std::move(signed_request));
  } catch (const http::HttpError& error) {
    CloudError::Kind kind = CloudError::Kind::failed;
    const bool is_unknown = error.kind() == HttpKind::unknown_outcome;
    const bool has_arrived = is_unknown || error.kind() == HttpKind::too_large;
    if (error.kind() == HttpKind::not_sent || is_unknown) kind = CloudError::Kind::transient;
    if (has_arrived && call.creates) kind = CloudError::Kind::unknown_outcome;
    outcome.error.emplace(kind, what + ": " + error.what());
    outcome.is_retryable = error.kind() == HttpKind::not_sent || (is_unknown && may_repeat);
    co_return outcome;
  }
  if (outcome.response->is_success()) {
    rate_limit.accepted(call.precedence);
    co_return outcome;
  }
  const int status = outcome.response->status;
  ErrorResponse refusal = error_in(*outcome.response);
  const bool is_slow = is_throttled(refusal, status);
  if (is_slow) rate_limit.throttled(call.precedence);
  const bool has_old_keys = needs_new_keys(refusal) || status == 401;
  if (has_old_keys) state_.credentials().refused(keys);
  const std::string message = http::without_secrets(refusal.message, secrets);
  const CloudError::Kind kind =
      status == 401 ? CloudError::Kind::auth : kind_of(refusal, status, call.creates);
  outcome.error.emplace(
      kind, presentable(fmt::format("{}: HTTP {} {}: {}", what, status, refusal.code, message)));
  const bool is_retryable_status = kind == CloudError::Kind::transient ||
                                   (kind == CloudError::Kind::unknown_outcome && may_repeat);
  outcome.is_retryable = is_slow || has_old_keys || is_retryable_status;
  co_return outcome;
}

Task<http::Response> Caller::send(Call call) {
  bool is_known = true;  // no earlier attempt may have been carried out
  for (int number = 1;; ++number) {
    Outcome outcome = co_await attempt(call);
    if (outcome.response && !outcome.error) co_return std::move(*outcome.response);
    const bool is_unanswered = outcome.error->kind() == CloudError::Kind::unknown_outcome;
    is_known = is_known && !is_unanswered;
    const int most = is_unanswered ? std::min(kUnansweredAttempts, attempts_) : attempts_;
    if (number >= most || !outcome.is_retryable) {
      // A later refusal says nothing about an earlier attempt with unknown outcome.
      if (is_known) throw CloudError(*outcome.error);
      throw CloudError(CloudError::Kind::unknown_outcome, outcome.error->what());
    }
    const auto longest = kFirstPause * (1 << (number - 1));
    const auto pause = std::chrono::duration_cast<async::Duration>(
        longest * (0.5 + runtime_.random.fraction() / 2));
    log_.debug("{}, retrying", outcome.error->what());
    co_await runtime_.clock.sleep_for(pause);
  }
}

Task<XmlElement> Caller::ask(Call call, Query query) {
  const std::string name = name_of(call);
  const bool creates = call.creates;
  const bool is_look = call.precedence == http::Precedence::read;
  Query all;
  all.add("Action", call.action).add("Version", kEc2Version);
  call.body = all.text();
  if (!query.parameters().empty()) call.body += "&" + query.text();
  call.headers.emplace_back("Content-Type", "application/x-www-form-urlencoded; charset=utf-8");
  const http::Response response = co_await send(std::move(call));
  if (is_look) co_return XmlElement::parse(name, response.body);
  co_return read_outcome(creates, [&] { return XmlElement::parse(name, response.body); });
}

}  // namespace nodepool::drivers::aws
