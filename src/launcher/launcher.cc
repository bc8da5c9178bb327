#include "launcher/launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "launcher/launcher_metrics.h"
#include "telemetry/log_errors.h"
#include "telemetry/version.h"

namespace nodepool::launcher {

namespace {

// The deadline for own registrations to appear in the table of components.
constexpr auto kRegistrationDeadline = std::chrono::seconds(10);

// After problems were published. Images change in bursts, and each walk visits all labels.
constexpr auto kProblemsPause = std::chrono::seconds(1);

model::Component launcher_component(const Launcher::Options& options) {
  model::Component component;
  component.kind = model::Component::Kind::launcher;
  component.hostname = options.hostname;
  component.version = telemetry::version();
  options.state.describe(component);
  return component;
}

// The problems that keep a started provider from launching nodes.
void add_problems(std::vector<std::string>& problems, const ProviderInService& service) {
  constexpr std::size_t kMost = 100;  // they are in one record
  const driver::Provider& provider = *service.provider;
  const std::string& name = provider.config().name();
  const std::shared_ptr<const driver::Offer> offer = provider.offer();
  if (offer->launches) {
    const std::string why = service.quota->failure();
    if (!why.empty()) {
      problems.push_back(fmt::format("the quota of provider {} is not known: {}", name, why));
    }
  }
  for (const auto& [pool, offered] : offer->pools) {
    for (const auto& [label, of_label] : offered.labels) {
      if (of_label.problem.empty() || problems.size() >= kMost) continue;
      problems.push_back(model::label_problem_text(name, pool, label, of_label.problem));
    }
  }
}

NodeAges node_ages(const config::Config& config) {
  NodeAges ages;
  ages.max_hold_age = config.max_hold_age;
  ages.max_lease = config.max_lease;
  for (const auto& [name, label] : config.labels) ages.max_ready_age[name] = label.max_ready_age;
  return ages;
}

Task<> stop_workers(ProviderInService provider) {
  co_await provider.reconciler->stop();
  co_await provider.quota->stop();
}

}  // namespace

Launcher::Launcher(const async::Runtime& runtime, coordination::Store& store,
                   std::shared_ptr<telemetry::Log> log, const driver::DriverRegistry& drivers,
                   const Options& options)
    : kinds_(options.records),
      records_(runtime, store, telemetry::Logger(log, "nodepool")),
      context_{runtime, store, records_, telemetry::Logger(std::move(log), "nodepool"),
               options.metrics},
      log_(context_.log.child("NodePool")),
      lock_sweeper_(runtime, store),
      threads_(options.threads, "blocking calls"),
      history_(runtime, records_.nodes, records_.requests, threads_, context_.log.child("history"),
               options.history),
      installation_(runtime, store, log_),
      registration_(runtime, store, log_, launcher_component(options)),
      state_(options.state),
      provider_set_(drivers,
                    {runtime, store, records_.nodes, records_.images, threads_, context_.log,
                     options.metrics, installation_.current()},
                    log_, *this),
      usage_(records_.nodes,
             [this](std::string_view provider, std::string_view pool, std::string_view label) {
               return label_resources(provider, pool, label);
             }),
      deletions_(records_.nodes),
      serving_{context_,   options.hostname,       options.fqdn,    history_,          usage_,
               deletions_, tenant_limits_,         departed_pools_, handled_requests_, starved_,
               own_pools_, installation_.current()},
      deleted_nodes_(context_, history_, providers_, own_pools_),
      expiry_(context_, providers_),
      cleanup_(context_, departed_pools_, own_pools_),
      min_ready_(context_, providers_),
      stats_(context_, providers_, tenant_limits_,
             {options.metrics, options.hostname, options.store_queue}),
      tables_scope_(runtime, telemetry::log_errors(log_)) {}

Launcher::~Launcher() = default;

Task<> Launcher::start(config::Config config) {
  // First, as it checks for existing nodes.
  co_await installation_.start();
  co_await records_.make_roots(kinds_);
  history_problem_ = history_.observe_problem([this] { publish_state(); });
  co_await history_.start();
  tables_scope_.spawn("installation", installation_.run());
  records_.follow(tables_scope_, kinds_);
  co_await records_.until_ready();
  departed_pools_.set_timeout(std::chrono::seconds(config.pool_timeout));
  departed_pools_.begin(context_.runtime.clock.now());
  tables_scope_.spawn("departed pools", wait_for_departed_pools());
  pools_ = records_.components.observe(
      [this](const model::ComponentTable::Change& change) { on_component(change); });
  co_await registration_.start();
  deleted_nodes_.start();
  expiry_.start();
  cleanup_.start();
  images_ = records_.images.observe([this](const std::string&) { problems_due_.set(); });
  tables_scope_.spawn("problems", publish_problems());
  machines_ =
      records_.nodes.observe([this](const model::NodeTable::Change& change) { on_node(change); });
  min_ready_.start();
  co_await provider_set_.apply(std::move(config));
  model::Component running = registration_.component();
  running.state = "running";
  registration_.update(std::move(running));
  stats_.start();
  ready_ = true;
  log_.info("Serving {} pool(s) of {} provider(s)", pool_workers_.size(), providers_.size());
}

std::optional<Resources> Launcher::label_resources(std::string_view provider, std::string_view pool,
                                                   std::string_view label) const {
  const auto entry = providers_.find(provider);
  if (entry == providers_.end()) return std::nullopt;
  const auto& pools = entry->second.provider->config().pools();
  const auto config = pools.find(std::string(pool));
  if (config == pools.end() || !config->second.labels.contains(label)) return std::nullopt;
  return entry->second.provider->offer()->label(pool, label).need;
}

void Launcher::on_node(const model::NodeTable::Change& change) {
  if (change.after != nullptr || change.before->external_id.is_null()) return;
  const auto provider = providers_.find(change.before->provider.value_or(""));
  if (provider != providers_.end()) provider->second.quota->capacity_freed();
}

void Launcher::on_component(const model::ComponentTable::Change& change) {
  if (change.after == nullptr && change.before->kind == model::Component::Kind::pool) {
    mark_departed(*change.before);
  }
  if (change.before == nullptr || change.after == nullptr) warn_of_python_launchers();
}

void Launcher::warn_of_python_launchers() {
  const auto of_python = records_.components.python_pools();
  std::erase_if(of_both_kinds_, [&](const auto& each) { return !of_python.contains(each); });
  for (const auto& [provider, sentence] : records_.components.providers_of_both_kinds()) {
    if (!providers_.contains(provider)) continue;
    if (of_both_kinds_.insert(provider).second) log_.warning("{}", sentence);
  }
}

void Launcher::mark_departed(const model::Component& pool) {
  departed_pools_.left(pool, context_.runtime.clock.now());
  tables_scope_.spawn("departed pool " + pool.name, wait_for_departed_pools());
}

Task<> Launcher::wait_for_departed_pools() {
  co_await context_.runtime.clock.sleep_for(departed_pools_.timeout());
  departed_pools_.notify();
}

void Launcher::set_state(const model::DaemonState& state) {
  state_ = state;
  publish_state();
}

void Launcher::add_metrics(telemetry::MetricsRegistry& registry) {
  stats_.add_metrics(registry);
  registry.count(telemetry::series<kHistoryEntriesDropped>(),
                 static_cast<std::int64_t>(history_.dropped()));
}

std::vector<std::string> Launcher::problems() const {
  std::vector<std::string> problems;
  if (!history_.problem().empty()) {
    problems.push_back(std::string(model::kHistoryProblem) + history_.problem());
  }
  for (const auto& [provider, reason] : provider_set_.failures()) {
    problems.push_back(fmt::format("provider {} is not in service: {}", provider, reason));
  }
  for (const auto& [provider, reason] : provider_set_.outdated()) {
    problems.push_back(
        fmt::format("provider {} keeps its previous configuration: {}", provider, reason));
  }
  for (const auto& [name, service] : providers_) add_problems(problems, service);
  return problems;
}

Task<> Launcher::publish_problems() {
  while (true) {
    co_await problems_due_.wait();
    if (problems() != published_problems_) publish_state();
    co_await context_.runtime.clock.sleep_for(kProblemsPause);
  }
}

void Launcher::publish_state() {
  model::Component component = registration_.component();
  state_.describe(component);
  published_problems_ = problems();
  std::ranges::copy(published_problems_, std::back_inserter(component.problems));
  registration_.update(std::move(component));
}

telemetry::Health Launcher::health() const {
  telemetry::Health health;
  if (!records_.ready()) health.obstacles.emplace_back("the records are being read");
  if (!ready_) health.obstacles.emplace_back("the providers are being started");
  health.warnings = problems();
  return health;
}

Task<> Launcher::reconfigure(config::Config config) {
  co_await provider_set_.apply(std::move(config));
  log_.info("Configuration reloaded: {} pool(s) of {} provider(s)", pool_workers_.size(),
            providers_.size());
}

void Launcher::put_in_service(std::shared_ptr<driver::Provider> provider) {
  const std::string& name = provider->config().name();
  std::shared_ptr<ProviderLaunches> launches = launches_[name].lock();
  if (!launches) launches_[name] = launches = std::make_shared<ProviderLaunches>();
  auto quota = std::make_shared<ProviderQuota>(context_.runtime, provider,
                                               log_.child("quota." + name), std::move(launches));
  auto reconciler =
      std::make_shared<Reconciler>(context_, history_, provider, log_.child("leaks." + name));
  problem_sources_[name] = quota->observe_responses([this] { problems_due_.set(); });
  quota->start();
  reconciler->start();
  providers_.emplace(name, ProviderInService{provider, std::move(quota), std::move(reconciler)});
  usage_.recount(name);
  deleted_nodes_.reevaluate_provider(name);
}

Task<> Launcher::take_out_of_service(std::string name) {
  problem_sources_.erase(name);
  ProviderInService service = std::move(providers_.extract(name).mapped());
  service.quota->leave_service();
  return stop_workers(std::move(service));
}

Task<> Launcher::adapt(const config::Config& config) {
  tenant_limits_ = config.tenant_limits;
  departed_pools_.set_configured(provider_set_.wanted());
  departed_pools_.set_timeout(std::chrono::seconds(config.pool_timeout));
  departed_pools_.notify();
  // The tasks that wait already do so for the previous timeout.
  tables_scope_.spawn("departed pools, new timeout", wait_for_departed_pools());
  // A request that no registered pool can serve fails. So a label stays offered while its pool or
  // provider is renamed, or while it moves to another pool of this launcher.
  const std::vector<PoolWorker*> waiting = add_pool_workers();
  for (PoolWorker* worker : waiting) co_await worker->start();
  co_await wait_until_registered(waiting);
  reconfigure_pool_workers();
  co_await remove_pool_workers();
  for (PoolWorker* worker : waiting) worker->serve();
  expiry_.reconfigure(node_ages(config));
  min_ready_.reconfigure(config.labels);
  publish_state();
}

const ProviderInService* Launcher::provider_of(const PoolKey& key) const {
  const auto& [name, pool] = key;
  const auto found = providers_.find(name);
  if (found == providers_.end()) return nullptr;
  return found->second.provider->config().pools().contains(pool) ? &found->second : nullptr;
}

// Those of an interrupted call are included: they may be registered without an answer of the store.
std::vector<PoolWorker*> Launcher::add_pool_workers() {
  std::vector<PoolWorker*> waiting;
  for (const auto& [provider_name, provider] : providers_) {
    for (const auto& [pool, pool_config] : provider.provider->config().pools()) {
      const PoolKey key(provider_name, pool);
      if (!pool_workers_.contains(key)) {
        pool_workers_.emplace(key, std::make_unique<PoolWorker>(serving_, provider, pool));
      }
      PoolWorker* const worker = pool_workers_.at(key).get();
      if (!worker->is_serving()) waiting.push_back(worker);
    }
  }
  return waiting;
}

// All in one turn of the loop: if a pool that gains a label were the last, it could decline a
// request for it when the pool that loses the label does.
void Launcher::reconfigure_pool_workers() {
  for (const auto& [key, worker] : pool_workers_) {
    if (const ProviderInService* provider = provider_of(key)) worker->reconfigure(*provider);
  }
}

Task<> Launcher::remove_pool_workers() {
  for (auto entry = pool_workers_.begin(); entry != pool_workers_.end();) {
    if (provider_of(entry->first) != nullptr) {
      ++entry;
      continue;
    }
    log_.info("Stopping the worker of pool {}-{}", entry->first.first, entry->first.second);
    co_await entry->second->unregister();
    entry = pool_workers_.erase(entry);
  }
}

Task<> Launcher::wait_until_registered(std::vector<PoolWorker*> workers) {
  async::Event changed("a pool is registered");
  const coordination::Subscription subscription = records_.components.observe(
      [&changed](const model::ComponentTable::Change&) { changed.set(); });
  const async::Clock::TimePoint deadline = context_.runtime.clock.now() + kRegistrationDeadline;
  const auto registered = [](PoolWorker* worker) { return worker->is_registered(); };
  while (!std::ranges::all_of(workers, registered)) {
    if (co_await changed.wait_until(context_.runtime.clock, deadline)) continue;
    log_.warning("The registration of this launcher's pools is not visible yet, serving anyway");
    co_return;
  }
}

// All at once: while the store is unreachable, each waits for a timeout of its operations.
Task<> Launcher::stop_all_workers() {
  async::TaskScope stopping(context_.runtime, telemetry::log_errors(log_));
  for (auto& [key, worker] : pool_workers_) stopping.spawn("stop " + worker->id(), worker->stop());
  stopping.spawn("stop StatsWorker", stats_.stop());
  stopping.spawn("stop MinReadyWorker", min_ready_.stop());
  stopping.spawn("stop CleanupWorker", cleanup_.stop());
  stopping.spawn("stop ExpiryWorker", expiry_.stop());
  stopping.spawn("stop DeletedNodeWorker", deleted_nodes_.stop());
  co_await stopping.join();
}

Task<> Launcher::stop() {
  ready_ = false;
  log_.info("Stopping");
  co_await provider_set_.stop_retrying();
  co_await stop_all_workers();
  pool_workers_.clear();
  machines_.reset();
  pools_.reset();
  co_await provider_set_.stop();
  co_await registration_.stop();
  co_await lock_sweeper_.stop();
  co_await tables_scope_.stop();
  co_await history_.stop();
}

}  // namespace nodepool::launcher
