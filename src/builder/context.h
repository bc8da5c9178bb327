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
#include "async/task.h"
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

// Image, build id, provider. At most one upload at a time is in progress for each.
using UploadTarget = std::tuple<std::string, std::string, std::string>;

// Shared by all workers of a builder. Outlives them.
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

  // The current configuration.
  std::map<std::string, config::DiskImage> diskimages = {};
  // By image: its own formats and those of all configured providers that list it, started or not.
  std::map<std::string, std::set<std::string>, std::less<>> wanted_formats = {};
  // By provider: the images to upload, for all configured providers with images, started or not.
  std::map<std::string, driver::ManagedImages, std::less<>> managed_images = {};
  ImageProviders providers = {};  // that are started
  std::optional<std::string> elements_dir = {};
  BuildLog::Settings logs = {};

  ImageStore::Contents local = {};                    // files on the disk, as of the last scan
  std::set<ImageStore::Key> builds_in_progress = {};  // of this builder
  // Uploads of this builder, even if the lock was lost with a session.
  std::set<UploadTarget> uploads_in_progress = {};
  std::uint64_t scans_begun = 0;
  std::uint64_t scan_seen = 0;

  // Updates `local` from the disk.
  Task<> scan_files() {
    const std::uint64_t number = ++scans_begun;
    const auto read = [store = files] { return store.contents(); };
    ImageStore::Contents found = co_await threads.run("images-dir", read);
    if (number < scan_seen) co_return;  // a later scan has finished first
    scan_seen = number;
    local = std::move(found);
  }

  // Whether files with its name on this disk belong to the build. Gearman clients choose ids, so
  // they may be left from an earlier attempt at a build that another builder has then completed.
  bool has_files_here(const model::ImageBuild& build) const {
    return build.builder_id.value_or(builder_id) == builder_id;
  }

  // The formats of a build on this disk. Returns null if there are none.
  const std::set<std::string>* local_formats(const std::string& image,
                                             const std::string& build_id) const {
    const model::ImageBuild* build = images.find_build(image, build_id);
    if (build != nullptr && !has_files_here(*build)) return nullptr;
    const auto found = local.find(ImageStore::Key(image, build_id));
    return found == local.end() ? nullptr : &found->second;
  }

  // The settings of a configured provider for an image. Returns null if it does not list it.
  const driver::ProviderImage* listed_image(std::string_view provider,
                                            std::string_view image) const {
    const auto managed = managed_images.find(provider);
    if (managed == managed_images.end()) return nullptr;
    const auto found = managed->second.images.find(image);
    return found == managed->second.images.end() ? nullptr : &found->second;
  }

  double now() const { return runtime.clock.wall_seconds(); }

  // Converts a time in seconds since the epoch to the monotonic clock, limited to some decades.
  async::Clock::TimePoint monotonic(double wall) const {
    constexpr double kDecades = 1e9;  // seconds
    const std::chrono::duration<double> left(std::clamp(wall - now(), -kDecades, kDecades));
    return runtime.clock.now() + std::chrono::duration_cast<async::Duration>(left);
  }
};

}  // namespace nodepool::builder
