#include "tests/simulation/harness/launcher_process.h"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace nodepool::simulation {

namespace {

void need_disk(const World& world, bool& is_refused) {
  is_refused = world.disk_is_full;
  if (is_refused) throw std::system_error(ENOSPC, std::generic_category());
}

std::shared_ptr<telemetry::Log> log_to(World& world, const std::string& name, bool& is_refused) {
  Journal& journal = world.journal;
  return telemetry::Log::to_consumer(
      [&world, &journal, &is_refused, name](telemetry::LogLevel level, std::string_view logger,
                                            std::string_view message) {
        const std::string text = std::string(logger) + ": " + std::string(message);
        if (world.disk_is_full) journal.detail(name, "(not written) " + text);
        need_disk(world, is_refused);
        if (level < telemetry::LogLevel::info) {
          journal.detail(name, text);
        } else {
          journal.note(name, text);
        }
      },
      journal.keeps() ? telemetry::LogLevel::debug : telemetry::LogLevel::info);
}

launcher::Launcher::Options options_of(World& world, const std::string& name, bool& is_refused) {
  const auto write_history = [&world, &is_refused](std::string_view lines) {
    need_disk(world, is_refused);
    world.journal.count("history: entries",
                        static_cast<std::uint64_t>(std::ranges::count(lines, '\n')));
  };
  return {.hostname = name,
          .fqdn = name + ".example",
          .history = history::Journal{.directory = {}, .consume = write_history},
          .threads = 0};
}

}  // namespace

LauncherProcess::LauncherProcess(World& world, std::string name, coordination::FaultPlan plan,
                                 const driver::DriverRegistry& drivers, config::Config config)
    : Process(world, name, std::move(plan)),
      grouping_(runtime_, store_),
      log_(log_to(world, name, message_is_refused_)),
      launcher_(std::make_unique<launcher::Launcher>(runtime_, used_store(), log_, drivers,
                                                     options_of(world, name, entry_is_refused_))),
      scope_(runtime_, [this](const std::string& task, const std::string& error) {
        world_.journal.violation(this->name() + ", " + task + ": " + error);
      }) {
  scope_.spawn("launcher", run(std::move(config)));
}

LauncherProcess::~LauncherProcess() {
  world_.journal.count("group commit", grouping_.groups());
  world_.journal.count("group commit refused", grouping_.refused_groups());
}

// Most launchers commit in groups, as on ZooKeeper; some do not, as on the embedded store.
coordination::Store& LauncherProcess::used_store() {
  constexpr std::uint64_t kNotGrouping = 4;
  if (number() % kNotGrouping == 0) return store_;
  return grouping_;
}

void LauncherProcess::reconfigure(config::Config config) {
  next_ = std::move(config);
  up_to_date_ = false;
  changed_.set();
}

std::vector<std::string> LauncherProcess::problems() const {
  std::vector<std::string> problems;
  if (!entry_is_refused_) problems = launcher_->health().warnings;
  const std::string trouble = log_->losses().trouble;
  if (!trouble.empty() && !message_is_refused_)
    problems.push_back("the log cannot be written: " + trouble);
  return problems;
}

void LauncherProcess::stop() {
  stopping_ = true;
  changed_.set();
}

Task<> LauncherProcess::run(config::Config config) {
  std::string failure;
  try {
    co_await serve(std::move(config));
  } catch (const coordination::StoreError& error) {
    failure = error.what();
  }
  if (!failure.empty()) note("ends: " + failure);
  co_await launcher_->stop();
  co_await store_.close();
  note("has ended");
  ended_ = true;
}

Task<> LauncherProcess::serve(config::Config config) {
  co_await launcher_->start(std::move(config));
  if (!next_) up_to_date_ = true;
  while (true) {
    co_await changed_.wait();
    if (stopping_) co_return;
    if (!next_) continue;
    config::Config wanted = *std::exchange(next_, std::nullopt);
    std::string failure;
    try {
      co_await launcher_->reconfigure(std::move(wanted));
    } catch (const coordination::StoreError& error) {
      failure = error.what();
    }
    if (!failure.empty()) note("not reloaded: " + failure);
    if (failure.empty() && !next_) up_to_date_ = true;
  }
}

}  // namespace nodepool::simulation
