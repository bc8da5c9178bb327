// nodepool-launcher: arguments and wiring.

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "async/slots.h"
#include "async/supervisor.h"
#include "drivers/registry.h"
#include "launcher/launcher.h"
#include "lifecycle/provider_set.h"
#include "main/daemon_programs.h"
#include "main/launcher_web.h"
#include "main/page_sources.h"
#include "main/site_problems.h"
#include "program/daemon.h"
#include "program/host_names.h"
#include "program/journal.h"
#include "report/explanation/explainer.h"
#include "telemetry/health.h"

namespace {

using namespace nodepool;
using async::Task;

class LauncherDaemon final : public program::Daemon {
 public:
  LauncherDaemon(const program::Options& options, std::shared_ptr<telemetry::Log> log)
      : Daemon(options, std::move(log), "nodepool.NodePool"),
        drivers_(drivers::all_drivers()),
        has_webapp_(options.webapp) {
    if (has_webapp_) enable_registry();
  }

 private:
  const driver::DriverRegistry& drivers() const override { return drivers_; }

  Task<> start_without_store(const config::Config& config) override {
    if (!has_webapp_) co_return;
    web_.emplace(runtime(), log().child("WebApp"), telemetry::Logger(log_sink(), "nodepool.audit"),
                 LauncherWeb::Sources{.health = [this] { return all_health(); },
                                      .registry = [this] { return all_metrics(); }});
    co_await web_->start(config);
  }

  Task<> start(config::Config config) override {
    launcher::Launcher::Options options{host_names_.short_name, host_names_.fqdn};
    options.history = program::journal_of(config);
    options.metrics = metrics();
    options.store_queue = [this] { return store_operations_under_way(); };
    options.state = state();
    config_ = std::make_shared<const config::Config>(config);
    if (web_) options.records.insert(model::Records::Kind::hosts);
    launcher_.emplace(runtime(), store(), log_sink(), drivers_, options);
    if (web_) {
      site_problems_.emplace(runtime().clock, launcher_->records());
      site_problems_->configure(config);
      api::Api::Options api{
          .access = {.tokens = config.api.tokens,
                     .anonymous_read = config.api.anonymous_read,
                     .anonymous_build_logs = config.api.anonymous_build_logs},
          .journal = program::journal_of(config),
          .explain =
              [this](std::string subject, report::MayName may_name) {
                return explain(std::move(subject), std::move(may_name));
              },
          .max_lease = [this] { return max_lease(); },
          .configured_pause = [this](const std::string& image) { return configured_pause(image); }};
      page::StatusPage::Options page{.sources = page_sources(
                                         *launcher_, *metrics().registry(), *site_problems_,
                                         [this] { return store_problem(); },
                                         [this]() -> const config::Config& { return *config_; }),
                                     .journal = program::journal_of(config),
                                     .build_logs = config.build_log_dir};
      co_await web_->show(launcher_->records(), store(), std::move(api), std::move(page));
    }
    co_await launcher_->start(std::move(config));
  }

  Task<> reconfigure(config::Config config) override {
    auto next = std::make_shared<const config::Config>(config);
    co_await launcher_->reconfigure(std::move(config));
    config_ = std::move(next);
    if (site_problems_) site_problems_->configure(*config_);
  }

  std::vector<std::string> fixed_keys_changed(const config::Config& begun,
                                              const config::Config& now) const override {
    std::vector<std::string> keys;
    if (begun.api != now.api) keys.emplace_back("api");
    if (begun.webapp != now.webapp) keys.emplace_back("webapp");
    if (begun.history != now.history) keys.emplace_back("history");
    if (begun.build_log_dir != now.build_log_dir) keys.emplace_back("build-log-dir");
    return keys;
  }

  Task<> stop() override {
    if (web_) co_await web_->stop();
    web_.reset();
    site_problems_.reset();
    if (launcher_) co_await launcher_->stop();
    launcher_.reset();
  }

  std::vector<std::string> early_problems() const override {
    return web_ ? web_->problems() : std::vector<std::string>();
  }

  void state_has_changed() override {
    if (launcher_) launcher_->set_state(state());
  }

