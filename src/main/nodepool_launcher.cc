// nodepool-launcher: arguments and wiring.

#include <memory>
#include <optional>
#include <utility>

#include "drivers/registry.h"
#include "launcher/launcher.h"
#include "program/daemon.h"
#include "program/host_names.h"
#include "program/journal.h"

namespace {

using namespace nodepool;
using async::Task;

const program::Program kProgram{"nodepool-launcher", "nodepool", "/var/run/nodepool/nodepool.pid"};

class LauncherDaemon final : public program::Daemon {
 public:
  LauncherDaemon(const program::Options& options, std::shared_ptr<telemetry::Log> log)
      : Daemon(options, std::move(log), "nodepool.NodePool"), drivers_(drivers::all_drivers()) {}

 private:
  const driver::DriverRegistry& drivers() const override { return drivers_; }

  Task<> start(config::Config config) override {
    program::HostNames names = program::host_names();
    launcher::Launcher::Options options{std::move(names.short_name), std::move(names.fqdn)};
    options.history = program::journal_of(config);
    options.metrics = metrics();
    launcher_.emplace(runtime(), store(), log_sink(), drivers_, options);
    co_await launcher_->start(std::move(config));
  }

  Task<> reconfigure(config::Config config) override {
    co_await launcher_->reconfigure(std::move(config));
  }

  Task<> stop() override {
    if (launcher_) co_await launcher_->stop();
  }

  driver::DriverRegistry drivers_;
  std::optional<launcher::Launcher> launcher_;
};

}  // namespace

int main(int argc, char** argv) {
  return program::run_daemon(kProgram, argc, argv, [](const program::Options& options, auto log) {
    return std::make_unique<LauncherDaemon>(options, std::move(log));
  });
}
