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

// The request API (docs/api.md): clients request nodes, lease them for a time, and release them.
// All state is in the store, so every launcher serves every request, and lease requests outlive
// both client and launcher.
class Api {
 public:
  struct Options {
    Authorizer::Options access = {};
    std::optional<history::Journal> journal = {};
    ApiContext::Explain explain = {};
    // The longest lease that the configuration allows now. Returns nothing if there is no limit.
    std::function<std::optional<std::chrono::seconds>()> max_lease = {};
    // Whether the configuration pauses an image. Returns nothing if it does not have the image.
    std::function<std::optional<bool>(const std::string& image)> configured_pause = {};
  };

  // The prefix of all its paths.
  static constexpr std::string_view kRoot = "/api/v1/";

  // All arguments outlive this. Changes are logged to `audit`.
  Api(const async::Runtime& runtime, coordination::Store& store, model::Records& records,
      const telemetry::Logger& log, const telemetry::Logger& audit, Options options);
  ~Api();

  // Starts the background tasks.
  void start();
  async::Task<> stop();

  // Handles a request whose path begins with kRoot. Throws only Cancelled.
  async::Task<web::Response> answer(web::Request request);

  // It also decides about requests outside kRoot: pages and metrics.
  Authorizer& authorizer() { return authorizer_; }
  const Authorizer& authorizer() const { return authorizer_; }

  // All calls, each as "GET /api/v1/nodes/{id}".
  static std::vector<std::string> calls();

 private:
  struct Route;

  static const std::vector<Route>& routes();
  static bool matches(const Route& route, const web::Request& request, std::string& id);
  const Route& find_route(const web::Request& request, std::string& id) const;
  async::Task<web::Response> perform(web::Request request);
  void check(const Route& route, const Call& call);

  async::Runtime runtime_;
  model::Records& records_;
  telemetry::Logger log_;
  Options options_;
  LeaseIndex lease_index_;
  LeaseRequestWorker worker_;
  async::ThreadPool threads_;
  Authorizer authorizer_;
  ApiContext context_;
  InFlightQuota in_flight_;
};

}  // namespace nodepool::api
