#include "builder/decisions.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "builder/conversion.h"

namespace nodepool::builder {

namespace {

using model::BuildState;
using model::ImageBuild;
using model::ImageUpload;
using model::UploadState;

// Number of builds, and of uploads to each provider, that are kept: the current and the previous
// one.
constexpr std::size_t kKept = 2;

// How long a build that others may upload waits for its first upload, in seconds.
constexpr double kFirstUploadPatience = 600;

Builds kept_builds(const CleanupInput& input) {
  Builds kept;
  if (!input.configured) return kept;
  for (const ImageBuild* build : input.builds) {
    if (build->state == BuildState::ready && kept.size() < kKept) kept.push_back(build);
  }
  return kept;
}

// Failures are kept until the next attempt. By the order of the store: a failed build that is
// marked for deletion meanwhile has a later time of its state than the attempt that replaces it.
bool is_latest_attempt(const CleanupInput& input, const ImageBuild* build) {
  return input.configured && std::ranges::none_of(input.builds, [build](const ImageBuild* other) {
           return other->stat.czxid > build->stat.czxid;
         });
}
bool is_latest_attempt(const CleanupInput& input, const ImageUpload* upload) {
  return std::ranges::none_of(input.uploads, [upload](const ImageUpload* other) {
    return other->build_id == upload->build_id && other->provider == upload->provider &&
           other->id > upload->id;
  });
}

// The newest kKept ready uploads to each provider, of ready builds.
std::set<const ImageUpload*> recent_uploads(const CleanupInput& input) {
  std::map<std::string, Uploads> ready;
  for (const ImageUpload* upload : input.uploads) {
    const auto build = std::ranges::find(input.builds, upload->build_id, &ImageBuild::id);
    const bool usable = build != input.builds.end() && (*build)->state == BuildState::ready;
    if (upload->state == UploadState::ready && usable) ready[upload->provider].push_back(upload);
  }
  std::set<const ImageUpload*> recent;
  for (auto& [provider, uploads] : ready) {
    std::ranges::sort(uploads, std::greater(), &ImageUpload::state_time);
    uploads.resize(std::min(uploads.size(), kKept));
    recent.insert(uploads.begin(), uploads.end());
  }
  return recent;
}

// The configuration of this builder may be older than the one of the builder that has made the
// build, or about to be replaced.
bool may_be_uploaded_by_others(const CleanupInput& input, const ImageBuild* build) {
  return !input.configured && build->state == BuildState::ready &&
         input.of_others.contains(build->id);
}

bool contains(const Builds& builds, const ImageBuild* build) {
  return std::ranges::find(builds, build) != builds.end();
}

// Plans the cleanup of uploads.
class UploadCleanup {
 public:
  UploadCleanup(const CleanupInput& input, CleanupPlan& plan)
      : input_(input), plan_(plan), recent_(recent_uploads(input)) {}

  bool is_recent(const ImageUpload* upload) const { return recent_.contains(upload); }

  // Whether a builder will resume the upload: it is the next one to make, and its files exist.
  bool will_be_resumed(const ImageUpload* upload) const {
    const ImageBuild* newest = newest_ready(input_.builds);
    if (newest == nullptr || newest->id != upload->build_id) return false;
    if (!input_.configured || input_.lost.contains(newest->id)) return false;
    if (!input_.resuming.contains(upload->provider)) return false;
    Uploads same;
    for (const ImageUpload* other : input_.uploads) {
      if (other->build_id == newest->id && other->provider == upload->provider) {
        same.push_back(other);
      }
    }
    return interrupted_upload(same) == upload;
  }

  void plan(const ImageUpload* upload, bool build_is_kept, bool build_stays) {
    const auto provider = input_.providers.find(upload->provider);
    if (provider == input_.providers.end()) return;
    const bool listed = provider->second;
    if (upload->state == UploadState::uploading) {
      if (input_.being_uploaded.contains({upload->build_id, upload->provider})) return;
      if (!listed || !will_be_resumed(upload)) plan_.abandoned.push_back(upload);
    } else if (upload->state == UploadState::deleting) {
      plan_.to_remove.push_back(upload);
    } else if (upload->state == UploadState::failed && build_is_kept && listed) {
      if (!is_latest_attempt(input_, upload)) plan_.unwanted.push_back(upload);
    } else if (!listed || (!build_stays && !is_recent(upload) && !is_used_by_nodes(upload))) {
      plan_.unwanted.push_back(upload);
    }
  }

 private:
  // Nodes keep an upload that is merely old, not one that was deleted by request.
  bool is_used_by_nodes(const ImageUpload* upload) const {
    const auto build = std::ranges::find(input_.builds, upload->build_id, &ImageBuild::id);
    return input_.in_use.contains(upload) && build != input_.builds.end() &&
           (*build)->state == BuildState::ready;
  }

