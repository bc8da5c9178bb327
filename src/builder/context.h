#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <tuple>

#include "async/runtime.h"
#include "async/thread_pool.h"
#include "builder/graceful_stop.h"
#include "builder/image_provider.h"
#include "builder/image_records.h"
#include "builder/image_store.h"
#include "builder/local_images.h"
#include "builder/settings.h"
#include "builder/settled_time.h"
#include "coordination/store.h"
#include "lifecycle/node_writer.h"
#include "model/image_table.h"
#include "model/installation.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace nodepool::builder {

// What this builder is building and uploading, even if the lock was lost with a session.
struct WorkInProgress {
  // Image, build id, provider. At most one upload at a time is in progress for each.
  using UploadTarget = std::tuple<std::string, std::string, std::string>;

  std::set<ImageStore::Key> builds = {};
  std::set<UploadTarget> uploads = {};
};

// Shared by all workers of a builder. Outlives them.
struct BuilderContext {
  async::Runtime runtime;
  SettledTime& settled;  // for decisions by ages
  coordination::Store& store;
  model::NodeTable& nodes;
  model::ImageTable& images;
  async::ThreadPool& threads;
  telemetry::Logger log;  // "nodepool.builder"
  telemetry::Metrics metrics;
  std::string fqdn;
  GracefulStop& graceful_stop;
  ImageRecords& records;
  LocalImages& local;
  const BuilderSettings& settings;  // as configured now
  const ImageProviders& providers;  // that are started
  WorkInProgress& in_progress;
  std::shared_ptr<const model::Installation> installation;

  lifecycle::NodeWriter node_writer() const { return {runtime, store, nodes}; }

  double now() const { return runtime.clock.wall_seconds(); }

  // Converts a time in seconds since the epoch to the monotonic clock, by the settled time, limited
  // to some decades.
  async::Clock::TimePoint monotonic(double wall) const {
    constexpr double kDecades = 1e9;  // seconds
    const std::chrono::duration<double> left(std::clamp(wall - settled.now(), -kDecades, kDecades));
    return runtime.clock.now() + std::chrono::duration_cast<async::Duration>(left);
  }
};

}  // namespace nodepool::builder
