#pragma once

#include <functional>
#include <memory>
#include <string>

#include "async/call_tracer.h"
#include "async/runtime.h"
#include "http/rate_governor.h"
#include "http/transfers.h"
#include "telemetry/log.h"

namespace nodepool::http {

struct ClientOptions {
  TransferOptions transfers = {};
  std::shared_ptr<RateGovernor> pace = {};  // of all clients that have it; nullptr: none
  int attempts = 4;                         // of what may be sent again
};

// One attempt at a call, for metrics.
struct Attempt {
  const std::string& name;  // Request::name
  const std::string& method;
  int status = 0;  // 0: no answer
  double seconds = 0;
};

// A client of one HTTP API. A call is sent again, with growing pauses, if it has certainly not
// arrived, or may be repeated and got no answer or one that says "later" (429, 500, 502, 503, 504);
// a pause that the server asks for holds up all calls. What is logged is the name of the call, the
// method, the URL without its query, the status and the time: no headers, no bodies. The witness of
// the calling task is told the same, and what the server calls the request.
class Client {
 public:
  using Observer = std::function<void(const Attempt&)>;

  Client(const async::Runtime& runtime, ClientOptions options, telemetry::Logger log,
         Observer on_attempt = {});

  // The last answer, whatever its status. Throws HttpError, async::Cancelled (see
  // Transfers::perform), and what reading a streamed body throws.
  async::Task<Response> send(Request request);

 private:
  struct Outcome;

  async::Task<Outcome> attempt(const Request& request, async::Duration left);
  async::Duration pause_after(const Outcome& outcome, int attempt);
  void tell(const Request& request, const Outcome& outcome, double seconds) const;
  static void trace_call(const Request& request, const Outcome& outcome, async::Duration taken,
                         async::CallTracer& tracer);

  async::Runtime runtime_;
  ClientOptions options_;
  telemetry::Logger log_;
  Observer on_attempt_;
  std::shared_ptr<RateGovernor> pace_;
  Transfers transfers_;
};

// How long a Retry-After header asks to wait, from now on (RFC 9110 §10.2.3: seconds or a date);
// nothing if it cannot be understood. `now` is in seconds since the epoch.
std::optional<std::chrono::seconds> retry_after(std::string_view header, double now);

}  // namespace nodepool::http