  // Replaces the own warnings by those of the whole installation, which contain the own ones with
  // the name of this daemon as prefix, once they are in the store.
  void add_site_problems(std::vector<std::string>& warnings) {
    const std::vector<report::StatusProblem>& site = site_problems_->list();
    std::erase_if(warnings, [&site](const std::string& own) {
      return std::ranges::any_of(
          site, [&own](const report::StatusProblem& each) { return each.text.ends_with(own); });
    });
    for (const report::StatusProblem& problem : site) warnings.push_back(problem.text);
  }

  telemetry::Health all_health() {
    telemetry::Health all = health();
    if (!launcher_) return all;
    const telemetry::Health own = launcher_->health();
    all.obstacles.insert(all.obstacles.end(), own.obstacles.begin(), own.obstacles.end());
    all.warnings.insert(all.warnings.end(), own.warnings.begin(), own.warnings.end());
    if (site_problems_ && launcher_->records().ready()) add_site_problems(all.warnings);
    return all;
  }

  telemetry::MetricsRegistry all_metrics() {
    telemetry::MetricsRegistry all = registry();
    telemetry::add_health(all, all_health());
    if (launcher_) launcher_->add_metrics(all);
    return all;
  }

  std::optional<std::chrono::seconds> max_lease() const {
    if (!config_->max_lease) return std::nullopt;
    return std::chrono::seconds(*config_->max_lease);
  }

  std::optional<bool> configured_pause(const std::string& image) const {
    const auto found = config_->diskimages.find(image);
    if (found == config_->diskimages.end()) return std::nullopt;
    return found->second.pause;
  }

  // Those that serve, or that could not start. Before the configuration is applied, all of it.
  report::Providers providers() const {
    const lifecycle::ProviderSet& set = launcher_->provider_set();
    if (set.wanted().empty()) return report::configured_providers(*config_, drivers_);
    report::Providers providers;
    for (const auto& [name, config] : set.wanted()) {
      report::ProviderFacts& facts = providers[name];
      const auto failure = set.failures().find(name);
      facts.config = config;
      if (failure != set.failures().end()) facts.failure = failure->second;
    }
    return providers;
  }

  // One explanation at a time: each takes a while on the event loop.
  Task<std::optional<report::Explanation>> explain(std::string subject, report::MayName may_name) {
    const async::Slots::Hold turn = co_await explanations_.take();
    const std::shared_ptr<const config::Config> config = config_;
    model::Records& records = launcher_->records();
    // Only the subject's own history and recent waits are read, on a thread: reading blocks.
    using History = std::pair<history::SubjectHistory, history::Waits>;
    Task<History> reading = threads_.run(
        "reading the history",
        [journal = program::journal_of(*config), subject, now = runtime().clock.wall_seconds()] {
          return History(history::history_of(journal, subject, now),
                         history::recent_waits(journal));
        });
    const History known = co_await std::move(reading);
    report::Sources sources{
        .now = runtime().clock.wall_seconds(),
        .store = store(),
        .nodes = records.nodes,
        .images = records.images,
        .requests = records.requests,
        .components = records.components,
        .config = *config,
        .providers = providers(),
        .history =
            [&known, &subject](const std::string& id) {
              return id == subject ? known.first : history::SubjectHistory();
            },
        .waits = known.second,
        .own_pools = launcher_->own_pools(),
        .decisions =
            [this](const std::string& id) { return launcher_->history().decisions_about(id); },
        .may_name = std::move(may_name)};
    Task<std::optional<report::Explanation>> explaining =
        report::explain(std::move(sources), subject, {});
    co_return co_await std::move(explaining);
  }

  // Looked up before the loop runs: a slow name server would block it until the session expires.
  const program::HostNames host_names_ = program::host_names();
  driver::DriverRegistry drivers_;
  async::ThreadPool threads_{1, "explaining"};
  async::Slots explanations_{1};
  std::shared_ptr<const config::Config> config_;  // in force
  bool has_webapp_;
  std::optional<launcher::Launcher> launcher_;
  std::optional<SiteProblems> site_problems_;
  std::optional<LauncherWeb> web_;
};

}  // namespace

int main(int argc, char** argv) {
  if (const auto status = async::supervise_if_asked(argc, argv)) return *status;
  return program::run_daemon(launcher_program(), argc, argv,
                             [](const program::Options& options, auto log) {
                               return std::make_unique<LauncherDaemon>(options, std::move(log));
                             });
}
