#include "main/launcher_web.h"

#include <sys/resource.h>

#include <algorithm>
#include <set>
#include <utility>

#include "page/assets.h"
#include "web/readiness.h"

namespace nodepool {

using async::Task;

namespace {

// Raises the limit of open descriptors, which is usually 1024; each connection needs one. Returns
// the new limit.
rlim_t raise_descriptor_limit(rlim_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  if (limit.rlim_cur >= wanted) return limit.rlim_cur;
  const rlim_t before = std::exchange(limit.rlim_cur, std::min(wanted, limit.rlim_max));
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : before;
}

}  // namespace

LauncherWeb::LauncherWeb(const async::Runtime& runtime, const telemetry::Logger& log,
                         const telemetry::Logger& audit, Sources sources)
    : runtime_(runtime),
      log_(log),
      audit_(audit),
      sources_(std::move(sources)),
      metrics_(runtime, sources_.registry) {}

Task<> LauncherWeb::show(model::Records& records, coordination::Store& store, api::Api::Options api,
                         page::StatusPage::Options page) {
  pages_.emplace(runtime_, records);
  status_page_.emplace(runtime_, records, log_, std::move(page));
  status_page_->start();
  api_.emplace(runtime_, store, records, log_, audit_, std::move(api));
  api_->start();
  co_await early_authorizer_->stop();  // no request uses it any longer
  early_authorizer_.reset();
}

Task<> LauncherWeb::start(const config::Config& config) {
  constexpr rlim_t kDescriptors = 16384;  // for three servers and the launcher's other files
  client_limits_ = std::make_shared<web::ClientLimits>(
      web::ClientLimits::fitted(web::ClientLimits::Limits(), raise_descriptor_limit(kDescriptors)));
  const config::ApiSettings& api = config.api;
  anonymous_read_ = api.anonymous_read;
  api::Authorizer::Options access{.anonymous_read = anonymous_read_};
  if (!anonymous_read_) access.tokens = api.tokens;  // otherwise nothing needs one before show()
  early_authorizer_.emplace(runtime_, log_, audit_, std::move(access));
  early_authorizer_->start();
  std::set<std::string> public_paths;
  if (anonymous_read_) public_paths = web::ReferencePages::paths();
  co_await open({.host = config.webapp.listen_address,
                 .port = config.webapp.port,
                 .names = api.host_names,
                 .public_paths = public_paths});
  if (api.port) {
    co_await open({.kind = web::ListenAddress::Kind::tls,
                   .host = api.listen_address,
                   .port = *api.port,
                   .names = api.host_names,
                   .public_paths = public_paths,
                   .certificate = api.tls_cert,
                   .key = api.tls_key});
  }
  if (!api.socket.empty()) {
    co_await open(
        {.kind = web::ListenAddress::Kind::local, .path = api.socket, .mode = api.socket_mode});
  }
}

Task<> LauncherWeb::open(web::ListenAddress listen_address) {
  servers_.push_back(std::make_unique<web::Server>(
      runtime_, log_, [this](web::Request request) { return answer(std::move(request)); },
      web::Server::Limits(), client_limits_,
      [this](const web::Request& request) { return authorizer().knows(request); }));
  co_await servers_.back()->start(std::move(listen_address));
}

std::vector<std::string> LauncherWeb::problems() const {
  std::vector<std::string> problems;
  for (const auto& server : servers_) {
    if (std::string problem = server->problem(); !problem.empty()) {
      problems.push_back(std::move(problem));
    }
  }
  if (!authorizer().problem().empty()) problems.push_back(authorizer().problem());
  return problems;
}

Task<> LauncherWeb::stop() {
  for (const auto& server : servers_) co_await server->stop();
  servers_.clear();
  if (status_page_) co_await status_page_->stop();
  if (early_authorizer_) co_await early_authorizer_->stop();
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
  if (is_call) co_return co_await api_->answer(std::move(request));
  using Subject = api::Authorizer::Subject;
  const bool is_build_log = page::StatusPage::is_build_log(request);
  const Subject subject = is_build_log ? Subject::build_log : Subject::records;
  if (auto refusal = authorizer().refuse_reading(request, subject)) {
    co_return std::move(*refusal);
  }
  const web::Request head = api::head_of(request);
  web::Response response = co_await answer_reader(std::move(request), page);
  authorizer().bind_to_client(response, head);
  if (!anonymous_read_ || is_build_log) web::make_private(response);
  co_return response;
}

// Responds to a client that may read.
Task<web::Response> LauncherWeb::answer_reader(web::Request request, page::StatusPage::Part page) {
  if (request.path == "/metrics") co_return co_await metrics_.answer();
  Task<web::Response> answering = page == page::StatusPage::Part::data
                                      ? status_page_->answer(std::move(request))
                                      : pages_->answer(std::move(request));
  co_return co_await std::move(answering);
}

// Every client may know whether the launcher is ready; the reasons need the right to read.
web::Response LauncherWeb::readiness(const web::Request& request) {
  telemetry::Health health = sources_.health();
  const bool is_reader = authorizer().may_read(request);
  if (!is_reader) health = web::without_reasons(std::move(health));
  web::Response response = web::readiness_page(health, request);
  if (is_reader && !anonymous_read_) web::make_private(response);
  return response;
}

}  // namespace nodepool
