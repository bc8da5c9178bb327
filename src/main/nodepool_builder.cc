// nodepool-builder: arguments and wiring.

#include <signal.h>

#include <memory>
#include <optional>
#include <utility>

#include <CLI/CLI.hpp>

#include "async/supervisor.h"
#include "builder/builder.h"
#include "config/environment.h"
#include "drivers/registry.h"
#include "program/daemon.h"
#include "program/host_names.h"

namespace {

using namespace nodepool;
using async::Task;

// What the command line says beside what all daemons have.
struct Choices {
  std::size_t build_workers = 1;
  std::size_t upload_workers = 4;
  bool fake = false;
};

program::Program describe(Choices& choices) {
  const auto add_options = [&choices](CLI::App& app) {
    app.add_option("--build-workers", choices.build_workers, "number of images to build at a time")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    app.add_option("--upload-workers", choices.upload_workers,
                   "number of images to upload at a time")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    app.add_flag("--fake", choices.fake, "make files that are no images, for trials");
  };
  return {.name = "nodepool-builder",
          .log_name = "nodepool-builder",
          .pid_file = "/var/run/nodepool/nodepool-builder.pid",
          .add_options = add_options};
}

class BuilderDaemon final : public program::Daemon {
 public:
  BuilderDaemon(const program::Options& options, std::shared_ptr<telemetry::Log> log,
                Choices choices)
      : Daemon(options, std::move(log), "nodepool.builder"),
        choices_(choices),
        drivers_(drivers::all_drivers()),
        finishing_(runtime(), reporter()) {}

 private:
  const driver::DriverRegistry& drivers() const override { return drivers_; }

  Task<> start(config::Config config) override {
    program::HostNames names = program::host_names();
    builder::NodePoolBuilder::Options options;
    options.hostname = std::move(names.short_name);
    options.fqdn = std::move(names.fqdn);
    options.build_workers = choices_.build_workers;
    options.upload_workers = choices_.upload_workers;
    options.fake = choices_.fake;
    options.metrics = metrics();
    for (const auto& [name, value] : config::process_environment()) {
      options.environment[name] = value;
    }
    builder_.emplace(runtime(), store(), log_sink(), drivers_, config, options);
    co_await builder_->start(std::move(config));
  }

  Task<> reconfigure(config::Config config) override {
    co_await builder_->reconfigure(std::move(config));
  }

  // SIGTERM ends it at once, the others when what is under way has been completed; who does not
  // want to wait for that sends a second one.
  Task<> wait_for_end(async::Signals& signals) override {
    if (co_await next_signal(signals) == SIGTERM || !builder_) co_return;
    log().info(
        "Ending when the builds and uploads under way are complete; another signal ends "
        "them at once");
    finishing_.spawn("completion of what is under way", finish());
    Task<> completed = completed_.wait();
    co_await signals.until_next(std::move(completed));
  }

  Task<> finish() {
    co_await builder_->finish();
    completed_.set();
  }

  Task<> stop() override {
    if (builder_) co_await builder_->stop();
    co_await finishing_.join();
  }

  Choices choices_;
  driver::DriverRegistry drivers_;
  std::optional<builder::NodePoolBuilder> builder_;
  async::Event completed_{"all that was under way is complete"};
  async::TaskScope finishing_;
};

}  // namespace

int main(int argc, char** argv) {
  if (const auto status = async::supervise_if_asked(argc, argv)) return *status;
  Choices choices;
  return program::run_daemon(
      describe(choices), argc, argv, [&choices](const program::Options& options, auto log) {
        return std::make_unique<BuilderDaemon>(options, std::move(log), choices);
      });
}
