#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"
#include "model/image_build.h"
#include "model/image_upload.h"

// What the builder does about an image: pure functions of what is known. Times are seconds since
// the epoch.
namespace nodepool::builder {

using Builds = std::vector<const model::ImageBuild*>;    // the newest first, by state_time
using Uploads = std::vector<const model::ImageUpload*>;  // in any order

// The newest that is ready; null if none is.
const model::ImageBuild* newest_ready(const Builds& builds);

// Whether the build is surely not being made, whatever its record says: somebody has begun a later
// one, and with that had the lock.
bool is_superseded(const Builds& builds, const model::ImageBuild& build);

// --- builds

enum class BuildReason {
  none_ready,       // there is no build that could be uploaded
  formats_missing,  // the newest build lacks a format that is wanted, and no upload will convert it
  too_old,
  requested,  // by somebody
};

std::string_view to_string(BuildReason reason);

struct BuildVerdict {
  std::optional<double> due;                  // from when on; nothing: not before something changes
  BuildReason reason = BuildReason::too_old;  // if `due`
};

struct BuildQuestion {
  const config::DiskImage& image;
  const std::set<std::string>& formats;  // wanted: the image's own, and those of the providers
  bool paused = false;                   // in the store; the image's own `pause` counts as well
  bool requested = false;
  bool being_built = false;  // by anybody
  Builds builds = {};
  // The formats of newest_ready() that are on this disk, or null.
  const std::set<std::string>* local = {};
};

// Whether the image is to be built, and when.
BuildVerdict evaluate_build(const BuildQuestion& question);

// --- uploads

enum class UploadVerdict {
  due,
  paused,
  no_build,        // none is ready
  not_here,        // another builder has the files, or they have been deleted
  wrong_format,    // the build has none that the provider takes, and none can be made from it here
  uploaded,        // is ready in the provider
  being_uploaded,  // by anybody
};

struct UploadQuestion {
  bool paused = false;             // in the provider's section
  const model::ImageBuild* build;  // the newest that is ready, or null
  std::string format;              // what the provider takes
  const std::set<std::string>* local =
      {};                // the formats of the build that are on this disk, or null
  Uploads uploads = {};  // of the build, to the provider
  bool being_uploaded = false;
};

// Whether the newest build is to be uploaded to a provider now.
UploadVerdict evaluate_upload(const UploadQuestion& question);

// The upload that was cut off and is to be gone on with, where one of the build to the provider is
// to be uploaded; null if there is none. `uploads`: those of the build to the provider.
const model::ImageUpload* cut_off_upload(const Uploads& uploads);

// --- clean-up

struct CleanupQuestion {
  bool configured = false;  // the image is one to build
  Builds builds = {};
  Uploads uploads = {};  // of the image
  // The providers of this builder that take images, and whether they list this one. What others
  // have is left alone.
  std::map<std::string, bool, std::less<>> providers = {};
  bool being_built = false;
  std::set<std::pair<std::string, std::string>> being_uploaded = {};  // build id, provider
  std::set<const model::ImageUpload*> in_use = {};  // there may be nodes that are made from them
  // The providers that go on with uploads that were cut off; and the builds whose files should be
  // on this disk, and are not.
  std::set<std::string, std::less<>> resuming = {};
  std::set<std::string, std::less<>> lost = {};
};

// What is to be done to the image's records. What follows from that is found when it is done.
struct CleanupPlan {
  Uploads abandoned;       // nobody works on them: remove the records
  Uploads unwanted;        // to be marked `deleting`
  Uploads to_remove;       // are `deleting`: remove them from the cloud, then the records
  Builds unwanted_builds;  // to be marked `deleting`
  Builds gone;             // have no uploads any more: remove the records
  Builds spent;            // only nodes still need their uploads: remove the files
};

CleanupPlan plan_cleanup(const CleanupQuestion& question);

// --- local files

// A provider that lists the image.
struct Consumer {
  std::string format;
  bool has_upload = false;  // one of the build is ready there
};

// Which formats of a build that is not spent need not stay on this disk any longer. `build` is null
// if the store does not have it; `image` is null if it is not configured.
std::set<std::string> formats_to_delete(const config::DiskImage* image,
                                        const model::ImageBuild* build,
                                        const std::set<std::string>& local,
                                        const std::vector<Consumer>& consumers);

}  // namespace nodepool::builder