  const CleanupInput& input_;
  CleanupPlan& plan_;
  std::set<const ImageUpload*> recent_;
};

}  // namespace

const ImageBuild* newest_ready(const Builds& builds) {
  const auto found = std::ranges::find(builds, BuildState::ready, &ImageBuild::state);
  return found == builds.end() ? nullptr : *found;
}

bool is_superseded(const Builds& builds, const ImageBuild& build) {
  return std::ranges::any_of(builds, [&build](const ImageBuild* other) {
    return build.state == BuildState::building && other->state == BuildState::building &&
           other->stat.czxid > build.stat.czxid;
  });
}

std::string_view to_string(BuildReason reason) {
  switch (reason) {
    case BuildReason::none_ready:
      return "no build is ready";
    case BuildReason::formats_missing:
      return "the newest build lacks a required format";
    case BuildReason::too_old:
      return "the newest build is older than rebuild-age";
    case BuildReason::requested:
      return "a build was requested";
  }
  return "";
}

BuildVerdict evaluate_build(const BuildInput& input) {
  if (input.paused || input.image.pause || input.formats.empty() || input.being_built) {
    return {};
  }
  const ImageBuild* newest = newest_ready(input.builds);
  if (newest == nullptr) return {.due = 0, .reason = BuildReason::none_ready};
  const auto will_have = [&](const std::string& format) {
    if (newest->has_format(format)) return true;
    // Formats of providers are converted for the upload; those of the image need a build.
    const bool own = input.image.formats.contains(format);
    return !own && input.local != nullptr && is_obtainable(*input.local, format);
  };
  if (!std::ranges::all_of(input.formats, will_have)) {
    return {.due = 0, .reason = BuildReason::formats_missing};
  }
  if (input.requested) return {.due = 0, .reason = BuildReason::requested};
  return {.due = newest->state_time + static_cast<double>(input.image.rebuild_age),
          .reason = BuildReason::too_old};
}

const ImageUpload* interrupted_upload(const Uploads& uploads) {
  const auto newest = std::ranges::max_element(uploads, {}, &ImageUpload::id);
  if (newest == uploads.end() || (*newest)->state != UploadState::uploading) return nullptr;
  const bool is_ready = std::ranges::any_of(
      uploads, [](const ImageUpload* upload) { return upload->state == UploadState::ready; });
  return is_ready ? nullptr : *newest;
}

UploadVerdict evaluate_upload(const UploadInput& input) {
  if (input.paused) return UploadVerdict::paused;
  if (input.build == nullptr) return UploadVerdict::no_build;
  const auto ready = [](const ImageUpload* upload) { return upload->state == UploadState::ready; };
  if (std::ranges::any_of(input.uploads, ready)) return UploadVerdict::uploaded;
  if (input.local == nullptr || input.local->empty()) return UploadVerdict::not_here;
  if (!is_obtainable(*input.local, input.format)) {
    return input.build->has_format(input.format) ? UploadVerdict::not_here
                                                 : UploadVerdict::wrong_format;
  }
  if (input.being_uploaded) return UploadVerdict::being_uploaded;
  return UploadVerdict::due;
}

CleanupPlan plan_cleanup(const CleanupInput& input) {
  CleanupPlan plan;
  const Builds kept = kept_builds(input);
  UploadCleanup uploads(input, plan);
  for (const ImageBuild* build : input.builds) {
    const bool is_kept = contains(kept, build);
    // A build in progress may still succeed.
    const bool in_progress = build->state == BuildState::building && input.being_built &&
                             !is_superseded(input.builds, *build);
    const bool failed_last = build->state == BuildState::failed && is_latest_attempt(input, build);
    const bool stays = is_kept || in_progress || failed_last;
    bool has_uploads = false;
    bool all_deleting = true;
    bool is_only_used_by_nodes = build->state == BuildState::ready;
    for (const ImageUpload* upload : input.uploads) {
      if (upload->build_id != build->id) continue;
      has_uploads = true;
      all_deleting = all_deleting && upload->state == UploadState::deleting;
      // An upload in progress reads the files.
      is_only_used_by_nodes = is_only_used_by_nodes && upload->state == UploadState::ready &&
                              input.in_use.contains(upload) && !uploads.is_recent(upload);
      uploads.plan(upload, is_kept, stays);
    }
    if (stays) continue;
    if (has_uploads && is_only_used_by_nodes) plan.unneeded_files.push_back(build);
    // Marked before slow clouds have deleted the uploads, so that the files are deleted early.
    const double patience_end = build->state_time + kFirstUploadPatience;
    if (!has_uploads && may_be_uploaded_by_others(input, build) && input.now < patience_end) {
      plan.next = std::min(plan.next.value_or(patience_end), patience_end);
    } else if (build->state != BuildState::deleting) {
      if (all_deleting) plan.unwanted_builds.push_back(build);
    } else if (!has_uploads) {
      plan.gone.push_back(build);
    }
  }
  return plan;
}

std::set<std::string> formats_to_delete(const config::DiskImage* image, const ImageBuild* build,
                                        const std::set<std::string>& local,
                                        const std::vector<Consumer>& consumers) {
  if (build == nullptr || build->state == BuildState::deleting) return local;
  if (build->state != BuildState::ready || image == nullptr || !image->delete_after_upload)
    return {};
  std::set<std::string> needed = image->keep_formats;
  for (const Consumer& consumer : consumers) {
    if (consumer.has_upload) continue;
    const std::string& format = consumer.format;
    if (format.empty()) return {};
    needed.insert(local.contains(format) ? format
                                         : conversion_source(local, format).value_or(format));
  }
  std::set<std::string> unneeded;
  std::ranges::set_difference(local, needed, std::inserter(unneeded, unneeded.end()));
  return unneeded;
}

}  // namespace nodepool::builder
