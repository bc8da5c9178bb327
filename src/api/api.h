#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/call.h"
#include "api/order_calls.h"
#include "api/pace.h"
#include "api/token_file.h"
#include "web/rate_limited_log.h"

namespace nodepool::api {

// The request API (docs/api.md): others ask for nodes, hold them for a time, and give them back.
// Everything rests on the store, so any launcher answers for any other, and what was ordered
// outlives both client and launcher.
class Api {
 public:
  struct Options {
    std::string tokens = {};  // file; empty: nobody has one
    bool anonymous_read = true;
    std::optional<history::Journal> journal = {};
    Site::Explain explain = {};
    // The longest lease that the site allows now; nothing: any.
    std::function<std::optional<std::chrono::seconds>()> max_lease = {};
  };

  // Its paths begin with this.
  static constexpr std::string_view kRoot = "/api/v1/";

  // All outlive this. Changes are logged by `audit`.
  Api(const async::Runtime& runtime, coordination::Store& store, model::Records& records,
      const telemetry::Logger& log, const telemetry::Logger& audit, Options options);
  ~Api();

  // Begins to work; reads the tokens, and again whenever their file changes. A file that is not in
  // order is logged, and nobody has a token until it is; one that was in order stays in force.
  void start();
  async::Task<> stop();

  // Answers a request whose path begins with kRoot. Never throws but Cancelled.
  async::Task<web::Response> answer(web::Request request);

  // Whether the client of a request for something else may read.
  bool may_read(const web::Request& request) const;

  // The answer to a request for something else if its client may not read, now; else nothing.
  std::optional<web::Response> refuse_reading(const web::Request& request);

  // The name of the client that shows a token, or of the Unix socket's user; empty for others.
  std::string client_of(const web::Request& request) const;

  // "GET /api/v1/nodes/{id}", of all calls that there are.
  static std::vector<std::string> calls();

 private:
  struct Route;

  static const std::vector<Route>& routes();
  static bool matches(const Route& route, const web::Request& request, std::string& id);
  const Route& find_route(const web::Request& request, std::string& id) const;
  Client identify(const web::Request& request) const;
  void require(const Client& client, Client::Scope scope, const web::Request& request);
  async::Task<web::Response> perform(web::Request request);
  void check(const Route& route, const Call& call);
  void tell_of_refusal(const web::Request& request, unsigned status);
  void write_down(const Call& call, unsigned status) const;
  void read_tokens();
  async::Task<> follow_tokens();

  async::Runtime runtime_;
  model::Records& records_;
  telemetry::Logger log_;
  telemetry::Logger audit_;
  Options options_;
  Ledger ledger_;
  OrderKeeper keeper_;
  async::ThreadPool threads_;
  Site site_;
  Tokens tokens_;
  Pace pace_;
  Placements placements_;
  web::RateLimitedLog refusals_;
  async::TaskScope scope_;
};

}  // namespace nodepool::api
