#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "builder/build_worker.h"
#include "builder/cleanup_worker.h"
#include "builder/context.h"
#include "builder/gearman_frontend.h"
#include "builder/image_gauges.h"
#include "builder/program_builders.h"
#include "builder/upload_worker.h"
#include "config/config.h"
#include "coordination/lock_sweeper.h"
#include "driver/driver.h"
#include "driver/provider_start_retrier.h"
#include "model/daemon_state.h"
#include "model/followed_installation.h"
#include "model/records.h"
#include "model/registration.h"

namespace nodepool::builder {

// The builder of one process: builds images, uploads them to the providers, and removes what is no
// longer wanted.
class NodePoolBuilder {
 public:
  struct Options {
    std::string hostname;  // as gethostname() says
    std::string fqdn;
    std::size_t build_workers = 1;
    std::size_t upload_workers = 4;
    bool fake = false;          // makes files that are no images
    Environment environment{};  // of the programs that are run
    telemetry::Metrics metrics = {};
    model::DaemonState state = {};  // to begin with
    // How long a program may take to end when it is asked to.
    async::Duration grace = std::chrono::seconds(30);
  };

  // Everything outlives it. Makes images with `makers`, if there are any, instead of those that the
  // options say.
  NodePoolBuilder(const async::Runtime& runtime, coordination::Store& store,
                  std::shared_ptr<telemetry::Log> log, const driver::DriverRegistry& drivers,
                  const config::Config& config, const Options& options,
                  std::optional<ImageMakers> makers = {});
  ~NodePoolBuilder();

  // Starts serving with the configuration. Throws StoreError, config::ConfigError, and
  // std::runtime_error if there is no usable images-dir.
  Task<> start(config::Config config);

  // Goes over to another configuration. Builds and uploads under way go on with the one before.
  // Throws config::ConfigError, and std::runtime_error for a format that cannot be part of a file's
  // name, before anything has been changed.
  Task<> reconfigure(config::Config config);

  // Publishes what the daemon knows of itself.
  void tell(const model::DaemonState& state);

  // Begins nothing new; returns when what is under way has been completed. Throws Cancelled.
  Task<> finish();

  // Ends everything: builds and uploads under way have failed. The caller then closes the store.
  Task<> stop();

 private:
  using ProviderConfigs = std::map<std::string, std::shared_ptr<const driver::ProviderConfig>>;

  Task<> apply(config::Config config);
  Task<> start_missing_providers();
  Task<> start_provider(const config::ProviderSection& section,
                        std::shared_ptr<const driver::ProviderConfig> config);
  Task<bool> start_late();
  bool has_all_providers() const;
  Task<> retire(std::shared_ptr<ImageProvider> provider);
  void learn_settings();
  void publish_state();
  void enqueue(const std::string& image);
  void enqueue_all();

  Options options_;
  const driver::DriverRegistry& drivers_;
  telemetry::Logger log_;
  coordination::LockSweeper lock_sweeper_;
  model::Records records_;
  async::ThreadPool threads_;
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
  model::FollowedInstallation installation_;
  model::Registration registration_;
  model::DaemonState state_;  // of the process
  std::vector<coordination::Subscription> subscriptions_;
  config::Config config_;   // in force, or about to be
  ProviderConfigs wanted_;  // its providers that take images
  driver::ProviderStartRetrier late_starts_;
  async::TaskScope tables_scope_;
  async::TaskScope workers_scope_;
  async::TaskScope retired_providers_;  // each until its last call has ended
};

}  // namespace nodepool::builder
