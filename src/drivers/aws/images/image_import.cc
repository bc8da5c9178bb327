#include "drivers/aws/images/image_import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cloud/patience.h"
#include "driver/cloud_error.h"
#include "driver/ownership.h"
#include "drivers/aws/images/upload_identity.h"

namespace nodepool::drivers::aws {

using async::Task;
using driver::CloudError;
using driver::Metadata;

namespace {

// An import takes minutes; the Python Nodepool polls every 30 seconds.
constexpr async::Duration kPoll = std::chrono::seconds(10);
// How long lists may omit a new task.
constexpr async::Duration kSettlingTime = std::chrono::minutes(1);

constexpr cloud::OptionalPermission kTagResults{
    .name = "ec2:CreateTags",
    .consequence =
        "imported snapshots and AMIs get no tags: after a crash, they may not be recognized as "
        "leaks, and a policy that depends on tags does not permit deleting them"};
constexpr cloud::OptionalPermission kListImageTasks{
    .name = "ec2:DescribeImportImageTasks", .consequence = "leaked imports of AMIs are not found"};
constexpr cloud::OptionalPermission kListSnapshotTasks{
    .name = "ec2:DescribeImportSnapshotTasks",
    .consequence = "leaked imports of snapshots are not found"};

Query query_of(const ImportRequest& request) {
  const bool is_image = request.kind == ImportKind::image;
  Query query;
  query.add("Description", request.name);
  if (is_image) query.add("Architecture", request.architecture);
  const std::string container = is_image ? "DiskContainer.1." : "DiskContainer.";
  query.add(container + "Format", request.format);
  query.add(container + "UserBucket.S3Bucket", request.bucket);
  query.add(container + "UserBucket.S3Key", request.key);
  query.add("ClientToken",
            upload_token(request.metadata, is_image ? "ImportImage" : "ImportSnapshot"));
  add_tags(query, 1, is_image ? "import-image-task" : "import-snapshot-task", request.metadata);
  return query;
}

// The description that AWS VM Import gives to the snapshots of an image.
std::string description_by(const ImportTask& task) {
  return "Created by AWS-VMImport service for " + task.id;
}

// Whether it has no tags of others: an import makes untagged resources.
bool has_foreign_tags(const Metadata& tags, const ImportTask& task) {
  return !std::ranges::all_of(tags, [&task](const auto& tag) {
    const auto own = task.tags.find(tag.first);
    return own != task.tags.end() && own->second == tag.second;
  });
}

bool has_marks(const Metadata& tags) {
  return !driver::value_of(tags, driver::kUploadIdKey).empty();
}

// Compares the name only if the task names no id: a copy may have the same name.
bool is_made_by(const ImportTask& task, const Ami& image) {
  if (!task.image_id.empty()) return image.id == task.image_id;
  return task.kind == ImportKind::image && image.name == task.id;
}

// A copy may have the description: the same holds.
bool is_made_by(const ImportTask& task, const Snapshot& snapshot) {
  if (!task.snapshot_ids.empty()) {
    return std::ranges::find(task.snapshot_ids, snapshot.id) != task.snapshot_ids.end();
  }
  return task.kind == ImportKind::image && snapshot.description == description_by(task);
}

}  // namespace

Task<std::optional<ImportTask>> ImageImport::find(ImportKind kind, Metadata metadata) {
  const std::function<Task<std::vector<ImportTask>>()> ask = [this, kind] {
    return imports_.tasks(kind);
  };
  const auto tasks = co_await cloud::retry_while_unreachable(runtime_, log_, ask);
  for (const ImportTask& task : tasks) {
    const bool is_alive = task.is_complete() || task.is_under_way();
    if (is_alive && is_of_upload(task.tags, metadata)) co_return task;
  }
  co_return std::nullopt;
}

// The idempotency token makes the call safe to retry.
Task<std::string> ImageImport::begin(ImportRequest request) {
  const Query query = query_of(request);
  const auto until = runtime_.clock.now() + request.retry_limit;
  const std::function<Task<std::string>()> call = [this, &request, &query] {
    return imports_.begin(request.kind, query);
  };
  while (true) {
    try {
      co_return co_await cloud::retry_while_unreachable(runtime_, log_, call);
    } catch (const CloudError& error) {
      if (error.kind() != CloudError::Kind::quota || runtime_.clock.now() >= until) throw;
      log_.info("{}, retrying", error.what());
    }
    co_await runtime_.clock.sleep_for(kPoll);
  }
}

Task<std::optional<ImportTask>> ImageImport::poll(ImportKind kind, std::string id) {
  const std::function<Task<std::optional<ImportTask>>()> ask = [this, kind, &id] {
    return imports_.task(kind, id);
  };
  co_return co_await cloud::retry_while_unreachable(runtime_, log_, ask);
}

// Without a timeout: AWS ends every task.
Task<ImportTask> ImageImport::finish(ImportKind kind, std::string id, Metadata metadata) {
  auto last_seen = runtime_.clock.now();
  while (true) {
    const std::optional<ImportTask> task = co_await poll(kind, id);
    if (task && task->is_complete()) {
      co_await put_tags(*task, std::move(metadata));
      co_return *task;
    }
    if (task && !task->is_under_way()) {
      throw CloudError(CloudError::Kind::failed,
                       fmt::format("{} has failed: {}", id, task->message));
    }
    if (task) last_seen = runtime_.clock.now();
    if (runtime_.clock.now() - last_seen > kSettlingTime) {
      throw CloudError(CloudError::Kind::failed, id + " has disappeared");
    }
    co_await runtime_.clock.sleep_for(kPoll);
  }
}

Task<> ImageImport::put_tags(ImportTask task, Metadata metadata) {
  const bool is_image = task.kind == ImportKind::image;
  if (is_image ? task.image_id.empty() : task.snapshot_ids.empty()) {
    throw CloudError(CloudError::Kind::failed, task.id + " has completed without a result");
  }
  std::vector<std::string> made = task.snapshot_ids;
  if (is_image) made.push_back(task.image_id);
  const std::function<Task<>()> tag = [this, &made, &metadata] {
    return ec2_.create_tags(made, metadata);
  };
  co_await permissions_.if_permitted(cloud::retry_while_unreachable(runtime_, log_, tag),
                                     kTagResults);
}

Task<std::vector<ImportTask>> ImageImport::tasks_if_permitted(ImportKind kind) {
  const auto& permission = kind == ImportKind::image ? kListImageTasks : kListSnapshotTasks;
  auto listed = co_await permissions_.if_permitted(imports_.tasks(kind), permission);
  co_return std::move(listed).value_or(std::vector<ImportTask>());
}

Task<std::vector<ImportTask>> ImageImport::tasks_of(std::string provider) {
  std::vector<ImportTask> tasks = co_await tasks_if_permitted(ImportKind::snapshot);
  const std::vector<ImportTask> images = co_await tasks_if_permitted(ImportKind::image);
  tasks.insert(tasks.end(), images.begin(), images.end());
  std::erase_if(tasks, [&](const ImportTask& task) {
    return !has_marks(task.tags) ||
           driver::value_of(task.tags, driver::kProviderNameKey) != provider;
  });
  co_return tasks;
}

// Skips running tasks: AWS deletes their results if they fail.
Task<> ImageImport::adopt(std::vector<ImportTask> tasks, std::vector<Ami>& images,
                          std::vector<Snapshot>& snapshots) {
  for (const ImportTask& task : tasks) {
    if (!task.is_under_way()) co_await adopt_by(task, images, snapshots);
  }
}

// Results with owner tags were tagged by finish().
Task<> ImageImport::adopt_by(ImportTask task, std::vector<Ami>& images,
                             std::vector<Snapshot>& snapshots) {
  std::vector<std::string> ids;
  for (Ami& image : images) {
    if (!is_made_by(task, image) || has_foreign_tags(image.tags, task)) continue;
    task.snapshot_ids.insert(task.snapshot_ids.end(), image.snapshot_ids.begin(),
                             image.snapshot_ids.end());
    if (has_marks(image.tags)) continue;
    ids.push_back(image.id);
    image.tags.insert(task.tags.begin(), task.tags.end());
  }
  for (Snapshot& snapshot : snapshots) {
    if (!is_made_by(task, snapshot) || has_marks(snapshot.tags)) continue;
    if (has_foreign_tags(snapshot.tags, task)) continue;
    ids.push_back(snapshot.id);
    snapshot.tags.insert(task.tags.begin(), task.tags.end());
  }
  if (ids.empty()) co_return;
  const bool is_tagged =
      co_await permissions_.if_permitted(ec2_.create_tags(ids, task.tags), kTagResults);
  if (is_tagged) log_.info("Tagged the results of {}: {}", task.id, fmt::join(ids, ", "));
}

}  // namespace nodepool::drivers::aws
