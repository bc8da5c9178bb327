#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "model/followed_tree.h"
#include "model/image_build.h"
#include "model/image_upload.h"
#include "model/record_set.h"
#include "telemetry/log.h"

namespace nodepool::model {

// All image records: builds, uploads, paused images and build requests. Pointers are valid until
// the next co_await.
class ImageTable final : public FollowedTree {
 public:
  ImageTable(const async::Runtime& runtime, coordination::Store& store,
             const telemetry::Logger& log);

  // The names of all images, including those without builds.
  const IdSet& images() const { return images_; }

  const ImageBuild* find_build(std::string_view image, std::string_view build_id) const;
  const ImageUpload* find_upload(std::string_view image, std::string_view build_id,
                                 std::string_view provider, std::string_view upload_id) const;

  // Whether the build has a record that is invalid or cannot be read: it is unknown, not gone.
  bool is_unreadable_build(std::string_view image, std::string_view build_id) const;

  // The builds of an image, in any state, the newest first: by `state_time`.
  std::vector<const ImageBuild*> builds_of(std::string_view image) const;

  // The uploads of an image, of one of its builds, or of that build to one provider, in any state,
  // by build, provider and id.
  std::vector<const ImageUpload*> uploads_of(std::string_view image) const;
  std::vector<const ImageUpload*> uploads_of(std::string_view image,
                                             std::string_view build_id) const;
  std::vector<const ImageUpload*> uploads_of(std::string_view image, std::string_view build_id,
                                             std::string_view provider) const;

  // The ready upload of the image with the latest `state_time`, from which nodes of the provider
  // are launched. Returns nullptr if there is none.
  const ImageUpload* newest_ready_upload(std::string_view image, std::string_view provider) const;

  // All uploads to a provider, in any state, by image, build and id.
  std::vector<const ImageUpload*> uploads_to(std::string_view provider) const;

  // The (build id, upload id) of uploads that have not failed, or are unreadable. Images in a cloud
  // with other ids in their metadata are leaked.
  std::set<std::pair<std::string, std::string>> known_uploads(std::string_view provider) const;

  // The paths `…/builds/<build>/providers/<provider>` that exist, with or without uploads.
  const IdSet& build_provider_paths(std::string_view provider) const;

  // Whether the image is paused in the store. The configuration may pause it as well.
  bool is_paused(std::string_view image) const { return paused_.contains(image); }

  // The open build requests: image -> stat of the request's node, which a repeated request changes.
  const std::map<std::string, coordination::Stat, std::less<>>& build_requests() const {
    return build_requests_;
  }

  // Whether the lock of the image's builds, or of a build's uploads to a provider, has a known
  // contender: work is in progress. Only a hint: the lock decides.
  bool is_being_built(std::string_view image) const;
  bool is_being_uploaded(std::string_view image, std::string_view build_id,
                         std::string_view provider) const;

  // Whether a build of the image is requested, and no builder has begun it yet. Like the Python
  // Nodepool, takes the request for begun if the image has a build and its builds are locked.
  bool has_pending_request(std::string_view image) const;

  // Calls `observer` with the name of the image after a change of a record, pause, build request or
  // lock.
  coordination::Subscription observe(std::function<void(const std::string&)> observer) {
    return changes_.subscribe(std::move(observer));
  }

  // Apply an own successful write to the table, before its event arrives.
  void written(const ImageBuild& build, const std::string& text, const coordination::Stat& stat);
  void written(const ImageUpload& upload, const std::string& text, const coordination::Stat& stat);
  void removed(const ImageBuild& build);
  void removed(const ImageUpload& upload);

 private:
  // The ids in both sets are the records' paths below model::kImagesRoot.
  class Builds final : public RecordSet<ImageBuild> {
   public:
    using RecordSet::RecordSet;

   private:
    ImageBuild parse(std::string id, const coordination::Entry& entry) const override;
    void unindex(const ImageBuild&) override {}
    void index(const ImageBuild&) override {}
  };

  class Uploads final : public RecordSet<ImageUpload> {
   public:
    using RecordSet::RecordSet;

    const ImageUpload* newest_ready(std::string_view image, std::string_view provider) const;
    const IdSet& to_provider(std::string_view provider) const;

   private:
    ImageUpload parse(std::string id, const coordination::Entry& entry) const override;
    void unindex(const ImageUpload& upload) override;
    void index(const ImageUpload& upload) override;

    using ByTime = std::set<std::pair<double, std::string>>;                     // state_time, id
    std::map<std::tuple<std::string, std::string>, ByTime, std::less<>> ready_;  // image, provider
    std::map<std::string, IdSet, std::less<>> by_provider_;
  };

  Interest interest(std::string_view path) const override;
  void on_changed(std::string_view path, const coordination::Entry& entry) override;
  void on_removed(std::string_view path) override;
  bool on_unreadable(std::string_view path, const std::string& reason) override;

  Builds builds_;
  Uploads uploads_;
  IdSet images_;
  IdSet paused_;
  std::map<std::string, coordination::Stat, std::less<>> build_requests_;
  std::map<std::string, IdSet, std::less<>> build_provider_paths_;  // by provider
  std::map<std::string, IdSet, std::less<>> contenders_;            // by the lock's relative path
  Observers<const std::string&> changes_;
};

}  // namespace nodepool::model
