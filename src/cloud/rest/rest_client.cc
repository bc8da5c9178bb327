#include "cloud/rest/rest_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include <boost/asio/this_coro.hpp>

#include "async/call_tracer.h"
#include "http/error.h"
#include "http/retry.h"
#include "telemetry/version.h"

namespace nodepool::cloud {

using async::Task;
using driver::CloudError;
using Kind = CloudError::Kind;

namespace {

// Attempts of a creating call with unknown outcome; after these, its caller looks for the result.
constexpr int kUnansweredAttempts = 2;
// After the first attempt, if the deadline is not longer.
constexpr async::Duration kRetryWindow = std::chrono::minutes(2);
constexpr std::chrono::seconds kAnswerLimit{60};          // after the time to send a body
constexpr std::size_t kMinSpeed = std::size_t{64} << 10;  // bytes a second

std::string name_of(const RestCall& call) {
  return call.about.empty() ? call.request.name : call.request.name + " " + call.about;
}

http::Precedence precedence_of(const RestCall& call) {
  return call.precedence ? *call.precedence : http::precedence_of(call.request);
}

Kind kind_of(http::HttpError::Kind kind, Effect effect) {
  using HttpKind = http::HttpError::Kind;
  const bool may_have_arrived = kind == HttpKind::unknown_outcome || kind == HttpKind::too_large;
  if (may_have_arrived && effect == Effect::creates) return Kind::unknown_outcome;
  const bool may_succeed = kind == HttpKind::unknown_outcome || kind == HttpKind::not_sent;
  return may_succeed ? Kind::transient : Kind::failed;
}

// Whether the API itself has failed. Other server errors come from a gateway that got no response
// of it, or may do. With a gateway's 503, the caller's search fails as well.
bool is_error_of_api(int status) {
  return status == 500 || status == 503;
}

}  // namespace

std::chrono::milliseconds deadline_to_send(std::size_t bytes, int concurrent) {
  const std::size_t all = bytes * static_cast<std::size_t>(concurrent);
  return kAnswerLimit + std::chrono::seconds(all / kMinSpeed);
}

// A response, or the error to throw if there is no further attempt.
struct RestClient::Outcome {
  std::optional<http::Response> response;
  std::optional<CloudError> error;
  bool may_retry = false;
  RestOptions::Reject reject;  // set: the credentials were rejected
  async::Duration pause{};     // that the cloud asks for
};

RestClient::RestClient(const async::Runtime& runtime, http::Client& client,
                       http::RateLimit& rate_limit, RestOptions options, telemetry::Logger log)
    : runtime_(runtime),
      client_(client),
      rate_limit_(rate_limit),
      options_(std::move(options)),
      log_(std::move(log)) {}

Task<http::Response> RestClient::send(RestCall call) {
  const async::Executor executor = co_await boost::asio::this_coro::executor;
  co_await rate_limit_.turn(precedence_of(call));
  const auto last_start =
      runtime_.clock.now() + std::max<async::Duration>(kRetryWindow, call.request.deadline);
  bool is_known = true;      // no earlier attempt may have been carried out
  bool all_answered = true;  // by the API itself: those that may have been carried out
  bool has_renewed = false;
  for (int number = 1;; ++number) {
    if (number > 1) co_await rate_limit_.turn(precedence_of(call));
    if (const auto tracer = async::tracer_of(executor)) tracer->sending(number > 1);
    Outcome outcome = co_await attempt(call);
    if (outcome.response) co_return std::move(*outcome.response);
    const CloudError& error = *outcome.error;
    const bool is_unanswered = error.kind() == Kind::unknown_outcome;
    is_known = is_known && !is_unanswered;
    all_answered = all_answered && (!is_unanswered || error.is_answer());
    if (outcome.reject) outcome.reject();
    const bool renews = outcome.reject && !has_renewed;
    has_renewed = has_renewed || renews;
    const async::Duration pause =
        renews ? outcome.pause
               : std::max(outcome.pause, http::retry_pause(number, runtime_.random));
    const int most =
        is_unanswered ? std::min(kUnansweredAttempts, options_.attempts) : options_.attempts;
    const bool retries =
        (renews || outcome.may_retry) && number < most && runtime_.clock.now() + pause < last_start;
    if (!retries) {
      if (is_known) throw CloudError(error);
      // A later refusal says nothing about an earlier attempt with unknown outcome.
      throw CloudError(Kind::unknown_outcome, error.what(), {}, error.code(), all_answered);
    }
    log_.debug("{}, retrying in {:.1f} s", error.what(),
               std::chrono::duration<double>(pause).count());
    co_await runtime_.clock.sleep_for(pause);
  }
}

Task<RestClient::Outcome> RestClient::attempt(const RestCall& call) {
  Outcome outcome;
  http::Request request = call.request;
  request.headers.emplace_back("User-Agent", fmt::format("nodepool/{}", telemetry::version()));
  RestOptions::Reject reject;
  if (options_.authorize) {
    try {
      reject = co_await options_.authorize(request);
    } catch (const CloudError& error) {
      outcome.error.emplace(error);
    }
    if (outcome.error) co_return outcome;
  }
  const std::vector<std::string> secrets = request.secrets;
  http::Response response;
  try {
    response = co_await client_.send_once(std::move(request));
  } catch (const http::HttpError& error) {
    using HttpKind = http::HttpError::Kind;
    outcome.error.emplace(kind_of(error.kind(), call.effect), name_of(call) + ": " + error.what());
    outcome.may_retry =
        error.kind() == HttpKind::not_sent ||
        (error.kind() == HttpKind::unknown_outcome && http::is_repeatable(call.request));
  }
  if (outcome.error) co_return outcome;
  if (options_.observe) options_.observe(precedence_of(call), response);
  if (response.is_success()) {
    rate_limit_.accepted(precedence_of(call));
    outcome.response = std::move(response);
    co_return outcome;
  }
  const Refusal refusal = options_.classify(response, call.effect);
  if (refusal.slow_down) rate_limit_.throttled(precedence_of(call));
  const bool is_safe = refusal.had_no_effect || http::is_repeatable(call.request);
  outcome.may_retry = refusal.slow_down || (refusal.retry && is_safe);
  if (refusal.slow_down || refusal.retry) outcome.pause = requested_pause(response);
  if (refusal.renew_credentials) outcome.reject = std::move(reject);
  const std::string message = presentable(http::without_secrets(refusal.message, secrets));
  outcome.error.emplace(refusal.kind, name_of(call) + ": " + message, "", refusal.code,
                        is_error_of_api(response.status));
  co_return outcome;
}

async::Duration RestClient::requested_pause(const http::Response& response) {
  const auto pause =
      http::retry_after(response.header("retry-after"), runtime_.clock.wall_seconds());
  if (!pause) return {};
  rate_limit_.pause_until(runtime_.clock.now() + *pause);
  return *pause;
}

}  // namespace nodepool::cloud
