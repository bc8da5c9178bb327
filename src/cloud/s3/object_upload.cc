#include "cloud/s3/object_upload.h"

#include <algorithm>
#include <optional>

#include "async/finally.h"
#include "cloud/part_sender.h"
#include "cloud/patience.h"
#include "driver/cloud_error.h"

namespace nodepool::cloud {

using async::Task;
using driver::CloudError;

namespace {

// Concurrent parts, which one upload holds in memory.
constexpr int kPartSenders = 4;
constexpr std::uint64_t kUsualPart = std::uint64_t{8} << 20;  // bytes

// Deterministic, so that an upload can be resumed by another process.
std::uint64_t part_size(std::uint64_t size) {
  return std::max(kUsualPart, (size + Bucket::kMaxParts - 1) / Bucket::kMaxParts);
}

constexpr OptionalPermission kListObjects{
    .name = "s3:ListBucket",
    .consequence = "an object whose upload was interrupted is uploaded again"};
constexpr OptionalPermission kListUploads{
    .name = "s3:ListBucketMultipartUploads",
    .consequence =
        "interrupted uploads to the bucket start anew, and their parts stay until a "
        "lifecycle rule of the bucket deletes them"};
constexpr OptionalPermission kListParts{
    .name = "s3:ListMultipartUploadParts",
    .consequence = "interrupted uploads to the bucket send all parts again"};
constexpr OptionalPermission kAbort{
    .name = "s3:AbortMultipartUpload",
    .consequence =
        "parts of failed and duplicate uploads to the bucket stay until a lifecycle rule of the "
        "bucket deletes them"};

// A part and its hash, which is computed on a thread.
struct HashedPart {
  std::string data;
  std::string hash;
};

}  // namespace

ObjectUpload::ObjectUpload(const async::Runtime& runtime, Bucket& bucket,
                           async::ThreadPool& threads, OptionalPermissions& permissions,
                           telemetry::Logger log, std::string key, driver::Metadata tags)
    : runtime_(runtime),
      bucket_(bucket),
      threads_(threads),
      permissions_(permissions),
      log_(std::move(log)),
      tags_(std::move(tags)),
      upload_{.key = std::move(key), .id = {}} {}

Task<> ObjectUpload::run(std::shared_ptr<const http::StreamedBody> body,
                         driver::ImageSupport::Progress progress) {
  Task<> making = make(std::move(body), std::move(progress));
  const std::function<Task<>()> undo = [this] { return abort(); };
  co_await async::undo_on_failure(std::move(making), undo);
}

Task<> ObjectUpload::make(std::shared_ptr<const http::StreamedBody> body,
                          driver::ImageSupport::Progress progress) {
  const std::uint64_t size = body->size;
  const std::function<Task<bool>()> begin = [this, size] { return find_or_begin(size); };
  if (co_await retry_while_unreachable(runtime_, log_, begin)) {
    if (progress) progress(size);
    co_return;
  }
  const PartSender::Send send = [this](std::uint64_t index, std::string part) {
    return this->send(index, std::move(part));
  };
  const PartSender::Plan plan{.part_size = part_size(size), .max_concurrent = kPartSenders};
  PartSender sender(runtime_, std::move(body), plan, send, std::move(progress));
  co_await sender.run();
  co_await complete(size);
}

// The key is unique to the upload, and the object of a multipart upload is always complete.
Task<ObjectUpload::Presence> ObjectUpload::presence(std::uint64_t size) {
  const auto objects =
      co_await permissions_.if_permitted(bucket_.objects(upload_.key), kListObjects);
  if (!objects) co_return Presence::unknown;
  const bool is_there = std::ranges::any_of(*objects, [&](const S3Object& object) {
    return object.key == upload_.key && object.size == size;
  });
  co_return is_there ? Presence::present : Presence::absent;
}

// Returns whether the object already exists. If the outcome of beginning the upload is unknown, the
// next call finds it. What cannot be found is sent again: the object is the same.
Task<bool> ObjectUpload::find_or_begin(std::uint64_t size) {
  const Presence found = co_await presence(size);
  if (found == Presence::present) co_return true;
  const bool is_begun = co_await find_begun();
  if (!is_begun) upload_.id = co_await bucket_.begin(upload_.key, tags_);
  co_return false;
}

Task<bool> ObjectUpload::find_begun() {
  auto listed = co_await permissions_.if_permitted(bucket_.uploads(upload_.key), kListUploads);
  std::vector<S3Upload> begun = std::move(listed).value_or(std::vector<S3Upload>());
  std::erase_if(begun, [this](const S3Upload& upload) { return upload.key != upload_.key; });
  if (begun.empty()) co_return false;
  upload_ = begun.front();
  for (std::size_t i = 1; i < begun.size(); ++i) {
    co_await permissions_.if_permitted(bucket_.abort(begun[i]), kAbort);
  }
  const auto parts = co_await permissions_.if_permitted(bucket_.parts(upload_), kListParts);
  for (const S3Part& part : parts.value_or(std::vector<S3Part>())) parts_[part.number] = part;
  log_.info("Resuming the upload of {}, which has {} parts", upload_.key, parts_.size());
  co_return true;
}

Task<> ObjectUpload::send(std::uint64_t index, std::string part) {
  const auto hash = [this, data = std::move(part)]() mutable {
    std::string digest = bucket_.digest(data);
    return HashedPart{.data = std::move(data), .hash = std::move(digest)};
  };
  const HashedPart hashed = co_await threads_.run("checksum of a part", hash);
  const auto number = static_cast<std::int64_t>(index) + 1;
  const auto known = parts_.find(number);
  if (known != parts_.end() && bucket_.is_same(known->second, hashed.data.size(), hashed.hash)) {
    co_return;
  }
  const std::function<Task<S3Part>()> put = [this, number, &hashed] {
    return bucket_.put_part(upload_, number, hashed.data, hashed.hash);
  };
  S3Part sent = co_await retry_while_unreachable(runtime_, log_, put);
  parts_[number] = std::move(sent);
}

// S3 returns not_found for an upload that an earlier call has completed. If it is unknown whether
// the object exists, the import from it shows that.
Task<> ObjectUpload::complete(std::uint64_t size) {
  std::vector<S3Part> parts;
  parts.reserve(parts_.size());
  for (const auto& [number, part] : parts_) parts.push_back(part);
  const std::function<Task<>()> call = [this, &parts] { return bucket_.complete(upload_, parts); };
  std::optional<CloudError> failure;
  try {
    co_await retry_while_unreachable(runtime_, log_, call);
  } catch (const CloudError& error) {
    if (error.kind() != CloudError::Kind::not_found) throw;
    failure = error;
  }
  if (!failure) co_return;
  const Presence found = co_await presence(size);
  if (found == Presence::absent) throw CloudError(CloudError::Kind::failed, failure->what());
}

// By its id: the permission to list the uploads is optional.
Task<> ObjectUpload::abort() {
  if (upload_.id.empty()) co_return;
  try {
    co_await permissions_.if_permitted(bucket_.abort(upload_), kAbort);
  } catch (const CloudError& error) {
    log_.error("Error aborting the failed upload of {}: {}", upload_.key, error.what());
  }
}

}  // namespace nodepool::cloud
