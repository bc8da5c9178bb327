#include "lifecycle/provider_set.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "async/finally.h"
#include "coordination/outage.h"
#include "telemetry/log_errors.h"

namespace nodepool::lifecycle {

using coordination::StoreError;
using driver::Provider;

ProviderSet::ProviderSet(const driver::DriverRegistry& drivers, driver::ProviderContext context,
                         const telemetry::Logger& log, User& user)
    : drivers_(drivers),
      context_(std::move(context)),
      log_(log),
      user_(user),
      retrier_(context_.runtime, log_),
      stopping_(context_.runtime, telemetry::log_errors(log_)) {}

Task<> ProviderSet::apply(config::Config config) {
  // First, so that an error changes nothing.
  Configs wanted = configure(config);
  co_await retrier_.stop();
  config_ = std::move(config);
  want(std::move(wanted));
  take_replaced_out_of_service();
  try {
    while (!co_await start_missing()) {
      co_await coordination::wait_for_store(context_.runtime, context_.store);
    }
  } catch (...) {
    stop_replaced();
    throw;
  }
  stop_replaced();
  if (!is_complete()) retrier_.begin([this] { return retry(); });
}

ProviderSet::Configs ProviderSet::configure(const config::Config& config) const {
  Configs wanted;
  for (const config::ProviderSection& section : config.providers) {
    auto provider = drivers_.driver(section.driver).configure(section, config);
    if (user_.wants(*provider)) wanted[section.name] = std::move(provider);
  }
  return wanted;
}

// A provider in service does not need its files: without them, it stays as it is.
void ProviderSet::want(Configs wanted) {
  const Configs previous = std::exchange(wanted_, std::move(wanted));
  for (const auto& [name, config] : previous) {
    if (!wanted_.contains(name)) retrier_.forget(name);
  }
  outdated_.clear();
  for (auto& [name, config] : wanted_) {
    if (!config->outside_problem() || !started_.contains(name)) continue;
    outdated_[name] = to_string(*config->outside_problem());
    log_.error("Provider {} keeps its previous configuration: {}", name, outdated_[name]);
    config = previous.at(name);
  }
  log_new_warnings(previous);
}

// A change elsewhere in the file moves a setting to another line, which makes no new warning.
void ProviderSet::log_new_warnings(const Configs& previous) const {
  for (const auto& [name, config] : wanted_) {
    const auto before = previous.find(name);
    for (const config::Problem& warning : config->config_warnings()) {
      const auto is_same = [&warning](const config::Problem& other) {
        return other.path == warning.path && other.message == warning.message;
      };
      const bool is_known = before != previous.end() &&
                            std::ranges::any_of(before->second->config_warnings(), is_same);
      if (!is_known) log_.warning("{}", to_string(warning));
    }
  }
}

void ProviderSet::take_replaced_out_of_service() {
  for (const auto& [name, started] : started_) {
    const auto found = wanted_.find(name);
    if (found != wanted_.end() && found->second->same_as(started.provider->config())) continue;
    replaced_.emplace(name, Replaced{started.provider, retire(started)});
  }
  for (const auto& [name, replaced] : replaced_) started_.erase(name);
}

// The provider is out of service at once; the returned task stops it.
Task<> ProviderSet::retire(Started started) {
  started.provider->quiesce();
  Task<> end_of_service = user_.take_out_of_service(started.provider->config().name());
  return stop_after(std::move(end_of_service), std::move(started));
}

// A request that was accepted before may call the provider for the first time long after.
Task<> ProviderSet::stop_after(Task<> end_of_service, Started started) {
  co_await std::move(end_of_service);
  while (!started.in_use.expired()) co_await started.unused->wait();
  co_await started.provider->stop();
}

void ProviderSet::stop_replaced() {
  for (auto& [name, replaced] : std::exchange(replaced_, {})) {
    stopping_.spawn("replaced provider " + name, std::move(replaced.stop));
  }
}

// Idempotent: continues an earlier call. Returns false if the store was unreachable.
Task<bool> ProviderSet::start_missing() {
  try {
    for (const config::ProviderSection& section : config_.providers) {
      const bool is_missing = wanted_.contains(section.name) && !started_.contains(section.name);
      if (is_missing) co_await start(section);
    }
    co_await user_.adapt(config_);
  } catch (const StoreError& error) {
    if (error.kind() == StoreError::Kind::closed) throw;
    log_.warning("Applying the configuration is delayed: {}", error.what());
    co_return false;
  }
  co_return true;
}

Task<> ProviderSet::start(const config::ProviderSection& section) {
  const std::string& name = section.name;
  Started started;
  const std::optional<std::string> failure = co_await try_to_start(section, started);
  if (failure) co_return retrier_.failed(name, *failure);
  retrier_.succeeded(name);
  started_.emplace(name, std::move(started));
}

// Returns why the provider cannot start, after it is stopped; nothing: it is in service. Throws
// StoreError, Cancelled.
Task<std::optional<std::string>> ProviderSet::try_to_start(const config::ProviderSection& section,
                                                           Started& started) {
  std::optional<std::string> failure;
  try {
    started.provider = create(section);
    Task<> starting = start_and_put_in_service(started);
    const auto stop = [&started] { return started.provider->stop(); };
    co_await async::undo_on_failure(std::move(starting), stop);
  } catch (const StoreError&) {
    throw;
  } catch (const async::Cancelled&) {
    throw;
  } catch (const std::exception& error) {
    failure = error.what();
  }
  co_return failure;
}

std::shared_ptr<Provider> ProviderSet::create(const config::ProviderSection& section) const {
  const auto& config = wanted_.at(section.name);
  config->require_files();
  std::shared_ptr<Provider> provider = drivers_.driver(section.driver).provider(config, context_);
  const auto predecessor = replaced_.find(section.name);
  if (predecessor != replaced_.end()) provider->take_over(*predecessor->second.provider);
  return provider;
}

Task<> ProviderSet::start_and_put_in_service(Started& started) {
  co_await started.provider->start();
  started.unused = std::make_shared<async::Event>("a provider is not in use any more");
  const auto release = [provider = started.provider, unused = started.unused](Provider*) {
    unused->set();
  };
  const std::shared_ptr<Provider> in_use(started.provider.get(), release);
  started.in_use = in_use;
  user_.put_in_service(in_use);
}

Task<bool> ProviderSet::retry() {
  const bool is_applied = co_await start_missing();
  co_return is_applied&& is_complete();
}

Task<> ProviderSet::stop() {
  co_await stopping_.join();
  for (auto& [name, started] : std::exchange(started_, {})) {
    Task<> stop = retire(std::move(started));
    co_await std::move(stop);
  }
}

}  // namespace nodepool::lifecycle
