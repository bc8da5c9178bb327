#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/task_scope.h"
#include "builder/build_worker.h"
#include "builder/cleanup_worker.h"
#include "builder/context.h"
#include "builder/gearman_frontend.h"
#include "builder/graceful_stop.h"
#include "builder/image_gauges.h"
#include "builder/program_builders.h"
#include "builder/upload_worker.h"
#include "config/config.h"
#include "coordination/lock_sweeper.h"
#include "driver/driver.h"
#include "lifecycle/provider_set.h"
#include "model/daemon_state.h"
#include "model/followed_installation.h"
#include "model/records.h"
#include "model/registration.h"

namespace nodepool::builder {

// The builder daemon: builds images, uploads them to the providers, and deletes unneeded builds,
// uploads and files.
class NodePoolBuilder : private lifecycle::ProviderSet::User {
 public:
  struct Options {
    std::string hostname;  // of gethostname()
    std::string fqdn;
    std::size_t build_workers = 1;
    std::size_t upload_workers = 4;
    bool fake = false;          // creates placeholder files instead of images
    Environment environment{};  // of programs
    telemetry::Metrics metrics = {};
    model::DaemonState state = {};  // initial
    // Time between SIGTERM and SIGKILL when a program is ended.
    async::Duration grace = std::chrono::seconds(30);
  };

  // All arguments outlive it. `makers` replace those of the options.
  NodePoolBuilder(const async::Runtime& runtime, coordination::Store& store,
                  std::shared_ptr<telemetry::Log> log, const driver::DriverRegistry& drivers,
                  const config::Config& config, const Options& options,
                  std::optional<ImageMakers> makers = {});
  ~NodePoolBuilder() override;

  // Starts with the configuration. Throws StoreError, config::ConfigError, and std::runtime_error
  // if images-dir is not usable.
  Task<> start(config::Config config);

  // Applies another configuration. Builds and uploads in progress continue with the previous one.
  // Throws config::ConfigError, and std::runtime_error for a format that cannot be part of a file
  // name; then nothing has changed.
  Task<> reconfigure(config::Config config);

  // Publishes the state of the daemon.
  void set_state(const model::DaemonState& state);

  // Its problems: the configured providers that could not be started.
  std::vector<std::string> problems() const;

  // Adds the current gauges of images, and removes those of images that are no longer configured.
  void add_metrics(telemetry::MetricsRegistry& registry) const { gauges_.add_metrics(registry); }

  // Starts nothing new. Returns when all work in progress is completed. Does not wait for what
  // keeps a validation from starting, nor for a store that is unreachable. Throws Cancelled.
  Task<> finish();

  // Cancels all work: builds and uploads in progress fail. The caller then closes the store.
  Task<> stop();

 private:
  bool wants(const driver::ProviderConfig& config) const override;
  void put_in_service(std::shared_ptr<driver::Provider> provider) override;
  Task<> take_out_of_service(std::string name) override;
  Task<> adapt(const config::Config& config) override;
  void update_settings(const config::Config& config);
  void publish_state();
  void log_work_in_progress() const;
  void enqueue(const std::string& image);
  void enqueue_all();

  Options options_;
  telemetry::Logger log_;
  coordination::LockSweeper lock_sweeper_;
  model::Records records_;
  async::ThreadPool threads_;
  GracefulStop graceful_stop_;
  ImageRecords image_records_;
  LocalImages local_;
  BuilderSettings settings_;
  ImageProviders providers_;  // that are started
  WorkInProgress in_progress_;
  model::FollowedInstallation installation_;
  SettledTime settled_;
  BuilderContext context_;
  ImageMakers makers_;
  FormatProvider formats_;
  BuildSchedule builds_;
  UploadSchedule uploads_;
  UploadWorker upload_worker_;
  CleanupWorker cleanup_;
  ImageGauges gauges_;
  GearmanFrontend gearman_;
  std::vector<std::unique_ptr<BuildWorker>> build_workers_;
  model::Registration registration_;
  model::DaemonState state_;  // of the process
  std::vector<coordination::Subscription> subscriptions_;
  lifecycle::ProviderSet provider_set_;  // those with images
  async::TaskScope tables_scope_;
  async::TaskScope workers_scope_;
};

}  // namespace nodepool::builder
