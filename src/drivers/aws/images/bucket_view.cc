#include "drivers/aws/images/bucket_view.h"

#include <optional>

#include "driver/cloud_error.h"
#include "drivers/aws/images/upload_identity.h"

namespace nodepool::drivers::aws {

using async::Task;
using driver::CloudError;

namespace {

constexpr std::string_view kScheme = "s3://";
constexpr std::string_view kUploadId = "?uploadId=";

constexpr cloud::OptionalPermission kListLeakedUploads{
    .name = "s3:ListBucketMultipartUploads",
    .consequence = "leaked uploads to the bucket are not found"};
constexpr cloud::OptionalPermission kListLeakedObjects{
    .name = "s3:ListBucket", .consequence = "leaked objects of the bucket are not found"};

}  // namespace

BucketView::BucketView(cloud::Bucket& s3, std::string provider,
                       std::shared_ptr<const model::Installation> installation,
                       cloud::OptionalPermissions& permissions, telemetry::Logger log)
    : s3_(s3),
      provider_(std::move(provider)),
      installation_(std::move(installation)),
      permissions_(permissions),
      log_(std::move(log)) {}

Task<std::vector<driver::CloudImage>> BucketView::list() {
  std::vector<driver::CloudImage> found;
  const std::string base = std::string(kScheme) + s3_.name() + "/";
  const auto uploads = co_await permissions_.if_permitted(s3_.uploads(""), kListLeakedUploads);
  for (const cloud::S3Upload& upload : uploads.value_or(std::vector<cloud::S3Upload>())) {
    const auto marks = tags_in_key(upload.key, provider_, *installation_);
    if (!marks) continue;
    found.push_back({.id = base + upload.key + std::string(kUploadId) + upload.id,
                     .name = upload.key,
                     .metadata = *marks});
  }
  const auto objects = co_await permissions_.if_permitted(s3_.objects(""), kListLeakedObjects);
  if (!objects) co_return found;
  std::map<std::string, Known, std::less<>> known;
  for (const cloud::S3Object& object : *objects) {
    const auto before = known_.find(object.key);
    std::optional<Known> now;
    if (before != known_.end() && before->second.etag == object.etag) {
      now = before->second;
    } else {
      now = co_await ask_tags(object);
    }
    if (!now) continue;
    if (!now->tags.empty()) {
      found.push_back({.id = base + object.key, .name = object.key, .metadata = now->tags});
    }
    known.emplace(object.key, *std::move(now));
  }
  known_ = std::move(known);
  co_return found;
}

// Returns nothing if the object is gone, or to retry next time. Caches a refusal like tags, unless
// the key shows that the object belongs to this provider.
Task<std::optional<BucketView::Known>> BucketView::ask_tags(cloud::S3Object object) {
  Known now{.etag = object.etag, .tags = {}};
  try {
    now.tags = co_await s3_.tags(object.key);
  } catch (const CloudError& error) {
    if (error.kind() == CloudError::Kind::not_found) co_return std::nullopt;
    if (error.kind() != CloudError::Kind::permanent) throw;
    log_.warning("Not deleting object {}{}/{}: {}", kScheme, s3_.name(), object.key, error.what());
    if (tags_in_key(object.key, provider_, *installation_)) co_return std::nullopt;
  }
  co_return now;
}

bool BucketView::is_id(std::string_view id) {
  return id.starts_with(kScheme);
}

Task<> BucketView::remove(std::string id) {
  const std::string rest = id.substr(std::min(id.size(), kScheme.size() + s3_.name().size() + 1));
  const std::size_t upload = rest.rfind(kUploadId);
  if (upload == std::string::npos) {
    co_await s3_.remove(rest);
    co_return;
  }
  co_await s3_.abort({.key = rest.substr(0, upload), .id = rest.substr(upload + kUploadId.size())});
}

}  // namespace nodepool::drivers::aws
