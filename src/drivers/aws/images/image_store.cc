#include "drivers/aws/images/image_store.h"

#include <algorithm>
#include <functional>
#include <set>

#include "async/finally.h"
#include "cloud/patience.h"
#include "cloud/s3/object_upload.h"
#include "driver/cloud_error.h"
#include "driver/ownership.h"
#include "drivers/aws/images/block_upload.h"
#include "drivers/aws/images/upload_identity.h"
#include "http/file_body.h"

namespace nodepool::drivers::aws {

using async::Task;
using driver::CloudError;
using driver::Metadata;

namespace {

constexpr const char* kDevice = "/dev/sda1";
constexpr async::Duration kSnapshotPatience = std::chrono::minutes(1);
constexpr std::string_view kSnapshotPrefix = "snap-";
constexpr std::string_view kImportPrefix = "import-";
constexpr cloud::OptionalPermission kListSnapshots{
    .name = "ec2:DescribeSnapshots",
    .consequence = "snapshots of interrupted uploads are not found"};

template <typename Thing>
std::optional<Thing> made_for(const std::vector<Thing>& things, const Metadata& upload) {
  const auto found = std::ranges::find_if(
      things, [&](const Thing& thing) { return is_of_upload(thing.tags, upload); });
  if (found == things.end()) return std::nullopt;
  return *found;
}

Query registration(const UploadOptions& wanted, const std::string& name, const Snapshot& snapshot,
                   const Metadata& metadata) {
  Query query;
  query.add("Name", name).add("Architecture", wanted.architecture);
  query.add("RootDeviceName", kDevice).add("VirtualizationType", "hvm");
  query.add("EnaSupport", wanted.ena_support).add_if_any("ImdsSupport", wanted.imds_support);
  const std::string device = "BlockDeviceMapping.1.";
  query.add(device + "DeviceName", kDevice).add(device + "Ebs.DeleteOnTermination", true);
  query.add(device + "Ebs.SnapshotId", snapshot.id);
  query.add(device + "Ebs.VolumeType", wanted.volume.type);
  query.add(device + "Ebs.VolumeSize",
            std::max(snapshot.size, wanted.volume.size.value_or(snapshot.size)));
  if (wanted.volume.iops) query.add(device + "Ebs.Iops", *wanted.volume.iops);
  if (wanted.volume.throughput) query.add(device + "Ebs.Throughput", *wanted.volume.throughput);
  add_tags(query, 1, "image", metadata);
  return query;
}

}  // namespace

AmiStore::AmiStore(const async::Runtime& runtime, const AwsConfig& config, const ImageApis& apis,
                   std::shared_ptr<const model::Installation> installation,
                   async::ThreadPool& threads, const telemetry::Logger& log)
    : runtime_(runtime),
      config_(config),
      apis_(apis),
      threads_(threads),
      log_(log),
      installation_(std::move(installation)),
      permissions_(log),
      imports_(runtime, apis.imports, apis.ec2, permissions_, log),
      bucket_(apis.s3, config.name(), installation_, permissions_, log) {}

Task<std::string> AmiStore::upload(driver::ProviderImage image, std::string name,
                                   driver::ImageFile file, Metadata metadata, Progress progress) {
  const Job job{.options = config_.upload(image.name),
                .name = std::move(name),
                .file = std::move(file),
                .metadata = std::move(metadata),
                .progress = std::move(progress)};
  Task<std::string> making = make(job);
  const std::function<Task<>()> undo = [this, &job] { return remove_begun(job); };
  co_return co_await async::undo_on_failure(std::move(making), undo);
}

Task<std::string> AmiStore::make(Job job) {
  const std::function<Task<std::optional<std::string>>()> find = [this, &job] {
    return find_image(job.metadata);
  };
  std::optional<std::string> id = co_await cloud::retry_while_unreachable(runtime_, log_, find);
  if (id && job.progress) job.progress(job.file.size);
  if (!id) id = co_await make_by_method(job);
  co_await remove_object(job);
  co_return *std::move(id);
}

Task<std::string> AmiStore::make_by_method(Job job) {
  using Method = UploadOptions::Method;
  if (job.options.method == Method::ebs_direct) co_return co_await make_by_blocks(job);
  if (job.options.method == Method::snapshot) co_return co_await make_by_snapshot(job);
  const ImportTask task = co_await run_import(job, ImportKind::image);
  co_return task.image_id;
}

// Deletes the snapshot of a failed upload by its id: the permission to list snapshots is optional.
Task<std::string> AmiStore::make_by_blocks(Job job) {
  BlockUpload upload(runtime_, apis_.ebs, apis_.ec2, permissions_, log_, job.name, job.metadata);
  Task<std::string> making = write_and_register(job, upload);
  const std::function<Task<>()> undo_snapshot = [this, &upload] {
    return remove_or_log(upload.snapshot_id());
  };
  co_return co_await async::undo_on_failure(std::move(making), undo_snapshot);
}

Task<std::string> AmiStore::write_and_register(Job job, BlockUpload& upload) {
  std::optional<Snapshot> begun = co_await find_begun(job.metadata);
  const auto body = co_await http::file_body(threads_, job.file.path);
  Snapshot snapshot = co_await upload.run(body, std::move(begun), job.progress);
  if (job.progress) job.progress(body->size);
  co_return co_await register_image(job, std::move(snapshot));
}

Task<std::string> AmiStore::make_by_snapshot(Job job) {
  std::optional<Snapshot> begun = co_await find_begun(job.metadata);
  if (!begun || begun->state != "completed") {
    const ImportTask task = co_await run_import(job, ImportKind::snapshot);
    begun = co_await find_snapshot(task.snapshot_ids.front());
  } else if (job.progress) {
    job.progress(job.file.size);
  }
  co_return co_await register_image(job, *std::move(begun));
}

// Returns the completed task.
Task<ImportTask> AmiStore::run_import(Job job, ImportKind kind) {
  const std::optional<ImportTask> begun = co_await imports_.find(kind, job.metadata);
  std::string id;
  if (begun) {
    id = begun->id;
    log_.info("Resuming {} of {}", id, job.name);
    if (job.progress) job.progress(job.file.size);
  } else {
    const std::string key = object_key(job.name, job.file.format, job.metadata);
    const auto body = co_await http::file_body(threads_, job.file.path);
    cloud::ObjectUpload upload(runtime_, apis_.s3, threads_, permissions_, log_, key, job.metadata);
    co_await upload.run(body, job.progress);
    id = co_await imports_.begin({.kind = kind,
                                  .name = job.name,
                                  .format = job.file.format,
                                  .architecture = job.options.architecture,
                                  .bucket = apis_.s3.name(),
                                  .key = key,
                                  .retry_limit = config_.import_timeout(),
                                  .metadata = job.metadata});
    log_.info("Started {} of {}", id, job.name);
  }
  co_return co_await imports_.finish(kind, std::move(id), job.metadata);
}

// The snapshot that the upload has begun earlier, if it may be listed. Idempotency tokens keep a
// snapshot that is not found from being made twice.
Task<std::optional<Snapshot>> AmiStore::find_begun(Metadata metadata) {
  const std::function<Task<std::vector<Snapshot>>()> ask = [this] {
    return snapshots_if_permitted();
  };
  const auto snapshots = co_await cloud::retry_while_unreachable(runtime_, log_, ask);
  co_return made_for(snapshots, metadata);
}

Task<std::vector<Snapshot>> AmiStore::snapshots_if_permitted() {
  auto listed = co_await permissions_.if_permitted(apis_.ec2.own_snapshots(), kListSnapshots);
  co_return std::move(listed).value_or(std::vector<Snapshot>());
}

Task<Snapshot> AmiStore::find_snapshot(std::string id) {
  const std::function<Task<std::vector<Snapshot>>()> ask = [this] {
    return apis_.ec2.own_snapshots();
  };
  const auto snapshots = co_await cloud::retry_while_unreachable(runtime_, log_, ask);
  const auto found = std::ranges::find(snapshots, id, &Snapshot::id);
  if (found == snapshots.end()) {
    throw CloudError(CloudError::Kind::failed, "snapshot " + id + " is not listed");
  }
  co_return *found;
}

// RegisterImage has no client token. After an unknown outcome, looks for the AMI by its tags, then
// retries. The name of an AMI is unique in the account: a duplicate is refused.
Task<std::string> AmiStore::register_image(Job job, Snapshot snapshot) {
  const Query query = registration(job.options, job.name, snapshot, job.metadata);
  const std::function<Task<std::optional<std::string>>()> find = [this, &job] {
    return find_image(job.metadata);
  };
  const auto until = runtime_.clock.now() + cloud::kRetryLimit;
  bool may_exist = false;
  while (true) {
    std::optional<CloudError> failure;
    try {
      co_return co_await apis_.ec2.register_image(query);
    } catch (const CloudError& error) {
      failure = error;
    }
    may_exist = may_exist || failure->kind() == CloudError::Kind::unknown_outcome;
    const bool is_refused = !may_exist && failure->kind() != CloudError::Kind::transient;
    if (is_refused) throw CloudError(*failure);
    co_await runtime_.clock.sleep_for(cloud::kRetryPause);
    const auto made = co_await cloud::retry_while_unreachable(runtime_, log_, find);
    if (made) co_return *made;
    if (runtime_.clock.now() >= until) throw CloudError(*failure);
    log_.warning("{}, retrying", failure->what());
  }
}

Task<std::optional<std::string>> AmiStore::find_image(Metadata metadata) {
  const std::vector<Ami> images = co_await apis_.ec2.own_images();
  const std::optional<Ami> image = made_for(images, metadata);
  if (!image) co_return std::nullopt;
  co_return image->id;
}

Task<AmiStore::Inventory> AmiStore::inventory() {
  Inventory found;
  found.images = co_await apis_.ec2.own_images();
  found.snapshots = co_await snapshots_if_permitted();
  if (config_.bucket().empty()) co_return found;
  found.tasks = co_await imports_.tasks_of(config_.name());
  co_await imports_.adopt(found.tasks, found.images, found.snapshots);
  co_return found;
}

// If this fails, the object is deleted as a leak once the upload has no record.
Task<> AmiStore::remove_object(Job job) {
  if (job.options.method == UploadOptions::Method::ebs_direct) co_return;
  try {
    co_await apis_.s3.remove(object_key(job.name, job.file.format, job.metadata));
  } catch (const CloudError& error) {
    log_.error("Error deleting the object of {}: {}", job.name, error.what());
  }
}

// Finds resources by tags, as their ids may be unknown; the object also by its key, as the
// permission to list the bucket is optional.
Task<> AmiStore::remove_begun(Job job) {
  const std::vector<driver::CloudImage> all = co_await list_for_undo();
  for (const driver::CloudImage& one : all) {
    if (is_of_upload(one.metadata, job.metadata)) co_await remove_or_log(one.id);
  }
  co_await remove_object(job);
}

Task<std::vector<driver::CloudImage>> AmiStore::list_for_undo() {
  try {
    co_return co_await list();
  } catch (const CloudError& error) {
    log_.error("Error listing the resources of a failed upload: {}", error.what());
  }
  co_return std::vector<driver::CloudImage>();
}

// Deletes one resource of a failed upload, if its id is known. A refusal does not affect the
// others.
Task<> AmiStore::remove_or_log(std::string id) {
  if (id.empty()) co_return;
  Task<> removing = remove({}, id);
  try {
    co_await std::move(removing);
  } catch (const CloudError& error) {
    log_.error("Error deleting {} of a failed upload: {}", id, error.what());
  }
}

// After a failure, a snapshot without its AMI is a leak, which its tags have to show.
Task<> AmiStore::remove_image(Ami image) {
  co_await tag_snapshots(image);
  co_await apis_.ec2.deregister_image(image.id);
  for (const std::string& snapshot : image.snapshot_ids) {
    // EC2 may still count the AMI as its user. Another AMI may be one for ever.
    const std::function<Task<>()> remove = [this, &snapshot] {
      return apis_.ec2.delete_snapshot(snapshot);
    };
    co_await cloud::retry_while_unreachable(runtime_, log_, remove, kSnapshotPatience);
  }
}

// Adds the owner tags of this installation to the snapshots of an AMI without them, such as one of
// the Python Nodepool.
Task<> AmiStore::tag_snapshots(Ami image) {
  const std::string upload = driver::value_of(image.tags, driver::kUploadIdKey);
  const bool is_tagged = image.tags.contains(driver::kInstallationIdKey);
  if (is_tagged || upload.empty() || image.snapshot_ids.empty()) co_return;
  const Metadata tags{
      {std::string(driver::kInstallationIdKey), installation_->id},
      {std::string(driver::kProviderNameKey), config_.name()},
      {std::string(driver::kBuildIdKey), driver::value_of(image.tags, driver::kBuildIdKey)},
      {std::string(driver::kUploadIdKey), upload}};
  try {
    co_await apis_.ec2.create_tags(image.snapshot_ids, tags);
  } catch (const CloudError& error) {
    log_.warning("Error tagging the snapshots of {}: {}", image.id, error.what());
  }
}

Task<> AmiStore::remove(std::string name, std::string external_id) {
  if (BucketView::is_id(external_id)) {
    co_await bucket_.remove(std::move(external_id));
    co_return;
  }
  if (external_id.starts_with(kImportPrefix)) {
    co_await apis_.imports.cancel(std::move(external_id));
    co_return;
  }
  if (external_id.starts_with(kSnapshotPrefix)) {
    co_await apis_.ec2.delete_snapshot(std::move(external_id));
    co_return;
  }
  const std::vector<Ami> images = co_await apis_.ec2.own_images();
  for (const Ami& image : images) {
    const bool is_named = external_id.empty() && image.name == name &&
                          driver::value_of(image.tags, driver::kProviderNameKey) == config_.name();
    if (image.id == external_id || is_named) co_await remove_image(image);
  }
}

// Imports first: a running import would make its results again.
Task<std::vector<driver::CloudImage>> AmiStore::list() {
  const Inventory all = co_await inventory();
  std::vector<driver::CloudImage> result;
  for (const ImportTask& task : all.tasks) {
    if (!task.is_under_way()) continue;
    result.push_back({.id = task.id, .name = task.id, .metadata = task.tags});
  }
  const std::vector<driver::CloudImage> stored = co_await list_bucket();
  result.insert(result.end(), stored.begin(), stored.end());
  std::set<std::string> used;
  for (const Ami& image : all.images) {
    used.insert(image.snapshot_ids.begin(), image.snapshot_ids.end());
    result.push_back({.id = image.id, .name = image.name, .metadata = image.tags});
  }
  for (const Snapshot& snapshot : all.snapshots) {
    const bool is_upload = !driver::value_of(snapshot.tags, driver::kUploadIdKey).empty();
    if (!is_upload || used.contains(snapshot.id)) continue;
    result.push_back({.id = snapshot.id, .name = snapshot.id, .metadata = snapshot.tags});
  }
  co_return result;
}

// A failure of S3 does not affect the images in EC2.
Task<std::vector<driver::CloudImage>> AmiStore::list_bucket() {
  std::vector<driver::CloudImage> none;
  if (config_.bucket().empty()) co_return none;
  try {
    co_return co_await bucket_.list();
  } catch (const CloudError& error) {
    log_.error("Error listing bucket {}: {}", config_.bucket(), error.what());
  }
  co_return none;
}

}  // namespace nodepool::drivers::aws
