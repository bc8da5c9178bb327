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

// The decisions of the builder about an image, as pure functions. Times are seconds since the
// epoch.
namespace nodepool::builder {

using Builds = std::vector<const model::ImageBuild*>;    // newest first, by state_time
using Uploads = std::vector<const model::ImageUpload*>;  // in any order

// Returns the newest build that is ready; null if there is none.
const model::ImageBuild* newest_ready(const Builds& builds);

// Whether the build is certainly not in progress although its record is `building`: a later one was
// started, which requires the lock. By the order of the store, because the builders' clocks differ.
bool is_superseded(const Builds& builds, const model::ImageBuild& build);

// --- builds

enum class BuildReason {
  none_ready,       // no build is ready
  formats_missing,  // the newest build lacks a required format, which no upload will convert
  too_old,
  requested,
};

std::string_view to_string(BuildReason reason);

struct BuildVerdict {
  std::optional<double> due;                  // nothing: not before something changes
  BuildReason reason = BuildReason::too_old;  // if `due`
};

struct BuildInput {
  const config::DiskImage& image;
  const std::set<std::string>& formats;  // required by the image and by providers
  bool paused = false;                   // in the store; in addition to `pause` of the image
  bool requested = false;
  bool being_built = false;  // by any builder
  Builds builds = {};
  // Formats of newest_ready() on this disk, or null.
  const std::set<std::string>* local = {};
};

// Decides whether and when to build the image.
BuildVerdict evaluate_build(const BuildInput& input);

// --- uploads

enum class UploadVerdict {
  due,
  paused,
  no_build,      // no build is ready
  not_here,      // the files are on another builder or deleted
  wrong_format,  // the build has no format that the provider accepts or that can be converted here
  uploaded,      // ready in the provider
  being_uploaded,  // by any builder
};

struct UploadInput {
  bool paused = false;             // in the section of the provider
  const model::ImageBuild* build;  // newest_ready(), or null
  std::string format;              // of the provider
  // Formats of the build on this disk, or null.
  const std::set<std::string>* local = {};
  Uploads uploads = {};  // of the build to the provider
  bool being_uploaded = false;
};

// Decides whether to upload the newest build to a provider now.
UploadVerdict evaluate_upload(const UploadInput& input);

// The interrupted upload to resume. Returns null if there is none. `uploads`: those of the build to
// the provider.
const model::ImageUpload* interrupted_upload(const Uploads& uploads);

// --- clean-up

struct CleanupInput {
  bool configured = false;  // the image is configured on this builder
  Builds builds = {};
  Uploads uploads = {};  // of the image
  // The providers of this builder, and whether they list the image. Uploads to other providers are
  // not touched.
  std::map<std::string, bool, std::less<>> providers = {};
  bool being_built = false;
  std::set<std::pair<std::string, std::string>> being_uploaded = {};  // build id, provider
  std::set<const model::ImageUpload*> in_use = {};                    // nodes may use them
  // Providers that can resume interrupted uploads, and builds of this builder whose files are
  // missing.
  std::set<std::string, std::less<>> resuming = {};
  std::set<std::string, std::less<>> lost = {};
  std::set<std::string, std::less<>> of_others = {};  // builds that other builders have made
  double now = 0;
};

// Changes of the records of an image. Subsequent changes are found by the next plan.
struct CleanupPlan {
  Uploads abandoned;           // no builder works on them: remove the records
  Uploads unwanted;            // mark `deleting`
  Uploads to_remove;           // are `deleting`: delete them in the cloud, then remove the records
  Builds unwanted_builds;      // mark `deleting`
  Builds gone;                 // without uploads: remove the records
  Builds unneeded_files;       // their uploads are only needed by nodes: delete the files
  std::optional<double> next;  // plan again then, although nothing changes
};

CleanupPlan plan_cleanup(const CleanupInput& input);

// --- local files

// A provider that lists the image.
struct Consumer {
  std::string format;       // empty: not known, so that it may need any file
  bool has_upload = false;  // an upload of the build is ready
};

// The formats of a build whose files on this disk are not needed any more. `build` is null if the
// store does not have it; `image` is null if it is not configured.
std::set<std::string> formats_to_delete(const config::DiskImage* image,
                                        const model::ImageBuild* build,
                                        const std::set<std::string>& local,
                                        const std::vector<Consumer>& consumers);

}  // namespace nodepool::builder
