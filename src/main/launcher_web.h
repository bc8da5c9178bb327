#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/api.h"
#include "config/config.h"
#include "page/status_page.h"
#include "telemetry/health.h"
#include "telemetry/metrics_registry.h"
#include "web/client_limits.h"
#include "web/metrics_page.h"
#include "web/reference_pages.h"
#include "web/server.h"

namespace nodepool {

// The HTTP servers of a launcher: status pages, metrics, request API. Liveness, readiness and
// metrics are served also without the store; everything else needs it.
class LauncherWeb {
 public:
  // Functions of the launcher. Their owner outlives this.
  struct Sources {
    std::function<telemetry::Health()> health;
    std::function<telemetry::MetricsRegistry()> registry;
  };

  // Wrong tokens and changes by clients are logged to `audit`.
  LauncherWeb(const async::Runtime& runtime, const telemetry::Logger& log,
              const telemetry::Logger& audit, Sources sources);

  // Listens at the configured addresses.
  async::Task<> start(const config::Config& config);

  // Serves the pages and the API from now on. All references outlive this.
  async::Task<> show(model::Records& records, coordination::Store& store, api::Api::Options api,
                     page::StatusPage::Options page);

  // Why it does not listen at one of them or more, or cannot read its tokens, as sentences.
  std::vector<std::string> problems() const;

  async::Task<> stop();

 private:
  async::Task<web::Response> answer(web::Request request);
  async::Task<web::Response> answer_reader(web::Request request, page::StatusPage::Part page);
  async::Task<> open(web::ListenAddress listen_address);
  // The API's, or the early one. Only after start().
  api::Authorizer& authorizer() { return api_ ? api_->authorizer() : *early_authorizer_; }
  const api::Authorizer& authorizer() const {
    return api_ ? api_->authorizer() : *early_authorizer_;
  }
  web::Response readiness(const web::Request& request);

  async::Runtime runtime_;
  telemetry::Logger log_;
  telemetry::Logger audit_;
  Sources sources_;
  web::MetricsPage metrics_;
  bool anonymous_read_ = false;
  std::shared_ptr<web::ClientLimits> client_limits_;  // shared by all servers
  std::optional<web::ReferencePages> pages_;
  std::optional<page::StatusPage> status_page_;
  std::optional<api::Authorizer> early_authorizer_;  // from start() to show()
  std::optional<api::Api> api_;
  std::vector<std::unique_ptr<web::Server>> servers_;
};

}  // namespace nodepool
