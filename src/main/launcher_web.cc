#include "main/launcher_web.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "page/assets.h"
#include "web/readiness.h"

namespace nodepool {

using async::Task;

namespace {

// Each connection takes a descriptor, and by default a process gets 1024 unless it asks for more.
void allow_descriptors(rlim_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);  // with fewer, clients wait until some have gone
}

}  // namespace

LauncherWeb::LauncherWeb(const async::Runtime& runtime, const telemetry::Logger& log,
                         Sources sources)
    : runtime_(runtime), log_(log), sources_(std::move(sources)) {}

void LauncherWeb::show(model::Records& records, coordination::Store& store,
                       const telemetry::Logger& audit, api::Api::Options api,
                       page::StatusPage::Options page) {
  pages_.emplace(runtime_, records);
  status_page_.emplace(runtime_, store, records, log_, std::move(page));
  api_.emplace(runtime_, store, records, log_, audit, std::move(api));
  api_->start();
}

Task<> LauncherWeb::start(const config::Config& config) {
  constexpr rlim_t kDescriptors = 16384;  // three doors, and what else the launcher has open
  allow_descriptors(kDescriptors);
  anonymous_read_ = config.api.anonymous_read;
  co_await open({.host = config.webapp.listen_address, .port = config.webapp.port});
  const config::Api& api = config.api;
  if (api.port) {
    co_await open({.kind = web::Door::Kind::tls,
                   .host = api.listen_address,
                   .port = *api.port,
                   .certificate = api.tls_cert,
                   .key = api.tls_key});
  }
  if (!api.socket.empty()) {
    co_await open({.kind = web::Door::Kind::local, .path = api.socket, .mode = api.socket_mode});
  }
}

Task<> LauncherWeb::open(web::Door door) {
  servers_.push_back(std::make_unique<web::Server>(
      runtime_, log_, [this](web::Request request) { return answer(std::move(request)); }));
  co_await servers_.back()->start(std::move(door));
}

Task<> LauncherWeb::stop() {
  for (const auto& server : servers_) co_await server->stop();
  servers_.clear();
  if (status_page_) co_await status_page_->stop();
  if (api_) co_await api_->stop();
}

Task<web::Response> LauncherWeb::answer(web::Request request) {
  if (request.path == "/live") co_return web::text_page("OK");
  const page::StatusPage::Part page = page::StatusPage::part_of(request);
  if (page == page::StatusPage::Part::file) co_return *page::asset(request);
  const bool is_call = request.path.starts_with(api::Api::kRoot);
  if (request.path == "/ready" || (!api_ && request.path != "/metrics")) {
    co_return readiness(request);
  }
  if (api_ && !is_call) {
    if (auto refusal = api_->refuse_reading(request)) co_return std::move(*refusal);
  }
  if (request.path == "/metrics") {
    if (!api_ && !anonymous_read_) co_return readiness(request);
    co_return web::text_page(sources_.figures().prometheus_text(), web::kPrometheusText);
  }
  if (page == page::StatusPage::Part::data) {
    co_return co_await status_page_->answer(std::move(request));
  }
  Task<web::Response> answering =
      is_call ? api_->answer(std::move(request)) : pages_->answer(std::move(request));
  co_return co_await std::move(answering);
}

// Tokens cannot be looked up before the API is there.
bool LauncherWeb::may_read(const web::Request& request) {
  return api_ ? !api_->refuse_reading(request) : anonymous_read_;
}

// Everybody may know whether it serves; what is wrong, only those who may read.
web::Response LauncherWeb::readiness(const web::Request& request) {
  telemetry::Health health = sources_.health();
  if (!may_read(request)) {
    if (!health.obstacles.empty()) health.obstacles = {"who may read is told why"};
    health.warnings.clear();
  }
  return web::readiness_page(health, request);
}

}  // namespace nodepool
