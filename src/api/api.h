#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/authorizer.h"
#include "api/call.h"
#include "api/request_calls.h"

namespace nodepool::api {

// The request API (docs/api.md): others ask for nodes, hold them for a time, and give them back.
// Everything rests on the store, so any launcher answers for any other, and what was ordered
// outlives both client and launcher.
class Api {
 public:
  struct Options {
    Authorizer::Options access = {};
    std::optional<history::Journal> journal = {};
    ApiContext::Explain explain = {};
    // The longest lease that the site allows now; nothing: any.
    std::function<std::optional<std::chrono::seconds>()> max_lease = {};
  };

  // Its paths begin with this.
  static constexpr std::string_view kRoot = "/api/v1/";

  // All outlive this. Changes are logged by `audit`.
  Api(const async::Runtime& runtime, coordination::Store& store, model::Records& records,
      const telemetry::Logger& log, const telemetry::Logger& audit, Options options);
  ~Api();

  // Begins to work.
  void start();
  async::Task<> stop();

  // Answers a request whose path begins with kRoot. Never throws but Cancelled.
  async::Task<web::Response> answer(web::Request request);

  // Decides also for requests whose path begins otherwise.
  Authorizer& authorizer() { return authorizer_; }

  // "GET /api/v1/nodes/{id}", of all calls that there are.
  static std::vector<std::string> calls();

 private:
  struct Route;

  static const std::vector<Route>& routes();
  static bool matches(const Route& route, const web::Request& request, std::string& id);
  const Route& find_route(const web::Request& request, std::string& id) const;
  async::Task<web::Response> perform(web::Request request);
  void check(const Route& route, const Call& call);
  void log_call(const Call& call, unsigned status) const;

  async::Runtime runtime_;
  model::Records& records_;
  telemetry::Logger log_;
  telemetry::Logger audit_;
  Options options_;
  LeaseIndex lease_index_;
  LeaseRequestWorker keeper_;
  async::ThreadPool threads_;
  Authorizer authorizer_;
  ApiContext site_;
  InFlightQuota placements_;
};

}  // namespace nodepool::api
