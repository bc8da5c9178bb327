#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "async/call_tracer.h"
#include "async/runtime.h"
#include "http/rate_governor.h"
#include "http/transfers.h"
#include "telemetry/log.h"

namespace nodepool::http {

struct ClientOptions {
  TransferOptions transfers = {};
  int attempts = 4;  // of send(); maximum, if the request may be retried
  // The headers with the server's id of a request, in lower case; the first that a response has.
  std::vector<std::string> request_id_headers = {"x-request-id"};
};

// One attempt at a call, for metrics.
struct Attempt {
  const std::string& name;  // Request::name
  const std::string& method;
  int status = 0;  // 0: no response
  double seconds = 0;
};

// A client of one HTTP API. Retries a request with exponential backoff if it was certainly not
// received, unless the server is untrusted, or if it is repeatable and got no response or a
// retryable status (429, 500, 502, 503, 504). Retry-After of the server delays all calls. Logs the
// name of the call, the method, the URL without user and query, the status and the duration, but no
// headers and bodies. Reports the same, and the request id of the server, to the CallTracer of the
// calling task.
class Client {
 public:
  using Observer = std::function<void(const Attempt&)>;

  Client(const async::Runtime& runtime, ClientOptions options, telemetry::Logger log,
         Observer on_attempt = {});

  // Returns the last response, whatever its status. Throws HttpError, async::Cancelled (see
  // Transfers::perform), and exceptions of reading a streamed body.
  async::Task<Response> send(Request request);

  // Makes one attempt, whatever its outcome, and does not wait for other calls' Retry-After;
  // otherwise like send().
  async::Task<Response> send_once(Request request);

 private:
  struct Outcome;

  async::Task<Outcome> attempt(const Request& request, async::Duration left);
  async::Duration pause_after(const Outcome& outcome, int attempt);
  void report(const Request& request, const Outcome& outcome, double seconds) const;
  void trace_call(const Request& request, const Outcome& outcome, async::Duration taken,
                  async::CallTracer& tracer) const;
  std::string id_in(const Response& response) const;

  async::Runtime runtime_;
  ClientOptions options_;
  telemetry::Logger log_;
  Observer on_attempt_;
  RateGovernor rate_governor_;  // without a rate
  Transfers transfers_;
};

}  // namespace nodepool::http
