#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "async/runtime.h"
#include "http/client.h"
#include "json/json.h"
#include "requestor/error.h"
#include "telemetry/log.h"

namespace nodepool::remote {

using async::Task;

struct ApiAddress {
  // "https://launcher1:8006,https://launcher2:8006", "http://127.0.0.1:8005", or
  // "unix:///run/nodepool/api.socket". If one of several is unreachable, the next one is used.
  std::string url;
  std::string token = {};    // empty: none
  std::string ca_file = {};  // PEM, the only trusted certificates; empty: the system's
};

// The longest wait that a call may ask for.
inline constexpr std::chrono::seconds kLongestWait{30};

struct ApiReply {
  int status = 0;
  json::Json document = json::Json();  // an object; null if there is none

  bool is_missing() const;  // the API says that there is no such thing
};

// The id as one segment of a path.
std::string escaped(const std::string& id);

// No launcher responds, or each is unavailable: it restarts, has no store, or the client is above
// its rate limit. The outcome is unknown. A repeated call may succeed.
class Unavailable : public requestor::RequestError {
 public:
  Unavailable(const std::string& text, bool is_answered)
      : RequestError(text), is_answered_(is_answered) {}

  // Whether a launcher, or its proxy, has responded that it is unavailable: so the URL is right.
  bool is_answered() const { return is_answered_; }

 private:
  bool is_answered_;
};

// Calls the request API of the launcher that responded last, then of the others. Calls are
// idempotent, some by their key, so they are retried. All functions throw RequestError with the
// API's message if it rejects the call, Refused if it does so until something is changed, or if no
// launcher has a trusted certificate and none has ever responded, Unavailable, and Cancelled.
class ApiClient {
 public:
  // Throws RequestError if the URL is invalid.
  ApiClient(const async::Runtime& runtime, const ApiAddress& address, const telemetry::Logger& log);

  // `path` is relative to /api/v1/. An empty key: none. Does not throw if the reply is_missing().
  Task<ApiReply> try_call(std::string method, std::string path, std::string body = {},
                          std::string key = {});

  // The same, but throws also then. Returns the document.
  Task<json::Json> call(std::string method, std::string path, std::string body = {});

  // The rows of a listing, from all its pages; with a filter such as "&state=hold", some of them.
  Task<std::vector<json::Json>> rows(std::string listing, std::string filter = {});

 private:
  std::vector<std::string> bases_;  // "https://launcher1:8006"
  std::size_t current_ = 0;         // index in bases_ of the launcher that responded last
  std::string token_;
  // Whether any launcher has: so the trusted certificates are the right ones, and a launcher whose
  // certificate is not trusted later may get another one.
  bool has_responded_ = false;
  http::Client client_;
};

}  // namespace nodepool::remote
