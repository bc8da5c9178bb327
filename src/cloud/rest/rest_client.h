#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "async/runtime.h"
#include "cloud/rest/refusal.h"
#include "driver/cloud_error.h"
#include "http/client.h"
#include "http/rate_limit.h"
#include "telemetry/log.h"

namespace nodepool::cloud {

// One call of a cloud's API.
struct RestCall {
  // Without credentials and User-Agent. Its `name` is for messages, logs and metrics; each attempt
  // has the whole deadline. If it is repeatable, an attempt with unknown outcome may be repeated.
  http::Request request;
  Effect effect = Effect::none;
  std::string about = {};                           // the id of the call's object, for messages
  std::optional<http::Precedence> precedence = {};  // default: by the request's method
};

// A deadline for a request with a body of so many bytes: long enough for a line of 64 KiB/s, which
// `concurrent` such requests share.
std::chrono::milliseconds deadline_to_send(std::size_t bytes, int concurrent = 1);

// What differs from cloud to cloud.
struct RestOptions {
  // Drops the credentials of an attempt, so that the next one gets new ones.
  using Reject = std::function<void()>;

  // Completes the request of an attempt: adds a token or a signature, and its secrets. Returns what
  // to call if the cloud rejects these credentials; null: there are no others. Throws CloudError.
  // Null: calls need no credentials.
  std::function<async::Task<Reject>(http::Request& request)> authorize = {};
  Classify classify = refusal_by_status;
  // Called for each response, for limits that it announces. Null: nothing.
  std::function<void(http::Precedence precedence, const http::Response& response)> observe = {};
  int attempts = 4;  // maximum
};

// Calls of a cloud's API, each with its own attempts. Every attempt waits for the rate limit, gets
// its credentials and has the whole deadline. Makes another one, after a pause,
// * if the request certainly had no effect: it was not received, the cloud was throttling calls, or
//   Refusal::had_no_effect is set beside Refusal::retry;
// * at once, for the first rejected credentials;
// * if the outcome is unknown or Refusal::retry is set, and the request is repeatable. A creating
//   call has at most two attempts with unknown outcome: then its caller looks for the result.
// All attempts begin within the deadline of one, at least two minutes. Retry-After delays all calls
// that share the rate limit.
class RestClient {
 public:
  // `client` and `rate_limit` outlive it. Several may share them.
  RestClient(const async::Runtime& runtime, http::Client& client, http::RateLimit& rate_limit,
             RestOptions options, telemetry::Logger log);

  // Makes the call, and returns the response if it is a success. Throws CloudError, whose text
  // contains no secret of the request; async::Cancelled; exceptions of reading a streamed body. If
  // any attempt has an unknown outcome, so has the call, unless a later one succeeds.
  async::Task<http::Response> send(RestCall call);

 private:
  struct Outcome;

  async::Task<Outcome> attempt(const RestCall& call);
  async::Duration requested_pause(const http::Response& response);

  async::Runtime runtime_;
  http::Client& client_;
  http::RateLimit& rate_limit_;
  RestOptions options_;
  telemetry::Logger log_;
};

}  // namespace nodepool::cloud
