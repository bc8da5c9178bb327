#pragma once

#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "builder/context.h"
#include "builder/decisions.h"
#include "builder/delay_queue.h"
#include "builder/retries.h"
#include "builder/uploads_in_use.h"

namespace nodepool::builder {

// Removes what is no longer wanted: builds, uploads with their images in the clouds, and files. A
// deletion that fails is tried again, and holds up no other.
class CleanupWorker {
 public:
  // `nodes` outlives it.
  CleanupWorker(BuilderContext& context, model::NodeTable& nodes);

  void start();
  // Ends it; a deletion under way is given up.
  Task<> stop();

  // Something about the image may have changed.
  void enqueue_image(const std::string& image);
  // The build is not wanted any more: it goes, with its uploads and files. Throws StoreError, and
  // std::runtime_error if somebody works on it.
  Task<> mark_deleting(model::ImageBuild build);

  // Everything is to be looked at: what is configured, or known, may have changed.
  void enqueue_all();

 private:
  using UploadKey = std::tuple<std::string, std::string, std::string, std::string>;
  static UploadKey key_of(const model::ImageUpload& upload);

  CleanupPlan plan(const std::string& image) const;

  Task<> clean_images();
  Task<> clean_image(std::string image);
  Task<> clean_records(std::string image);
  Task<> clean_files(std::string image);
  Task<> clean_files_of(ImageStore::Key key, std::set<std::string> formats, bool is_spent);
  std::vector<Consumer> consumers(const std::string& image, const std::string& build_id) const;
  Task<> remove_record(model::ImageBuild build);
  Task<> remove_abandoned(model::ImageUpload upload);
  Task<> remove_if_uploading(model::ImageUpload upload);
  Task<> mark_deleting(model::ImageUpload upload);
  Task<> write_deleting(model::ImageUpload upload);
  Task<> mark_not_building(model::ImageBuild build);
  Task<> write_deleting(model::ImageBuild build);

  Task<> remove_uploads();
  Task<> remove_upload(UploadKey key);
  Task<> remove_locked(model::ImageUpload upload, coordination::Lock& lock);

  BuilderContext& context_;
  telemetry::Logger log_;
  Retries<std::string> image_retries_;
  Retries<UploadKey> upload_retries_;
  DelayQueue<std::string> images_;
  DelayQueue<UploadKey> removals_;  // of uploads that are `deleting`
  UploadsInUse in_use_;
  async::TaskScope scope_;
};

}  // namespace nodepool::builder
