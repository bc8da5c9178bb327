#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "api/client.h"
#include "api/token_bucket.h"
#include "api/token_file.h"
#include "async/file_changes.h"
#include "async/runtime.h"
#include "async/task_scope.h"
#include "model/observers.h"
#include "telemetry/log.h"
#include "web/message.h"
#include "web/rate_limited_log.h"

namespace nodepool::api {

// Authenticates and authorizes all HTTP requests, including those for pages and metrics. It watches
// the token file. When a token is revoked, expires or gets other rights, its streams and waiting
// calls end.
class Authorizer {
 public:
  struct Options {
    std::string tokens = {};            // path of the token file; empty: no tokens
    bool anonymous_read = true;         // records, pages, metrics
    bool anonymous_build_logs = false;  // the logs of image builds, and consoles
  };

  // All arguments outlive this. Wrong tokens are logged to `audit`.
  Authorizer(const async::Runtime& runtime, const telemetry::Logger& log,
             const telemetry::Logger& audit, Options options);

  // Reads the token file now and whenever it changes. A file with errors is logged and the tokens
  // remain as they were. All tokens are revoked when the file has been missing for a second.
  void start();
  async::Task<> stop();

  // Why the token file could not be read at the last attempt; empty: it could, or there is none.
  const std::string& problem() const { return problem_; }

  // The client that sends the request; without a token, an anonymous one. Throws CallError: 401 if
  // the token is not valid, 429 if the request's origin sends too many of these, 403 if it was sent
  // over an unencrypted connection from another host.
  Client authenticate(const web::Request& request);

  // Whether the request has a valid token, or comes over the Unix socket.
  bool knows(const web::Request& request) const;

  // Throws CallError: 429 above the rate limit, 401 or 403 if the client's scope is too small.
  void require(const Client& client, Client::Scope scope, const web::Request& request);

  // Counts a list, which the event loop makes, towards the rate limit of a client without a token:
  // it has read `read` records and contains `listed` of them.
  void charge_list(const Client& client, const web::Request& request, std::size_t read,
                   std::size_t listed);

  // The error response to a request for a page or for metrics. Returns nothing if the client may
  // read them. They contain the records of all tenants, so a token of one tenant may not.
  enum class Subject {
    records,
    build_log,
    console,  // the console logs of failed launches, in the history
  };
  std::optional<web::Response> refuse_reading(const web::Request& request, Subject subject);

  // Whether a client that may read records may also read this.
  bool may_read(const Client& client, Subject subject) const;

  // Whether the client may read records, without regard to its rate limit.
  bool may_read(const web::Request& request) const;

  // Counts the stream of a response, if it has one, for the request's client. The stream ends when
  // the client's token is no longer valid.
  void bind_to_client(web::Response& response, const web::Request& request);

  // Runs a task that waits. Throws CallError (401) as soon as the request's token is no longer
  // valid or has other rights.
  async::Task<> while_authorized(const web::Request& request, async::Task<> task);

  // Logs responses 401 and 429, and wrong tokens in the audit log: counted, by origin.
  void log_refusal(const web::Request& request, unsigned status);

 private:
  class GuardedSink;

  // Like authenticate(), without regard to the rate of wrong tokens: throws no 429.
  Client identify(const web::Request& request) const;
  void count_call(const std::string& bucket, double rate);
  bool may_read_without_token(Subject subject) const;
  std::string unknown_token() const;
  void read_tokens();
  async::Task<> follow_tokens(async::FileChanges changes);
  async::Task<> until_unauthorized(web::Request head, Client client);
  async::Task<> end_stream(web::Request head, Client client, GuardedSink& sink);
  async::Task<> guard(web::Request head, web::Stream stream, web::StreamSink& sink);

  async::Runtime runtime_;
  telemetry::Logger log_;
  Options options_;
  Tokens tokens_;
  std::string problem_;
  TokenBucket rate_limit_;
  web::RateLimitedLog refusals_;
  web::RateLimitedLog wrong_tokens_;
  model::Observers<> tokens_changed_;
  async::TaskScope scope_;
};

// The part of a request that identifies its client and that logs name: no parameters, no body.
web::Request head_of(const web::Request& request);

}  // namespace nodepool::api
