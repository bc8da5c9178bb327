#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "async/task_scope.h"
#include "builder/context.h"
#include "builder/decisions.h"
#include "builder/delay_queue.h"
#include "builder/retries.h"
#include "builder/uploads_in_use.h"

namespace nodepool::builder {

// Deletes unneeded builds, uploads with their images in the clouds, and files. A failed deletion is
// retried and does not delay others.
class CleanupWorker {
 public:
  explicit CleanupWorker(const BuilderContext& context);

  void start();
  // Cancels deletions in progress.
  Task<> stop();

  // Evaluates the image again: it may have changed.
  void enqueue_image(const std::string& image);
  // Marks a build for deletion, with its uploads and files. Throws StoreError, and
  // std::runtime_error if it is locked.
  Task<> mark_deleting(model::ImageBuild build);

  // Evaluates all images again: the configuration or the records may have changed.
  void enqueue_all();

 private:
  using UploadKey = std::tuple<std::string, std::string, std::string, std::string>;
  static UploadKey key_of(const model::ImageUpload& upload);

  CleanupPlan plan(const std::string& image) const;
  // Whether the store has a ready build that was made here. Others may have failed, whichever store
  // this is.
  bool has_own_build() const;

  Task<> clean_images();
  Task<> clean_image(std::string image);
  Task<> clean_records(std::string image);
  Task<> enqueue_later(std::string image, double when);
  // Whether files without a record are to be deleted: their build was, or the record has been
  // missing for a while in a store that has other builds made here.
  bool are_unrecorded_for_good(const ImageStore::Key& key);
  Task<> enqueue_unrecorded(std::string image);
  Task<> clean_files(std::string image);
  Task<> clean_files_of(ImageStore::Key key, std::set<std::string> formats, bool are_unneeded);
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

  const BuilderContext& context_;
  telemetry::Logger log_;
  Retries<std::string> image_retries_;
  Retries<UploadKey> upload_retries_;
  DelayQueue<std::string> images_;
  DelayQueue<UploadKey> removals_;  // uploads in state `deleting`
  std::set<std::string> timed_;     // images that enqueue_later() waits for
  UploadsInUse in_use_;
  // Builds with a sequence number as id that have had a record since the start.
  std::set<ImageStore::Key> numbered_builds_;
  std::set<ImageStore::Key> condemned_;  // builds that were `deleting` when last seen
  std::map<ImageStore::Key, async::Clock::TimePoint> missing_since_;  // files without a record
  // has_own_build() when last evaluated. Otherwise the store may be new, emptied or the wrong one,
  // and files without a record the only copies of images that are in use.
  bool is_store_trusted_ = false;
  bool are_files_kept_ = false;  // for this reason; logged
  async::TaskScope scope_;
};

}  // namespace nodepool::builder
