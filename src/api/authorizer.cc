#include "api/authorizer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "api/call.h"
#include "async/deadline.h"
#include "async/event.h"
#include "async/file_stamp.h"
#include "telemetry/log_errors.h"
#include "web/origin.h"

namespace nodepool::api {

using async::Task;
using Scope = Client::Scope;

namespace {

constexpr std::string_view kBearer = "Bearer ";
// Calls a second of clients without a valid token, for each origin. Enough for the status page.
constexpr double kAnonymousRate = 200;
// The records of a list that cost as much as another call.
constexpr double kReadPerCall = 1000;
constexpr double kListedPerCall = 50;
// Editors rename the old file before they write the new one, so a missing file counts as deleted
// only after this time.
constexpr auto kReplacementTime = std::chrono::seconds(1);
// How often waiting calls and streams check whether their token has expired.
constexpr auto kExpiryCheck = std::chrono::seconds(15);

double seconds_since_start(const async::Runtime& runtime) {
  return std::chrono::duration<double>(runtime.clock.now().time_since_epoch()).count();
}

}  // namespace

// Forwards the parts of a stream until it is closed.
class Authorizer::GuardedSink final : public web::StreamSink {
 public:
  explicit GuardedSink(web::StreamSink& sink) : sink_(sink) {}

  Task<bool> send(std::shared_ptr<const std::string> part) override {
    if (is_over_) co_return false;
    is_sending_ = true;
    const bool is_taken = co_await sink_.send(std::move(part));
    is_sending_ = false;
    sent_.set();
    co_return is_taken && !is_over_;
  }

  // Forwards no further part. Returns once the current one is sent: half a chunk would break the
  // connection.
  Task<> close() {
    is_over_ = true;
    while (is_sending_) co_await sent_.wait();
  }

