#include "model/image_table.h"

#include <algorithm>
#include <functional>

#include "coordination/path.h"
#include "model/image_paths.h"
#include "model/paths.h"

namespace nodepool::model {

namespace {

using coordination::base_name;
using coordination::Entry;
using coordination::parent_path;
using Kind = ImagePath::Kind;

const IdSet kNoRecords;

std::string below_root(std::string_view path) {
  return std::string(coordination::relative_path(path, kImagesRoot));
}

// The records whose paths are below `path`, unordered ('/' sorts after '-').
template <typename Record>
std::vector<const Record*> records_below(const RecordSet<Record>& records, std::string_view path) {
  const std::string prefix = below_root(path) + '/';
  std::vector<const Record*> found;
  for (auto at = records.all().lower_bound(prefix);
       at != records.all().end() && at->first.starts_with(prefix); ++at) {
    found.push_back(&at->second);
  }
  return found;
}

std::vector<const ImageUpload*> in_order(std::vector<const ImageUpload*> uploads) {
  std::ranges::sort(uploads, {}, [](const ImageUpload* upload) {
    return std::tie(upload->image, upload->build_id, upload->provider, upload->id);
  });
  return uploads;
}

const IdSet& find_or_none(const std::map<std::string, IdSet, std::less<>>& sets,
                          std::string_view key) {
  const auto found = sets.find(key);
  return found == sets.end() ? kNoRecords : found->second;
}

void erase_from(std::map<std::string, IdSet, std::less<>>& sets, std::string_view key,
                std::string_view value) {
  const auto found = sets.find(key);
  if (found == sets.end()) return;
  found->second.erase(std::string(value));
  if (found->second.empty()) sets.erase(found);
}

}  // namespace

ImageTable::ImageTable(const async::Runtime& runtime, coordination::Store& store,
                       const telemetry::Logger& log)
    : FollowedTree(runtime, store, kImagesRoot, log),
      builds_(kImagesRoot, log),
      uploads_(kImagesRoot, log) {}

const ImageBuild* ImageTable::find_build(std::string_view image, std::string_view build_id) const {
  return builds_.find(below_root(build_path(image, build_id)));
}

bool ImageTable::is_unreadable_build(std::string_view image, std::string_view build_id) const {
  return builds_.is_unreadable(below_root(build_path(image, build_id)));
}

const ImageUpload* ImageTable::find_upload(std::string_view image, std::string_view build_id,
                                           std::string_view provider,
                                           std::string_view upload_id) const {
  return uploads_.find(below_root(upload_path(image, build_id, provider, upload_id)));
}

std::vector<const ImageBuild*> ImageTable::builds_of(std::string_view image) const {
  std::vector<const ImageBuild*> builds = records_below(builds_, builds_path(image));
  std::ranges::sort(builds, std::greater(),
                    [](const ImageBuild* build) { return std::tie(build->state_time, build->id); });
  return builds;
}

std::vector<const ImageUpload*> ImageTable::uploads_of(std::string_view image) const {
  return in_order(records_below(uploads_, builds_path(image)));
}

std::vector<const ImageUpload*> ImageTable::uploads_of(std::string_view image,
                                                       std::string_view build_id) const {
  return in_order(records_below(uploads_, build_path(image, build_id)));
}

std::vector<const ImageUpload*> ImageTable::uploads_of(std::string_view image,
                                                       std::string_view build_id,
                                                       std::string_view provider) const {
  return in_order(records_below(uploads_, uploads_path(image, build_id, provider)));
}

const ImageUpload* ImageTable::newest_ready_upload(std::string_view image,
                                                   std::string_view provider) const {
  return uploads_.newest_ready(image, provider);
}

std::vector<const ImageUpload*> ImageTable::uploads_to(std::string_view provider) const {
  std::vector<const ImageUpload*> uploads;
  for (const std::string& id : uploads_.to_provider(provider)) uploads.push_back(uploads_.find(id));
  return in_order(std::move(uploads));
}

std::set<std::pair<std::string, std::string>> ImageTable::known_uploads(
    std::string_view provider) const {
  std::set<std::pair<std::string, std::string>> known;
  for (const ImageUpload* upload : uploads_to(provider)) {
    if (upload->state != UploadState::failed) known.emplace(upload->build_id, upload->id);
  }
  for (const std::string& id : uploads_.unreadable()) {
    const std::optional<ImagePath> path = parse_image_path(id);
    if (path && path->provider == provider) known.emplace(path->build_id, path->upload_id);
  }
  return known;
}

const IdSet& ImageTable::build_provider_paths(std::string_view provider) const {
  return find_or_none(build_provider_paths_, provider);
}

bool ImageTable::is_being_built(std::string_view image) const {
  return contenders_.contains(below_root(builds_lock_path(image)));
}

bool ImageTable::has_pending_request(std::string_view image) const {
  const bool is_begun = is_being_built(image) && !builds_of(image).empty();
  return build_requests_.contains(image) && !is_begun;
}

bool ImageTable::is_being_uploaded(std::string_view image, std::string_view build_id,
                                   std::string_view provider) const {
  return contenders_.contains(below_root(uploads_lock_path(image, build_id, provider)));
}

void ImageTable::written(const ImageBuild& build, const std::string& text,
                         const coordination::Stat& stat) {
  cache().apply(below_root(build_path(build.image, build.id)), {text, stat});
}

void ImageTable::written(const ImageUpload& upload, const std::string& text,
                         const coordination::Stat& stat) {
  cache().apply(below_root(upload_path(upload.image, upload.build_id, upload.provider, upload.id)),
                {text, stat});
}

void ImageTable::removed(const ImageBuild& build) {
  cache().apply_removed(below_root(build_path(build.image, build.id)));
}

void ImageTable::removed(const ImageUpload& upload) {
  cache().apply_removed(
      below_root(upload_path(upload.image, upload.build_id, upload.provider, upload.id)));
}

coordination::TreeListener::Interest ImageTable::interest(std::string_view path) const {
  const std::optional<ImagePath> parsed = parse_image_path(path);
  if (!parsed) return Interest::none;
  switch (parsed->kind) {
    case Kind::build:
    case Kind::upload:
    case Kind::build_request:  // for its stat
      return Interest::data;
    case Kind::image:
    case Kind::builds:
    case Kind::builds_lock:
    case Kind::providers:
    case Kind::provider:
    case Kind::uploads:
    case Kind::uploads_lock:
      return Interest::name;
    case Kind::pause:
    case Kind::builds_contender:
    case Kind::uploads_contender:
      return Interest::leaf;
  }
  return Interest::none;
}

void ImageTable::on_changed(std::string_view path, const Entry& entry) {
  const std::optional<ImagePath> parsed = parse_image_path(path);
  if (!parsed) return;
  const std::string image(parsed->image);
  switch (parsed->kind) {
    case Kind::image:
      images_.insert(image);
      break;
    case Kind::pause:
      paused_.insert(image);
      break;
    case Kind::build_request:
      build_requests_[image] = entry.stat;
      break;
    case Kind::build:
      builds_.record_changed(path, entry);
      break;
    case Kind::provider:
      build_provider_paths_[std::string(parsed->provider)].insert(
          coordination::join_path(kImagesRoot, path));
      break;
    case Kind::upload:
      uploads_.record_changed(path, entry);
      break;
    case Kind::builds_contender:
    case Kind::uploads_contender:
      contenders_[std::string(parent_path(path))].emplace(base_name(path));
      break;
    case Kind::builds:
    case Kind::builds_lock:
    case Kind::providers:
    case Kind::uploads:
    case Kind::uploads_lock:
      return;
  }
  changes_.notify(image);
}

// Which uploads are below any other path would be unknown, and so which images are leaks, and which
// labels can be served.
bool ImageTable::on_unreadable(std::string_view path, const std::string& reason) {
  const std::optional<ImagePath> parsed = parse_image_path(path);
  if (!parsed || parsed->kind != Kind::upload) return false;
  uploads_.record_unreadable(path, reason);
  return true;
}

void ImageTable::on_removed(std::string_view path) {
  const std::optional<ImagePath> parsed = parse_image_path(path);
  if (!parsed) return;
  const std::string image(parsed->image);
  switch (parsed->kind) {
    case Kind::image:
      images_.erase(image);
      break;
    case Kind::pause:
      paused_.erase(image);
      break;
    case Kind::build_request:
      build_requests_.erase(image);
      break;
    case Kind::build:
      builds_.record_removed(path);
      break;
    case Kind::provider:
      erase_from(build_provider_paths_, parsed->provider,
                 coordination::join_path(kImagesRoot, path));
      break;
    case Kind::upload:
      uploads_.record_removed(path);
      break;
    case Kind::builds_contender:
    case Kind::uploads_contender:
      erase_from(contenders_, parent_path(path), base_name(path));
      break;
    case Kind::builds:
    case Kind::builds_lock:
    case Kind::providers:
    case Kind::uploads:
    case Kind::uploads_lock:
      return;
  }
  changes_.notify(image);
}

ImageBuild ImageTable::Builds::parse(std::string id, const Entry& entry) const {
  const ImagePath path = parse_image_path(id).value();
  return parse_image_build(std::string(path.image), std::string(path.build_id), entry);
}

const ImageUpload* ImageTable::Uploads::newest_ready(std::string_view image,
                                                     std::string_view provider) const {
  const auto found = ready_.find(std::tuple(image, provider));
  return found == ready_.end() ? nullptr : find(found->second.rbegin()->second);
}

const IdSet& ImageTable::Uploads::to_provider(std::string_view provider) const {
  return find_or_none(by_provider_, provider);
}

ImageUpload ImageTable::Uploads::parse(std::string id, const Entry& entry) const {
  const ImagePath path = parse_image_path(id).value();
  return parse_image_upload(std::string(path.image), std::string(path.build_id),
                            std::string(path.provider), std::string(path.upload_id), entry);
}

void ImageTable::Uploads::unindex(const ImageUpload& upload) {
  const std::string id =
      below_root(upload_path(upload.image, upload.build_id, upload.provider, upload.id));
  erase_from(by_provider_, upload.provider, id);
  const auto found = ready_.find(std::tie(upload.image, upload.provider));
  if (found == ready_.end()) return;
  found->second.erase({upload.state_time, id});
  if (found->second.empty()) ready_.erase(found);
}

void ImageTable::Uploads::index(const ImageUpload& upload) {
  const std::string id =
      below_root(upload_path(upload.image, upload.build_id, upload.provider, upload.id));
  by_provider_[upload.provider].insert(id);
  if (upload.state != UploadState::ready) return;
  ready_[{upload.image, upload.provider}].emplace(upload.state_time, id);
}

}  // namespace nodepool::model
