#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "async/runtime.h"
#include "builder/graceful_stop.h"
#include "coordination/lock.h"
#include "coordination/store.h"
#include "model/image_table.h"
#include "telemetry/log.h"

namespace nodepool::builder {

// Reads and writes records of builds and uploads in the store, with version checks. Writes update
// the table at once.
class ImageRecords {
 public:
  ImageRecords(const async::Runtime& runtime, coordination::Store& store, model::ImageTable& images,
               const GracefulStop& graceful_stop, telemetry::Logger log)
      : runtime_(runtime),
        store_(store),
        images_(images),
        graceful_stop_(graceful_stop),
        log_(std::move(log)) {}

  // Reads from the store. Returns nothing if there is no record. Throws model::RecordError,
  // StoreError.
  Task<std::optional<model::ImageBuild>> build(std::string image, std::string id);

  // Read from the store. Unreadable records are omitted. Throw StoreError.
  Task<std::vector<model::ImageBuild>> builds(std::string image);
  Task<std::vector<model::ImageUpload>> uploads(std::string image, std::string build_id,
                                                std::string provider);
  Task<std::optional<model::ImageUpload>> upload(model::ImageUpload known);

  // Create a record if `lock` is still held. An upload gets its id from the store. Throw
  // StoreError.
  Task<model::ImageBuild> create(model::ImageBuild build, const coordination::Lock& lock);
  Task<model::ImageUpload> create(model::ImageUpload upload, const coordination::Lock& lock);

  // Creates the parent nodes of the uploads of a build to a provider. Throws StoreError: no_node if
  // the build was deleted.
  Task<> prepare_uploads(std::string image, std::string build_id, std::string provider);

  // Replace a record. Return false if its version has changed or `lock` is no longer held. Retry
  // while the store is unreachable, full or forbids it, and log the reason. Throw Cancelled,
  // StoreError: closed; any kind once a graceful stop has lost the store.
  Task<bool> write(model::ImageBuild build, const coordination::Lock* lock = nullptr);
  Task<bool> write(model::ImageUpload upload);

  // Remove a record and its children. A build with uploads in the store, also unreadable ones, is
  // kept; then the result is false. Throw StoreError.
  Task<bool> remove(model::ImageBuild build);
  Task<> remove(model::ImageUpload upload);

 private:
  Task<std::optional<coordination::Entry>> read(std::string path);
  Task<std::vector<std::string>> children(std::string path);
  Task<bool> has_uploads(std::string image, std::string build_id);
  // Returns the stat of the written record; nothing if its version has changed.
  Task<std::optional<coordination::Stat>> replace(std::string path, std::string text,
                                                  std::int32_t version,
                                                  const coordination::Lock* lock);

  async::Runtime runtime_;
  coordination::Store& store_;
  model::ImageTable& images_;
  const GracefulStop& graceful_stop_;
  telemetry::Logger log_;
};

}  // namespace nodepool::builder
