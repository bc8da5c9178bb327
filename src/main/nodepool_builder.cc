// nodepool-builder: arguments and wiring.

#include <signal.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "api/authorizer.h"
#include "async/supervisor.h"
#include "builder/builder.h"
#include "config/environment.h"
#include "drivers/registry.h"
#include "main/daemon_programs.h"
#include "program/daemon.h"
#include "program/host_names.h"
#include "program/service_manager.h"
#include "telemetry/health.h"
#include "telemetry/log_errors.h"
#include "web/error_pages.h"
#include "web/metrics_page.h"
#include "web/readiness.h"
#include "web/server.h"

namespace {

using namespace nodepool;
using async::Task;

// Only monitoring connects to a builder. Builds and uploads need the other descriptors.
constexpr web::ClientLimits::Limits kClientLimits{
    .connections = 64, .per_origin = 16, .per_local_origin = 16};

class BuilderDaemon final : public program::Daemon {
 public:
  BuilderDaemon(const program::Options& options, std::shared_ptr<telemetry::Log> log,
                BuilderChoices choices)
      : Daemon(options, std::move(log), "nodepool.builder"),
        choices_(choices),
        drivers_(drivers::all_drivers()),
        finishing_(runtime(), telemetry::log_errors(Daemon::log())) {
    enable_registry();
  }

 private:
  const driver::DriverRegistry& drivers() const override { return drivers_; }

  Task<> start_without_store(const config::Config& config) override {
    if (!config.webapp.builder_port) co_return;
    anonymous_read_ = config.api.anonymous_read;
    api::Authorizer::Options access{.anonymous_read = anonymous_read_};
    if (!anonymous_read_) access.tokens = config.api.tokens;  // otherwise nothing needs one
    authorizer_.emplace(runtime(), log().child("WebApp"),
                        telemetry::Logger(log_sink(), "nodepool.audit"), std::move(access));
    authorizer_->start();
    web_.emplace(
        runtime(), log().child("WebApp"),
        [this](web::Request request) { return answer(std::move(request)); }, web::Server::Limits(),
        std::make_shared<web::ClientLimits>(kClientLimits),
        [this](const web::Request& request) { return authorizer_->knows(request); });
    co_await web_->start({.host = config.webapp.listen_address,
                          .port = *config.webapp.builder_port,
                          .names = config.api.host_names});
  }

  // Without `anonymous-read`, clients without a token are shown only liveness and readiness.
  Task<web::Response> answer(web::Request request) {
    if (request.path == "/live") co_return web::text_page("OK");
    if (request.path == "/ready") co_return readiness(request);
    if (request.path != "/metrics") {
      co_return web::error_page(404, "A builder serves /live, /ready and /metrics.", request);
    }
    using Subject = api::Authorizer::Subject;
    if (auto refusal = authorizer_->refuse_reading(request, Subject::records)) {
      co_return std::move(*refusal);
    }
    web::Response response = co_await metrics_page_.answer();
    if (!anonymous_read_) web::make_private(response);
    co_return response;
  }

  web::Response readiness(const web::Request& request) const {
    telemetry::Health health = all_health();
    const bool is_reader = authorizer_->may_read(request);
    if (!is_reader) health = web::without_reasons(std::move(health));
    web::Response response = web::readiness_page(health, request);
    if (is_reader && !anonymous_read_) web::make_private(response);
    return response;
  }

  telemetry::Health all_health() const {
    telemetry::Health all = health();
    if (builder_) std::ranges::move(builder_->problems(), std::back_inserter(all.warnings));
    return all;
  }

  telemetry::MetricsRegistry all_metrics() const {
    telemetry::MetricsRegistry all = registry();
    telemetry::add_health(all, all_health());
    if (builder_) builder_->add_metrics(all);
    return all;
  }

  Task<> start(config::Config config) override {
    builder::NodePoolBuilder::Options options;
    options.hostname = host_names_.short_name;
    options.fqdn = host_names_.fqdn;
    options.build_workers = choices_.build_workers;
    options.upload_workers = choices_.upload_workers;
    options.fake = choices_.fake;
    options.metrics = metrics();
    options.state = state();
    for (const auto& [name, value] : config::process_environment()) {
      options.environment[name] = value;
    }
    for (const char* name : program::kServiceManagerVariables) options.environment.erase(name);
    builder_.emplace(runtime(), store(), log_sink(), drivers_, config, options);
    co_await builder_->start(std::move(config));
  }

  Task<> reconfigure(config::Config config) override {
    co_await builder_->reconfigure(std::move(config));
  }

  // SIGTERM ends it at once; the other signals end it when its builds and uploads are complete, a
  // second signal at once.
  Task<> wait_for_end(async::Signals& signals) override {
    if (co_await next_signal(signals) == SIGTERM || !builder_) co_return;
    log().info(
        "Stopping when the builds and uploads in progress are complete; another signal stops "
        "them at once");
    finishing_.spawn("completing builds and uploads", finish());
    Task<> completed = completed_.wait();
    co_await signals.until_next(std::move(completed));
  }

  Task<> finish() {
    co_await builder_->finish();
    completed_.set();
  }

  std::vector<std::string> early_problems() const override {
    std::vector<std::string> problems;
    if (web_ && !web_->problem().empty()) problems.push_back(web_->problem());
    if (authorizer_ && !authorizer_->problem().empty()) problems.push_back(authorizer_->problem());
    return problems;
  }

  void state_has_changed() override {
    if (builder_) builder_->set_state(state());
  }

  std::vector<std::string> fixed_keys_changed(const config::Config& begun,
                                              const config::Config& now) const override {
    std::vector<std::string> keys;
    if (begun.images_dir != now.images_dir) keys.emplace_back("images-dir");
    if (begun.webapp != now.webapp) keys.emplace_back("webapp");
    // Tokens are used without `anonymous-read` only.
    const bool is_api_changed = begun.api.anonymous_read != now.api.anonymous_read ||
                                (!begun.api.anonymous_read && begun.api.tokens != now.api.tokens) ||
                                begun.api.host_names != now.api.host_names;
    if (begun.webapp.builder_port && is_api_changed) keys.emplace_back("api");
    return keys;
  }

  Task<> stop() override {
    if (web_) co_await web_->stop();
    web_.reset();
    if (authorizer_) co_await authorizer_->stop();
    authorizer_.reset();
    if (builder_) co_await builder_->stop();
    co_await finishing_.join();
    builder_.reset();
  }

  // Looked up before the loop runs: a slow name server would block it until the session expires.
  const program::HostNames host_names_ = program::host_names();
  BuilderChoices choices_;
  driver::DriverRegistry drivers_;
  web::MetricsPage metrics_page_{runtime(), [this] { return all_metrics(); }};
  std::optional<api::Authorizer> authorizer_;
  std::optional<web::Server> web_;
  bool anonymous_read_ = false;
  std::optional<builder::NodePoolBuilder> builder_;
  async::Event completed_{"all builds and uploads are complete"};
  async::TaskScope finishing_;
};

}  // namespace

int main(int argc, char** argv) {
  if (const auto status = async::supervise_if_asked(argc, argv)) return *status;
  BuilderChoices choices;
  return program::run_daemon(
      builder_program(choices), argc, argv, [&choices](const program::Options& options, auto log) {
        return std::make_unique<BuilderDaemon>(options, std::move(log), choices);
      });
}
