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

// Of builds, and of uploads to each provider: the one in use, and the one before it.
constexpr std::size_t kKept = 2;

Builds kept_builds(const CleanupQuestion& question) {
  Builds kept;
  if (!question.configured) return kept;
  for (const ImageBuild* build : question.builds) {
    if (build->state == BuildState::ready && kept.size() < kKept) kept.push_back(build);
  }
  return kept;
}

// A failure can be looked at until somebody has tried again.
bool is_latest_attempt(const CleanupQuestion& question, const ImageBuild* build) {
  return question.configured && build == question.builds.front();
}
bool is_latest_attempt(const CleanupQuestion& question, const ImageUpload* upload) {
  return std::ranges::none_of(question.uploads, [upload](const ImageUpload* other) {
    return other->build_id == upload->build_id && other->provider == upload->provider &&
           other->id > upload->id;
  });
}

// The newest uploads to each provider that are ready, of builds that are ready.
std::set<const ImageUpload*> recent_uploads(const CleanupQuestion& question) {
  std::map<std::string, Uploads> ready;
  for (const ImageUpload* upload : question.uploads) {
    const auto build = std::ranges::find(question.builds, upload->build_id, &ImageBuild::id);
    const bool usable = build != question.builds.end() && (*build)->state == BuildState::ready;
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

bool contains(const Builds& builds, const ImageBuild* build) {
  return std::ranges::find(builds, build) != builds.end();
}

// What becomes of one upload of a build.
class UploadCleanup {
 public:
  UploadCleanup(const CleanupQuestion& question, CleanupPlan& plan)
      : question_(question), plan_(plan), recent_(recent_uploads(question)) {}

  bool is_recent(const ImageUpload* upload) const { return recent_.contains(upload); }

  // Whoever has the files goes on with it, if it is the upload that is wanted next.
  bool is_to_be_resumed(const ImageUpload* upload) const {
    const ImageBuild* newest = newest_ready(question_.builds);
    if (newest == nullptr || newest->id != upload->build_id) return false;
    if (!question_.configured || question_.lost.contains(newest->id)) return false;
    if (!question_.resuming.contains(upload->provider)) return false;
    Uploads same;
    for (const ImageUpload* other : question_.uploads) {
      if (other->build_id == newest->id && other->provider == upload->provider) {
        same.push_back(other);
      }
    }
    return cut_off_upload(same) == upload;
  }

  void plan(const ImageUpload* upload, bool build_is_kept, bool build_stays) {
    const auto provider = question_.providers.find(upload->provider);
    if (provider == question_.providers.end()) return;
    const bool listed = provider->second;
    if (upload->state == UploadState::uploading) {
      if (question_.being_uploaded.contains({upload->build_id, upload->provider})) return;
      if (!listed || !is_to_be_resumed(upload)) plan_.abandoned.push_back(upload);
    } else if (upload->state == UploadState::deleting) {
      plan_.to_remove.push_back(upload);
    } else if (upload->state == UploadState::failed && build_is_kept && listed) {
      if (!is_latest_attempt(question_, upload)) plan_.unwanted.push_back(upload);
    } else if (!listed || (!build_stays && !is_recent(upload) && !is_held(upload))) {
      plan_.unwanted.push_back(upload);
    }
  }

 private:
  // Nodes hold an upload that has only become old, not one that somebody wants gone.
  bool is_held(const ImageUpload* upload) const {
    const auto build = std::ranges::find(question_.builds, upload->build_id, &ImageBuild::id);
    return question_.in_use.contains(upload) && build != question_.builds.end() &&
           (*build)->state == BuildState::ready;
  }

  const CleanupQuestion& question_;
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
           other->state_time > build.state_time;
  });
}

std::string_view to_string(BuildReason reason) {
  switch (reason) {
    case BuildReason::none_ready:
      return "it has no build that is ready";
    case BuildReason::formats_missing:
      return "its newest build lacks a format";
    case BuildReason::too_old:
      return "its newest build is too old";
    case BuildReason::requested:
      return "somebody has asked for it";
  }
  return "";
}

