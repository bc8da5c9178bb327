#include "drivers/aws/images/image_import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "driver/cloud_error.h"
#include "driver/ownership.h"
#include "drivers/aws/images/patience.h"
#include "drivers/aws/images/upload_identity.h"

namespace nodepool::drivers::aws {

using async::Task;
using driver::CloudError;
using driver::Metadata;

namespace {

// An import takes minutes; the Python Nodepool looks each half minute.
constexpr async::Duration kPoll = std::chrono::seconds(10);
// After that a task that was made is shown, or gone.
constexpr async::Duration kSettlingTime = std::chrono::minutes(1);

Query query_of(const ImportRequest& order) {
  const bool is_image = order.kind == ImportKind::image;
  Query query;
  query.add("Description", order.name);
  if (is_image) query.add("Architecture", order.architecture);
  const std::string container = is_image ? "DiskContainer.1." : "DiskContainer.";
  query.add(container + "Format", order.format);
  query.add(container + "UserBucket.S3Bucket", order.bucket);
  query.add(container + "UserBucket.S3Key", order.key);
  query.add("ClientToken",
            upload_token(order.metadata, is_image ? "ImportImage" : "ImportSnapshot"));
  add_tags(query, 1, is_image ? "import-image-task" : "import-snapshot-task", order.metadata);
  return query;
}

// What AWS' VM Import calls the snapshots of an image that it makes.
std::string description_by(const ImportTask& task) {
  return "Created by AWS-VMImport service for " + task.id;
}

// What an import makes has no tags. Others are those of whoever has taken it over, or copied it.
bool has_foreign_tags(const Metadata& tags, const ImportTask& task) {
  return !std::ranges::all_of(tags, [&task](const auto& tag) {
    const auto own = task.tags.find(tag.first);
    return own != task.tags.end() && own->second == tag.second;
  });
}

bool has_marks(const Metadata& tags) {
  return !driver::value_of(tags, driver::kUploadIdKey).empty();
}

// A copy may have the name: it counts only where the task itself names nothing.
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
  const std::vector<ImportTask> tasks = co_await imports_.tasks(kind);
  for (const ImportTask& task : tasks) {
    const bool is_alive = task.is_complete() || task.is_under_way();
    if (is_alive && is_of_upload(task.tags, metadata)) co_return task;
  }
  co_return std::nullopt;
}

// The token lets the call be made once more where the answer is lost.
Task<std::string> ImageImport::begin(ImportRequest order) {
  const Query query = query_of(order);
  const auto until = runtime_.clock.now() + order.patience;
  const std::function<Task<std::string>()> call = [this, &order, &query] {
    return imports_.begin(order.kind, query);
  };
  while (true) {
    try {
      co_return co_await retry_while_unreachable(runtime_, log_, call);
    } catch (const CloudError& error) {
      if (error.kind() != CloudError::Kind::quota || runtime_.clock.now() >= until) throw;
      log_.info("{}; it is tried again", error.what());
    }
    co_await runtime_.clock.sleep_for(kPoll);
  }
}

Task<std::optional<ImportTask>> ImageImport::look(ImportKind kind, std::string id) {
  const std::function<Task<std::optional<ImportTask>>()> ask = [this, kind, &id] {
    return imports_.task(kind, id);
  };
  co_return co_await retry_while_unreachable(runtime_, log_, ask);
}

// AWS sees to it that a task ends.
Task<ImportTask> ImageImport::finish(ImportKind kind, std::string id, Metadata metadata) {
  auto last_seen = runtime_.clock.now();
  while (true) {
    const std::optional<ImportTask> task = co_await look(kind, id);
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
      throw CloudError(CloudError::Kind::failed, id + " has vanished");
    }
    co_await runtime_.clock.sleep_for(kPoll);
  }
}

Task<> ImageImport::put_tags(ImportTask task, Metadata metadata) {
  const bool is_image = task.kind == ImportKind::image;
  if (is_image ? task.image_id.empty() : task.snapshot_ids.empty()) {
    throw CloudError(CloudError::Kind::failed, task.id + " has completed, and has made nothing");
  }
  std::vector<std::string> made = task.snapshot_ids;
  if (is_image) made.push_back(task.image_id);
  const std::function<Task<>()> tag = [this, &made, &metadata] {
    return ec2_.create_tags(made, metadata);
  };
  co_await retry_while_unreachable(runtime_, log_, tag);
}

Task<std::vector<ImportTask>> ImageImport::tasks_of(std::string provider) {
  std::vector<ImportTask> tasks = co_await imports_.tasks(ImportKind::snapshot);
  const std::vector<ImportTask> images = co_await imports_.tasks(ImportKind::image);
  tasks.insert(tasks.end(), images.begin(), images.end());
  std::erase_if(tasks, [&](const ImportTask& task) {
    return !has_marks(task.tags) ||
           driver::value_of(task.tags, driver::kProviderNameKey) != provider;
  });
  co_return tasks;
}

// What a task makes while it is under way goes with it if it fails.
Task<> ImageImport::adopt(std::vector<ImportTask> tasks, std::vector<Ami>& images,
                          std::vector<Snapshot>& snapshots) {
  for (const ImportTask& task : tasks) {
    if (!task.is_under_way()) co_await adopt_by(task, images, snapshots);
  }
}

// What has marks was marked by whoever waited for it.
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
  log_.info("What {} has made gets its tags: {}", task.id, fmt::join(ids, ", "));
  co_await ec2_.create_tags(std::move(ids), task.tags);
}

}  // namespace nodepool::drivers::aws
