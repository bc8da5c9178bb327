#pragma once

#include <optional>
#include <string>
#include <vector>

#include "async/runtime.h"
#include "coordination/lock.h"
#include "coordination/store.h"
#include "model/image_table.h"

namespace nodepool::builder {

using async::Task;

// Reading and writing records of builds and uploads past the table: where it matters that nobody
// else has written meanwhile. What is written, the table knows at once.
class ImageRecords {
 public:
  ImageRecords(const async::Runtime& runtime, coordination::Store& store, model::ImageTable& images)
      : runtime_(runtime), store_(store), images_(images) {}

  // As they are in the store now; unreadable ones are left out. Throw StoreError.
  Task<std::vector<model::ImageBuild>> builds(std::string image);
  Task<std::optional<model::ImageBuild>> build(std::string image, std::string id);
  Task<std::vector<model::ImageUpload>> uploads(std::string image, std::string build_id,
                                                std::string provider);
  Task<std::optional<model::ImageUpload>> upload(model::ImageUpload known);

  // Creates the record, if `lock` is still held. An upload gets its id from the store. Throw
  // StoreError.
  Task<model::ImageBuild> create(model::ImageBuild build, const coordination::Lock& lock);
  Task<model::ImageUpload> create(model::ImageUpload upload, const coordination::Lock& lock);

  // Makes what the uploads of a build to a provider are below. Throws StoreError: no_node if the
  // build is gone.
  Task<> prepare_uploads(std::string image, std::string build_id, std::string provider);

  // Replaces the record unless it is not the version any more that was read; returns whether it
  // was. Waits for a store that is out of reach. `lock`: only if that is still held. Throw
  // Cancelled, StoreError (closed).
  Task<bool> write(model::ImageBuild build, const coordination::Lock* lock = nullptr);
  Task<bool> write(model::ImageUpload upload);

  // Removes the record and all below it. Throw StoreError.
  Task<> remove(model::ImageBuild build);
  Task<> remove(model::ImageUpload upload);

 private:
  Task<std::optional<coordination::Entry>> read(std::string path);
  Task<std::vector<std::string>> children(std::string path);
  // The stat of what has been written; nothing if the record is another one by now.
  Task<std::optional<coordination::Stat>> replace(std::string path, std::string text,
                                                  std::int32_t version,
                                                  const coordination::Lock* lock);

  async::Runtime runtime_;
  coordination::Store& store_;
  model::ImageTable& images_;
};

}  // namespace nodepool::builder
