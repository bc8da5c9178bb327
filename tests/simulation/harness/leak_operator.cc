#include "tests/simulation/harness/leak_operator.h"

#include <fmt/format.h>

#include <exception>
#include <memory>

namespace nodepool::simulation {

namespace {

constexpr auto kPause = std::chrono::seconds(20);

// As long as it may take until the last call that was under way has made what it makes.
constexpr int kRounds = 45;

telemetry::Logger silent() {
  const auto ignore = [](telemetry::LogLevel, std::string_view, std::string_view) {};
  return {telemetry::Log::to_consumer(ignore, telemetry::LogLevel::error), "leaks"};
}

}  // namespace

LeakOperatorProcess::LeakOperatorProcess(World& world, const Custody& custody,
                                         const driver::DriverRegistry& drivers,
                                         config::Config config)
    : Process(world, "leak operator", {}),
      custody_(custody),
      drivers_(drivers),
      log_(silent()),
      nodes_(runtime_, store_, log_),
      images_(runtime_, store_, log_),
      tables_(runtime_, report()),
      scope_(runtime_, report()) {
  tables_.spawn("table of nodes", nodes_.run());
  tables_.spawn("table of images", images_.run());
  scope_.spawn("leaks", run(std::move(config)));
}

Task<> LeakOperatorProcess::run(config::Config config) {
  for (int round = 0; round < kRounds || !custody_.lost().empty(); ++round) {
    co_await runtime_.clock.sleep_for(kPause);
    if (nodes_.ready() && images_.ready()) co_await delete_lost(config);
  }
  co_await tables_.stop();
  co_await store_.close();
}

async::TaskScope::ErrorHandler LeakOperatorProcess::report() {
  return [this](const std::string& name, const std::string& error) {
    world_.journal.violation(name + ": " + error);
  };
}

Task<> LeakOperatorProcess::delete_lost(const config::Config& config) {
  for (const config::ProviderSection& section : config.providers) {
    if (section.driver == "cloud") co_await delete_lost_of(section, config);
  }
}

Task<> LeakOperatorProcess::delete_lost_of(const config::ProviderSection& section,
                                           const config::Config& config) {
  const driver::Driver& driver = drivers_.driver(section.driver);
  const driver::ProviderContext context{.runtime = runtime_,
                                        .store = store_,
                                        .nodes = nodes_,
                                        .images = images_,
                                        .threads = threads_,
                                        .log = log_,
                                        .installation = std::make_shared<const model::Installation>(
                                            co_await model::find_installation(store_))};
  const auto provider = driver.provider(driver.configure(section, config), context);
  std::exception_ptr failure;
  try {
    co_await provider->start();
    co_await delete_those(*provider, custody_.lost());
  } catch (...) {
    failure = std::current_exception();
  }
  co_await provider->stop();
  if (failure) std::rethrow_exception(failure);
}

Task<> LeakOperatorProcess::delete_those(driver::Provider& provider,
                                         const std::set<std::string>& lost) {
  driver::LaunchingProvider* const launching = provider.launching();
  if (launching == nullptr) co_return;
  const std::vector<driver::Leak> leaks = co_await launching->leaks();
  for (const driver::Leak& leak : leaks) {
    if (!lost.contains(leak.id)) continue;
    note(fmt::format("deletes {}: {}", leak.id, leak.reason));
    world_.journal.count("custody: lost machine deleted by an operator");
    co_await launching->remove_leak(leak);
  }
}

}  // namespace nodepool::simulation
