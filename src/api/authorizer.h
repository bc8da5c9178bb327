#pragma once

#include <optional>
#include <string>

#include "api/client.h"
#include "api/token_bucket.h"
#include "api/token_file.h"
#include "async/runtime.h"
#include "async/task_scope.h"
#include "model/observers.h"
#include "telemetry/log.h"
#include "web/message.h"
#include "web/rate_limited_log.h"

namespace nodepool::api {

// Decides for all requests over HTTP, those for pages and metrics included, which client calls and
// what that client may do. It follows the token file, and ends what a token has begun once the
// token is not valid any more.
class Authorizer {
 public:
  struct Options {
    std::string tokens = {};            // file; empty: there are no tokens
    bool anonymous_read = true;         // records, pages, metrics
    bool anonymous_build_logs = false;  // what builds print
  };

  // All outlive this. Refused tokens are logged by `audit`.
  Authorizer(const async::Runtime& runtime, const telemetry::Logger& log,
             const telemetry::Logger& audit, Options options);

  // Reads the tokens, and again whenever their file changes. A file with errors is logged, and the
  // tokens stay as they were.
  void start();
  async::Task<> stop();

  // The client that calls. One without a token may read if the site says so. Throws CallError: 401
  // for a token that is not valid, 403 for one that others could have read on the way.
  Client identify(const web::Request& request) const;

  // Throws CallError: 429 if the client calls too often, else 401 or 403 if its scope is smaller.
  void require(const Client& client, Client::Scope scope, const web::Request& request);

  // Answers a request for a page or for metrics if its client may not read them; nothing if it may.
  // They have the records of all tenants in them, so a token of one tenant reads none of them.
  enum class Subject { records, build_log };
  std::optional<web::Response> refuse_reading(const web::Request& request, Subject subject);

  // Whether refuse_reading() would let the client read records, whatever its rate is.
  bool may_read(const web::Request& request) const;

  // Makes the stream of a response, if it has one, count for the client of the request, and end
  // when the client's token is not valid any more.
  void bind_to_client(web::Response& response, const web::Request& request);

  // Runs a task that waits. Throws CallError (401) as soon as the request's token is not valid any
  // more, or has other rights.
  async::Task<> while_authorized(const web::Request& request, async::Task<> task);

  // Counts 401 and 429 in the log, and wrong tokens in the audit log, by origin.
  void log_refusal(const web::Request& request, unsigned status);

 private:
  class GuardedSink;

  bool may_read_without_token(Subject subject) const;
  void read_tokens();
  async::Task<> follow_tokens();
  async::Task<> until_unauthorized(web::Request head, Client client);
  async::Task<> end_stream(web::Request head, Client client, GuardedSink& sink);
  async::Task<> guard(web::Request head, web::Stream stream, web::StreamSink& sink);

  async::Runtime runtime_;
  telemetry::Logger log_;
  Options options_;
  Tokens tokens_;
  TokenBucket pace_;
  web::RateLimitedLog refusals_;
  web::RateLimitedLog wrong_tokens_;
  model::Observers<> tokens_changed_;
  async::TaskScope scope_;
};

// What a request says of its client, and what logs say of it; without parameters and body.
web::Request head_of(const web::Request& request);

}  // namespace nodepool::api
