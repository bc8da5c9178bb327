#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "async/runtime.h"
#include "async/task_scope.h"
#include "async/thread_pool.h"
#include "builder/build_log.h"
#include "builder/image_provider.h"
#include "builder/image_records.h"
#include "builder/image_store.h"
#include "config/config.h"
#include "coordination/store.h"
#include "model/image_table.h"
#include "model/installation.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace nodepool::builder {

// Image, build id, provider: where one upload at a time is made.
using UploadPlace = std::tuple<std::string, std::string, std::string>;

// What all workers of one builder share. Outlives them.
struct BuilderContext {
  async::Runtime runtime;
  coordination::Store& store;
  model::ImageTable& images;
  async::ThreadPool& threads;
  telemetry::Logger log;  // "nodepool.builder"
  telemetry::Metrics metrics;
  std::string fqdn;
  ImageStore files;
  ImageRecords records;
  std::string builder_id = {};
  std::shared_ptr<const model::Installation> installation =
      std::make_shared<const model::Installation>();

  // As configured now.
  std::map<std::string, config::DiskImage> diskimages = {};
  // By image: its own formats, and those of all configured providers that list it, in service or
  // not.
  std::map<std::string, std::set<std::string>, std::less<>> wanted_formats = {};
  // By provider: what is uploaded to it, of all configured ones that take images, in service or
  // not.
  std::map<std::string, driver::ManagedImages, std::less<>> managed_images = {};
  ImageProviders providers = {};  // in service
  std::optional<std::string> elements_dir = {};
  BuildLog::Settings logs = {};

  ImageStore::Contents local = {};           // what is on the disk, as last seen
  std::set<ImageStore::Key> under_way = {};  // being built here
  // Being uploaded here, whether or not the lock has gone with a session.
  std::set<UploadPlace> uploads_under_way = {};
  std::uint64_t scans_begun = 0;
  std::uint64_t scan_seen = 0;

  // Looks what is on the disk.
  Task<> scan_files() {
    const std::uint64_t number = ++scans_begun;
    const auto look = [store = files] { return store.contents(); };
    ImageStore::Contents found = co_await threads.run("images-dir", look);
    if (number < scan_seen) co_return;  // a later one was faster
    scan_seen = number;
    local = std::move(found);
  }

  // Whether files of its name on this disk are its own. Who asks by Gearman chooses ids: they may
  // be what is left of an attempt that was made here, of a build that has then been made elsewhere.
  bool has_files_here(const model::ImageBuild& build) const {
    return build.builder_id.value_or(builder_id) == builder_id;
  }

  // The formats of a build on this disk; null if there are none.
  const std::set<std::string>* local_formats(const std::string& image,
                                             const std::string& build_id) const {
    const model::ImageBuild* build = images.find_build(image, build_id);
    if (build != nullptr && !has_files_here(*build)) return nullptr;
    const auto found = local.find(ImageStore::Key(image, build_id));
    return found == local.end() ? nullptr : &found->second;
  }

  // How a configured provider uses an image; null if it does not list it.
  const driver::ProviderImage* listed_image(std::string_view provider,
                                            std::string_view image) const {
    const auto managed = managed_images.find(provider);
    if (managed == managed_images.end()) return nullptr;
    const auto found = managed->second.images.find(image);
    return found == managed->second.images.end() ? nullptr : &found->second;
  }

  double now() const { return runtime.clock.wall_seconds(); }

  // When a time in seconds since the epoch is on the monotonic clock; decades are as good as ever.
  async::Clock::TimePoint moment(double wall) const {
    constexpr double kDecades = 1e9;  // seconds
    const std::chrono::duration<double> left(std::clamp(wall - now(), -kDecades, kDecades));
    return runtime.clock.now() + std::chrono::duration_cast<async::Duration>(left);
  }

  // For TaskScope: logs what escapes a task.
  async::TaskScope::ErrorHandler report_to(telemetry::Logger logger) const {
    return [logger = std::move(logger)](const std::string& name, const std::string& error) {
      logger.error("{}: {}", name, error);
    };
  }
};

}  // namespace nodepool::builder
