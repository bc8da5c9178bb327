#include "http/client.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>

#include <boost/asio/this_coro.hpp>

#include "http/retry.h"

namespace nodepool::http {

namespace {

std::string path_of(const std::string& url) {
  const std::string plain = without_credentials(url);
  const std::size_t scheme = plain.find("://");
  const std::size_t path = plain.find('/', scheme == std::string::npos ? 0 : scheme + 3);
  return path == std::string::npos ? "/" : plain.substr(path);
}

double seconds(async::Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

// A response or an error.
struct Client::Outcome {
  std::optional<Response> response;
  std::optional<HttpError> error;

  int status() const { return response ? response->status : 0; }

  bool is_retryable(const Request& request) const {
    if (response) {
      // 429: the request was not processed, so any request may be retried (RFC 6585 §4).
      return response->status == 429 ||
             (is_retryable_status(response->status) && is_repeatable(request));
    }
    if (error->is_untrusted()) return false;
    if (error->kind() == HttpError::Kind::not_sent) return true;
    return error->kind() == HttpError::Kind::unknown_outcome && is_repeatable(request);
  }
};

Client::Client(const async::Runtime& runtime, ClientOptions options, telemetry::Logger log,
               Observer on_attempt)
    : runtime_(runtime),
      options_(std::move(options)),
      log_(std::move(log)),
      on_attempt_(std::move(on_attempt)),
      rate_governor_(runtime_.clock, 0),
      transfers_(runtime_.executor, options_.transfers) {}

async::Task<Response> Client::send(Request request) {
  co_await rate_governor_.turn(precedence_of(request));
  const async::Clock::TimePoint deadline = runtime_.clock.now() + request.deadline;
  for (int number = 1;; ++number) {
    if (number > 1) co_await rate_governor_.turn(precedence_of(request));
    Outcome outcome = co_await attempt(request, deadline - runtime_.clock.now());
    const async::Duration pause = pause_after(outcome, number);
    const bool retry = number < options_.attempts && outcome.is_retryable(request) &&
                       runtime_.clock.now() + pause < deadline;
    if (!retry) {
      if (outcome.error) throw HttpError(*outcome.error);
      co_return std::move(*outcome.response);
    }
    log_.debug("{}: retrying in {:.1f} s", request.name, seconds(pause));
    co_await runtime_.clock.sleep_for(pause);
  }
}

async::Task<Response> Client::send_once(Request request) {
  Outcome outcome = co_await attempt(request, request.deadline);
  if (outcome.error) throw HttpError(*outcome.error);
  co_return std::move(*outcome.response);
}

async::Task<Client::Outcome> Client::attempt(const Request& request, async::Duration left) {
  const async::Clock::TimePoint start = runtime_.clock.now();
  Outcome outcome;
  try {
    if (left <= async::Duration::zero()) {
      throw HttpError(HttpError::Kind::not_sent,
                      "the deadline has passed before the request was sent");
    }
    outcome.response =
        co_await transfers_.perform(request, std::chrono::ceil<std::chrono::milliseconds>(left));
  } catch (const HttpError& error) {
    outcome.error.emplace(
        error.kind(), request.method + " " + without_credentials(request.url) + ": " + error.what(),
        error.is_untrusted());
  }
  const async::Duration taken = runtime_.clock.now() - start;
  report(request, outcome, seconds(taken));
  const auto own_tracer = async::tracer_of(co_await boost::asio::this_coro::executor);
  if (own_tracer) trace_call(request, outcome, taken, *own_tracer);
  co_return outcome;
}

void Client::report(const Request& request, const Outcome& outcome, double seconds) const {
  if (outcome.error) {
    log_.debug("{}: {} ({:.3f} s)", request.name, outcome.error->what(), seconds);
  } else {
    log_.debug("{}: {} {} -> {} ({:.3f} s)", request.name, request.method,
               without_credentials(request.url), outcome.status(), seconds);
  }
  if (on_attempt_) on_attempt_({request.name, request.method, outcome.status(), seconds});
}

void Client::trace_call(const Request& request, const Outcome& outcome, async::Duration taken,
                        async::CallTracer& tracer) const {
  const std::string path = without_secrets(path_of(request.url), request.secrets);
  const std::string id =
      outcome.response ? without_secrets(id_in(*outcome.response), request.secrets) : "";
  tracer.called({.name = request.name,
                 .method = request.method,
                 .path = path,
                 .status = outcome.status(),
                 .id = id,
                 .taken = taken});
}

// The request id of the server. Ignores headers with other content.
std::string Client::id_in(const Response& response) const {
  constexpr std::size_t kLongest = 80;
  for (const std::string& name : options_.request_id_headers) {
    const std::string_view id = response.header(name);
    const bool is_plain = std::ranges::all_of(id, [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
    });
    if (!id.empty() && id.size() <= kLongest && is_plain) return std::string(id);
  }
  return {};
}

// Retry-After delays all calls.
async::Duration Client::pause_after(const Outcome& outcome, int attempt) {
  const async::Duration pause = retry_pause(attempt, runtime_.random);
  if (!outcome.response || !is_retryable_status(outcome.response->status)) return pause;
  const auto requested =
      retry_after(outcome.response->header("retry-after"), runtime_.clock.wall_seconds());
  if (!requested) return pause;
  rate_governor_.pause_until(runtime_.clock.now() + *requested);
  return std::max<async::Duration>(pause, *requested);
}

}  // namespace nodepool::http
