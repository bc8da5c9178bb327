#include "drivers/ibmvpc/image_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "async/finally.h"
#include "cloud/patience.h"
#include "cloud/s3/object_upload.h"
#include "driver/cloud_error.h"
#include "drivers/ibmvpc/image_names.h"
#include "http/file_body.h"

namespace nodepool::drivers::ibmvpc {

using async::Task;
using driver::CloudError;
using Kind = CloudError::Kind;

namespace {

// An import takes minutes; the Python Nodepool polls every 30 seconds.
constexpr async::Duration kImportPoll = std::chrono::seconds(10);
constexpr async::Duration kRemovalPoll = std::chrono::seconds(2);
constexpr async::Duration kRemovalLimit = std::chrono::minutes(10);
// How long a new image may be unknown.
constexpr async::Duration kAppearanceLimit = std::chrono::minutes(1);

// Ids of what is in the bucket: cos://BUCKET/KEY or cos://BUCKET/KEY?uploadId=ID.
constexpr std::string_view kScheme = "cos://";
constexpr std::string_view kUploadId = "?uploadId=";
constexpr const char* kPrefix = "npimage-";  // of all keys

constexpr cloud::OptionalPermission kListUploads{
    .name = "s3:ListBucketMultipartUploads",
    .consequence = "leaked uploads to the bucket are not found"};
constexpr cloud::OptionalPermission kListObjects{
    .name = "s3:ListBucket", .consequence = "leaked objects of the bucket are not found"};

// "us-south-standard": the location, and the class of storage.
std::string location_in(const std::string& constraint) {
  const std::size_t end = constraint.rfind('-');
  if (end == std::string::npos || end == 0) {
    throw CloudError(Kind::failed, "the bucket's location is `" + constraint + "`");
  }
  return constraint.substr(0, end);
}

}  // namespace

ImportedImages::ImportedImages(const async::Runtime& runtime, const IbmVpcConfig& config,
                               VpcApi& api, CloudView& view, IamTokens& tokens,
                               std::shared_ptr<const model::Installation> installation,
                               async::ThreadPool& threads, const telemetry::Logger& log,
                               const http::Client::Observer& on_attempt)
    : runtime_(runtime),
      config_(config),
      api_(api),
      view_(view),
      installation_(std::move(installation)),
      threads_(threads),
      log_(log),
      storage_(runtime, config.account(), config.image_bucket().endpoint, tokens, log, on_attempt),
      bucket_(storage_.bucket(config.image_bucket().name)),
      permissions_(log) {}

Task<std::string> ImportedImages::upload(driver::ProviderImage image, std::string /*name*/,
                                         driver::ImageFile file, driver::Metadata metadata,
                                         Progress progress) {
  if (config_.image_bucket().endpoint.empty()) {
    throw CloudError(Kind::permanent, "uploads need `object-storage` in the provider's section");
  }
  const std::string name = image_name(metadata);
  const Job job{.name = name,
                .key = object_key(name, file.format),
                .operating_system = config_.operating_system(image.name),
                .file = std::move(file),
                .progress = std::move(progress)};
  Task<std::string> making = make(job);
  const std::function<Task<>()> undo = [this, &job] { return remove_begun(job); };
  co_return co_await async::undo_on_failure(std::move(making), undo);
}

Task<std::string> ImportedImages::make(Job job) {
  const std::optional<VpcImage> begun = co_await find_image(job.name);
  std::string id;
  if (begun) {
    id = begun->id;
    log_.info("Resuming the import of {}", job.name);
  } else {
    co_await send_object(job);
    id = co_await begin_import(job);
    log_.info("Started the import of {}", job.name);
  }
  if (job.progress) job.progress(job.file.size);
  co_await finish_import(id, job.name);
  co_await remove_object(job);
  co_return id;
}

Task<> ImportedImages::send_object(Job job) {
  const auto body = co_await http::file_body(threads_, job.file.path);
  cloud::ObjectUpload upload(runtime_, bucket_, threads_, permissions_, log_, job.key, {});
  co_await upload.run(body, job.progress);
}

Task<std::optional<VpcImage>> ImportedImages::find_image(std::string name) {
  const std::function<Task<std::optional<VpcImage>>()> find = [this, &name] {
    return api_.image_named(name);
  };
  co_return co_await cloud::retry_while_unreachable(runtime_, log_, find);
}

Task<VpcImageRequest> ImportedImages::import_request(Job job) {
  const std::function<Task<std::string>()> ask = [this] { return bucket_.location(); };
  const std::string constraint = co_await cloud::retry_while_unreachable(runtime_, log_, ask);
  const std::function<Task<std::string>()> find_group = [this] {
    return view_.group(image_group_name(config_.name()), kCatalogAge);
  };
  std::string group = co_await cloud::retry_while_unreachable(runtime_, log_, find_group);
  co_return VpcImageRequest{.name = job.name,
                            .group = std::move(group),
                            .location = location_in(constraint),
                            .bucket = bucket_.name(),
                            .key = job.key,
                            .operating_system = job.operating_system};
}

// After a failure, looks for the image by name: the outcome may be unknown, or the image of an
// earlier call was not listed yet, whose name is refused as a duplicate.
Task<std::string> ImportedImages::begin_import(Job job) {
  const VpcImageRequest request = co_await import_request(job);
  const auto until = runtime_.clock.now() + cloud::kRetryLimit;
  bool may_exist = false;
  while (true) {
    std::optional<CloudError> failure;
    try {
      co_return co_await api_.make_image(request);
    } catch (const CloudError& error) {
      failure = error;
    }
    may_exist = may_exist || failure->kind() == Kind::unknown_outcome;
    co_await runtime_.clock.sleep_for(cloud::kRetryPause);
    const std::optional<VpcImage> made = co_await find_image(job.name);
    if (made) co_return made->id;
    const bool is_refused = !may_exist && failure->kind() != Kind::transient;
    if (is_refused || runtime_.clock.now() >= until) throw CloudError(*failure);
    log_.warning("{}, retrying", failure->what());
  }
}

// Without a timeout: IBM ends every import.
Task<> ImportedImages::finish_import(std::string id, std::string name) {
  const std::function<Task<std::optional<VpcImage>>()> ask = [this, &id] { return api_.image(id); };
  auto last_seen = runtime_.clock.now();
  while (true) {
    const std::optional<VpcImage> image =
        co_await cloud::retry_while_unreachable(runtime_, log_, ask);
    if (image) {
      if (image->is_available()) co_return;
      if (!image->is_coming()) {
        throw CloudError(Kind::failed,
                         fmt::format("image {} is {}{}{}", name, image->status,
                                     image->reason.empty() ? "" : ": ", image->reason));
      }
      last_seen = runtime_.clock.now();
    }
    if (runtime_.clock.now() - last_seen > kAppearanceLimit) {
      throw CloudError(Kind::failed, "image " + name + " has disappeared");
    }
    co_await runtime_.clock.sleep_for(kImportPoll);
  }
}

// If this fails, the object is deleted as a leak once the upload has no record.
Task<> ImportedImages::remove_object(Job job) {
  try {
    co_await bucket_.remove(job.key);
  } catch (const CloudError& error) {
    log_.error("Error deleting the object of {}: {}", job.name, error.what());
  }
}

// By name and key, as ids may be unknown. A failure of one does not affect the others.
Task<> ImportedImages::remove_begun(Job job) {
  try {
    const std::optional<VpcImage> image = co_await api_.image_named(job.name);
    if (image) co_await remove_image(image->id);
  } catch (const CloudError& error) {
    log_.error("Error deleting the image of a failed upload: {}", error.what());
  }
  co_await remove_object(job);
  try {
    co_await remove_uploads(job.key);
  } catch (const CloudError& error) {
    log_.error("Error deleting the parts of a failed upload: {}", error.what());
  }
}

Task<> ImportedImages::remove_uploads(std::string key) {
  const std::vector<cloud::S3Upload> uploads = co_await uploads_if_permitted(key);
  for (const cloud::S3Upload& upload : uploads) {
    if (upload.key == key) co_await bucket_.abort(upload);
  }
}

Task<std::vector<cloud::S3Upload>> ImportedImages::uploads_if_permitted(std::string prefix) {
  auto listed = co_await permissions_.if_permitted(bucket_.uploads(prefix), kListUploads);
  co_return std::move(listed).value_or(std::vector<cloud::S3Upload>());
}

Task<> ImportedImages::remove(std::string /*name*/, std::string external_id) {
  if (external_id.starts_with(kScheme)) {
    co_await remove_stored(std::move(external_id));
  } else {
    co_await remove_image(std::move(external_id));
  }
}

// Returns when the image is gone.
Task<> ImportedImages::remove_image(std::string id) {
  const auto until = runtime_.clock.now() + kRemovalLimit;
  while (true) {
    const std::optional<VpcImage> image = co_await api_.image(id);
    if (!image) co_return;
    if (!image->is_going()) co_await api_.remove_image(id);
    if (runtime_.clock.now() >= until) {
      throw CloudError(Kind::transient, "image " + image->name + " is still being deleted");
    }
    co_await runtime_.clock.sleep_for(kRemovalPoll);
  }
}

Task<> ImportedImages::remove_stored(std::string id) {
  const std::string base = std::string(kScheme) + bucket_.name() + "/";
  if (!id.starts_with(base)) {
    throw CloudError(Kind::permanent, id + " is not in bucket " + bucket_.name());
  }
  const std::string rest = id.substr(base.size());
  const std::size_t upload = rest.rfind(kUploadId);
  if (upload == std::string::npos) {
    co_await bucket_.remove(rest);
  } else {
    co_await bucket_.abort(
        {.key = rest.substr(0, upload), .id = rest.substr(upload + kUploadId.size())});
  }
}

Task<std::vector<driver::CloudImage>> ImportedImages::list() {
  const std::string group = image_group_name(config_.name());
  std::vector<driver::CloudImage> found = co_await list_bucket();
  const std::vector<VpcImage> images = co_await api_.own_images();
  for (const VpcImage& image : images) {
    if (image.is_going()) continue;
    driver::CloudImage& listed = found.emplace_back();
    listed.id = image.id;
    listed.name = image.name;
    if (image.group == group) {
      listed.metadata = image_tags(image.name, config_.name(), *installation_);
    }
  }
  co_return found;
}

// A failure of the object storage does not affect the images.
Task<std::vector<driver::CloudImage>> ImportedImages::list_bucket() {
  std::vector<driver::CloudImage> none;
  if (config_.image_bucket().endpoint.empty()) co_return none;
  try {
    co_return co_await stored();
  } catch (const CloudError& error) {
    log_.error("Error listing bucket {}: {}", bucket_.name(), error.what());
  }
  co_return none;
}

// The objects and multipart uploads of this provider and installation, except those that it may not
// list.
Task<std::vector<driver::CloudImage>> ImportedImages::stored() {
  std::vector<driver::CloudImage> found;
  const std::string base = std::string(kScheme) + bucket_.name() + "/";
  const std::vector<cloud::S3Upload> uploads = co_await uploads_if_permitted(kPrefix);
  for (const cloud::S3Upload& upload : uploads) {
    auto tags = object_tags(upload.key, config_.name(), *installation_);
    if (!tags) continue;
    found.push_back({.id = base + upload.key + std::string(kUploadId) + upload.id,
                     .name = upload.key,
                     .metadata = *std::move(tags)});
  }
  const auto objects = co_await permissions_.if_permitted(bucket_.objects(kPrefix), kListObjects);
  for (const cloud::S3Object& object : objects.value_or(std::vector<cloud::S3Object>())) {
    auto tags = object_tags(object.key, config_.name(), *installation_);
    if (!tags) continue;
    found.push_back({.id = base + object.key, .name = object.key, .metadata = *std::move(tags)});
  }
  co_return found;
}

}  // namespace nodepool::drivers::ibmvpc