 private:
  web::StreamSink& sink_;
  bool is_sending_ = false;
  bool is_over_ = false;
  async::Event sent_{"a part of a stream has been sent"};
};

Authorizer::Authorizer(const async::Runtime& runtime, const telemetry::Logger& log,
                       const telemetry::Logger& audit, Options options)
    : runtime_(runtime),
      log_(log),
      options_(std::move(options)),
      refusals_(runtime, log),
      wrong_tokens_(runtime, audit),
      scope_(runtime, telemetry::log_errors(log)) {}

void Authorizer::start() {
  if (options_.tokens.empty()) return;
  async::FileChanges changes(runtime_, {options_.tokens});
  read_tokens();
  scope_.spawn("tokens", follow_tokens(std::move(changes)));
}

Task<> Authorizer::stop() {
  co_await scope_.stop();
  co_await refusals_.stop();
  co_await wrong_tokens_.stop();
}

void Authorizer::read_tokens() {
  try {
    tokens_ = Tokens::read(options_.tokens);
    problem_.clear();
    log_.info("Loaded {} tokens from {}", tokens_.size(), options_.tokens);
  } catch (const std::exception& error) {
    problem_ = fmt::format("reading the token file failed, keeping the previous {} tokens: {}",
                           tokens_.size(), error.what());
    log_.error("Request API: {}", problem_);
  }
  tokens_changed_.notify();
}

Task<> Authorizer::follow_tokens(async::FileChanges changes) {
  while (true) {
    co_await changes.changed();
    const bool is_missing = !async::stamp(options_.tokens).exists;
    if (is_missing) co_await runtime_.clock.sleep_for(kReplacementTime);
    read_tokens();
  }
}

Client Authorizer::authenticate(const web::Request& request) {
  try {
    return identify(request);
  } catch (const CallError& error) {
    if (error.status() == 401) {
      wrong_tokens_.warn("Wrong token from " + web::origin(request.peer), request_summary(request));
      count_call(web::origin(request.peer), kAnonymousRate);
    }
    throw;
  }
}

Client Authorizer::identify(const web::Request& request) const {
  const std::string* header = request.header("authorization");
  if (header != nullptr) {
    if (!header->starts_with(kBearer))
      throw CallError(401, "Unsupported authorization; send `Authorization: Bearer TOKEN`");
    if (!request.peer.is_private) {
      throw CallError(403,
                      "Tokens are accepted over TLS, on loopback and on the Unix socket only. This "
                      "one was sent unencrypted: replace it");
    }
    const Client* client =
        tokens_.find(header->substr(kBearer.size()), runtime_.clock.wall_seconds());
    if (client == nullptr) throw CallError(401, unknown_token());
    return *client;
  }
  if (request.peer.user) {
    const bool is_operator = *request.peer.user == 0 || *request.peer.user == ::geteuid();
    return {.name = fmt::format("user:{}", *request.peer.user),
            .scope = is_operator ? Scope::admin : Scope::request,
            .may_name_tenants = is_operator};
  }
  return {.name = {},
          .scope = options_.anonymous_read ? Scope::read : Scope::none,
          .rate = kAnonymousRate};
}

bool Authorizer::knows(const web::Request& request) const {
  const bool has_token = request.header("authorization") != nullptr;
  if (!has_token && !request.peer.user) return false;
  try {
    static_cast<void>(identify(request));
    return true;
  } catch (const CallError&) {
    return false;
  }
}

std::string Authorizer::unknown_token() const {
  if (options_.tokens.empty()) {
    return "This launcher accepts no tokens: its configuration has no `tokens` in `api`";
  }
  const std::string text = "The token is unknown or no longer valid";
  return problem_.empty() ? text : text + ", or new: this launcher cannot read its token file";
}

// Throws CallError (429) above the rate limit.
void Authorizer::count_call(const std::string& bucket, double rate) {
  if (rate_limit_.allows(bucket, rate, seconds_since_start(runtime_))) return;
  throw CallError(429, fmt::format("Rate limit exceeded ({} calls a second); retry later", rate),
                  {{"Retry-After", "1"}});
}

void Authorizer::require(const Client& client, Scope scope, const web::Request& request) {
  count_call(client.name.empty() ? web::origin(request.peer) : client.name, client.rate);
  if (client.scope >= scope) return;
  if (client.name.empty()) throw CallError(401, "A token is required");
  throw CallError(403, fmt::format("{} has scope `{}`; this call requires `{}`", client.name,
                                   to_string(client.scope), to_string(scope)));
}

void Authorizer::charge_list(const Client& client, const web::Request& request, std::size_t read,
                             std::size_t listed) {
  if (!client.name.empty()) return;
  const double calls =
      static_cast<double>(read) / kReadPerCall + static_cast<double>(listed) / kListedPerCall;
  rate_limit_.charge(web::origin(request.peer), calls, client.rate, seconds_since_start(runtime_));
}

bool Authorizer::may_read_without_token(Subject subject) const {
  switch (subject) {
    case Subject::records:
      return options_.anonymous_read;
    case Subject::build_log:
      return options_.anonymous_build_logs;
    case Subject::console:
      // Without a token file, only the history on the launcher's host would have them.
      return options_.anonymous_build_logs || (options_.anonymous_read && options_.tokens.empty());
  }
  return false;
}

bool Authorizer::may_read(const Client& client, Subject subject) const {
  return client.name.empty() ? may_read_without_token(subject) : client.scope >= Scope::read;
}

std::optional<web::Response> Authorizer::refuse_reading(const web::Request& request,
                                                        Subject subject) {
  if (may_read_without_token(subject)) return std::nullopt;
  try {
    const Client client = authenticate(request);
    require(client, Scope::read, request);
    if (client.name.empty()) throw CallError(401, "A token is required");
    if (!client.tenant.empty()) {
      throw CallError(403, fmt::format("This contains the records of all tenants; {} may read "
                                       "those of {} only. Use the API",
                                       client.name, client.tenant));
    }
  } catch (const CallError& error) {
    log_refusal(request, error.status());
    web::Response response = problem_response(error.status(), error.what());
    if (error.status() == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
    return response;
  }
  return std::nullopt;
}

bool Authorizer::may_read(const web::Request& request) const {
  if (options_.anonymous_read) return true;
  try {
    const Client client = identify(request);
    return client.scope >= Scope::read && client.tenant.empty();
  } catch (const CallError&) {
    return false;
  }
}

void Authorizer::bind_to_client(web::Response& response, const web::Request& request) {
  if (!response.stream) return;
  try {
    response.client = identify(request).name;
  } catch (const CallError&) {
    return;  // a wrong token, where none is required
  }
  if (request.header("authorization") == nullptr) return;
  response.stream = [this, head = head_of(request), stream = std::move(response.stream)](
                        web::StreamSink& sink) { return guard(head, stream, sink); };
}

Task<> Authorizer::guard(web::Request head, web::Stream stream, web::StreamSink& sink) {
  const Client client = identify(head);
  GuardedSink guarded(sink);
  Task<> streaming = stream(guarded);
  Task<> end = end_stream(std::move(head), client, guarded);
  try {
    co_await async::with_limit(std::move(end), std::move(streaming), "a stream");
  } catch (const async::DeadlineExceeded&) {
    // The client gets the reason when it connects again.
  }
}

Task<> Authorizer::end_stream(web::Request head, Client client, GuardedSink& sink) {
  Task<> waiting = until_unauthorized(std::move(head), std::move(client));
  co_await std::move(waiting);
  co_await sink.close();
}

// Returns when the request's token is no longer valid or has other rights.
Task<> Authorizer::until_unauthorized(web::Request head, Client client) {
  async::Event changed;
  const coordination::Subscription watching =
      tokens_changed_.subscribe([&changed] { changed.set(); });
  while (true) {
    try {
      if (identify(head) != client) co_return;
    } catch (const CallError&) {
      co_return;
    }
    co_await changed.wait_until(runtime_.clock, runtime_.clock.now() + kExpiryCheck);
  }
}

Task<> Authorizer::while_authorized(const web::Request& request, Task<> task) {
  if (request.header("authorization") == nullptr) co_return co_await std::move(task);
  Task<> end = until_unauthorized(head_of(request), identify(request));
  try {
    co_await async::with_limit(std::move(end), std::move(task), "waiting");
  } catch (const async::DeadlineExceeded&) {
    throw CallError(401, "The token was revoked, has expired or has other rights now");
  }
}

void Authorizer::log_refusal(const web::Request& request, unsigned status) {
  if (status != 401 && status != 429) return;
  const std::string origin = web::origin(request.peer);
  const std::string call = fmt::format("{} from {}", request_summary(request), origin);
  refusals_.warn(fmt::format("Calls refused with {}", status), call);
}

web::Request head_of(const web::Request& request) {
  web::Request head{
      .method = request.method, .path = request.path, .parameters = {}, .headers = {}};
  head.peer = request.peer;
  if (const std::string* token = request.header("authorization")) {
    head.headers["authorization"] = *token;
  }
  return head;
}

}  // namespace nodepool::api