BuildVerdict evaluate_build(const BuildQuestion& question) {
  if (question.paused || question.image.pause || question.formats.empty() || question.being_built) {
    return {};
  }
  const ImageBuild* newest = newest_ready(question.builds);
  if (newest == nullptr) return {.due = 0, .reason = BuildReason::none_ready};
  const auto will_have = [&](const std::string& format) {
    if (newest->has_format(format)) return true;
    // A provider's is made when it is uploaded; the image's own only by a build.
    const bool own = question.image.formats.contains(format);
    return !own && question.local != nullptr && is_obtainable(*question.local, format);
  };
  if (!std::ranges::all_of(question.formats, will_have)) {
    return {.due = 0, .reason = BuildReason::formats_missing};
  }
  if (question.requested) return {.due = 0, .reason = BuildReason::requested};
  return {.due = newest->state_time + static_cast<double>(question.image.rebuild_age),
          .reason = BuildReason::too_old};
}

const ImageUpload* cut_off_upload(const Uploads& uploads) {
  const auto newest = std::ranges::max_element(uploads, {}, &ImageUpload::id);
  if (newest == uploads.end() || (*newest)->state != UploadState::uploading) return nullptr;
  const bool is_ready = std::ranges::any_of(
      uploads, [](const ImageUpload* upload) { return upload->state == UploadState::ready; });
  return is_ready ? nullptr : *newest;
}

UploadVerdict evaluate_upload(const UploadQuestion& question) {
  if (question.paused) return UploadVerdict::paused;
  if (question.build == nullptr) return UploadVerdict::no_build;
  const auto ready = [](const ImageUpload* upload) { return upload->state == UploadState::ready; };
  if (std::ranges::any_of(question.uploads, ready)) return UploadVerdict::uploaded;
  if (question.local == nullptr || question.local->empty()) return UploadVerdict::not_here;
  if (!is_obtainable(*question.local, question.format)) {
    return question.build->has_format(question.format) ? UploadVerdict::not_here
                                                       : UploadVerdict::wrong_format;
  }
  if (question.being_uploaded) return UploadVerdict::being_uploaded;
  return UploadVerdict::due;
}

CleanupPlan plan_cleanup(const CleanupQuestion& question) {
  CleanupPlan plan;
  const Builds kept = kept_builds(question);
  UploadCleanup uploads(question, plan);
  for (const ImageBuild* build : question.builds) {
    const bool is_kept = contains(kept, build);
    // While it is being built nobody can know what becomes of it.
    const bool in_progress = build->state == BuildState::building && question.being_built &&
                             !is_superseded(question.builds, *build);
    const bool failed_last =
        build->state == BuildState::failed && is_latest_attempt(question, build);
    const bool stays = is_kept || in_progress || failed_last;
    bool has_uploads = false;
    bool all_deleting = true;
    bool only_nodes_need_it = build->state == BuildState::ready;
    for (const ImageUpload* upload : question.uploads) {
      if (upload->build_id != build->id) continue;
      has_uploads = true;
      all_deleting = all_deleting && upload->state == UploadState::deleting;
      only_nodes_need_it =
          only_nodes_need_it && question.in_use.contains(upload) && !uploads.is_recent(upload);
      uploads.plan(upload, is_kept, stays);
    }
    if (stays) continue;
    if (has_uploads && only_nodes_need_it) plan.spent.push_back(build);
    // Marked before slow clouds have done their part: the files need not stay for that long.
    if (build->state != BuildState::deleting) {
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
    needed.insert(local.contains(format) ? format
                                         : conversion_source(local, format).value_or(format));
  }
  std::set<std::string> unneeded;
  std::ranges::set_difference(local, needed, std::inserter(unneeded, unneeded.end()));
  return unneeded;
}

}  // namespace nodepool::builder
