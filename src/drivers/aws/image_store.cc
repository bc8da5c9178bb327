#include "drivers/aws/image_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <set>

#include "async/finally.h"
#include "async/task_scope.h"
#include "driver/cloud_error.h"
#include "driver/ownership.h"
#include "drivers/aws/machine_order.h"
#include "http/file_body.h"

namespace nodepool::drivers::aws {

using async::Task;
using driver::CloudError;
using driver::Metadata;

namespace {

constexpr const char* kDevice = "/dev/sda1";
constexpr std::uint64_t kGibibyte = std::uint64_t{1} << 30;
// Blocks that are under way at a time: what one upload holds in memory.
constexpr int kSenders = 10;
constexpr async::Duration kCompletionPoll = std::chrono::seconds(2);
constexpr async::Duration kCompletionLimit = std::chrono::hours(1);
constexpr std::string_view kSnapshotPrefix = "snap-";

// Of the same upload.
bool is_of(const Metadata& tags, const Metadata& upload) {
  const auto same = [&](std::string_view key) {
    const std::string value = driver::value_of(upload, key);
    return !value.empty() && driver::value_of(tags, key) == value;
  };
  return same(driver::kBuildIdKey) && same(driver::kUploadIdKey) && same(driver::kProviderNameKey);
}

}  // namespace

// One upload while its blocks are sent, by several tasks.
struct ImageStore::Sending {
  std::shared_ptr<const http::StreamedBody> body;
  std::string snapshot;
  Progress progress;
  std::uint64_t next = 0;     // the block that is sent next
  std::uint64_t written = 0;  // those that are not empty
  std::uint64_t sent = 0;     // bytes of the file
  std::exception_ptr failure;
};

Task<std::string> ImageStore::upload(driver::ProviderImage image, std::string name,
                                     driver::ImageFile file, Metadata metadata, Progress progress) {
  Task<std::string> making =
      make(std::move(image), name, std::move(file), metadata, std::move(progress));
  const auto undo = [&] { return remove_begun(metadata); };
  co_return co_await async::undo_on_failure(std::move(making), undo);
}

Task<std::string> ImageStore::make(driver::ProviderImage image, std::string name,
                                   driver::ImageFile file, Metadata metadata, Progress progress) {
  const auto sending = std::make_shared<Sending>();
  sending->body = co_await http::file_body(threads_, file.path);
  sending->progress = std::move(progress);
  const auto size = static_cast<std::int64_t>(
      std::max<std::uint64_t>(1, (sending->body->size + kGibibyte - 1) / kGibibyte));
  sending->snapshot = co_await ebs_.start(size, name, runtime_.random.uuid_hex(), metadata);
  co_await send_blocks(sending);
  if (sending->progress) sending->progress(sending->body->size);
  co_await complete(sending->snapshot, sending->written);
  co_return co_await register_image(std::move(image), std::move(name), sending->snapshot, size,
                                    std::move(metadata));
}

Task<> ImageStore::send_blocks(std::shared_ptr<Sending> sending) {
  async::TaskScope scope(runtime_, [](const std::string&, const std::string&) {});
  for (int i = 0; i < kSenders; ++i) scope.spawn("sending an image", send_some(sending));
  Task<> sending_all = scope.join();
  const auto stop = [&scope] { return scope.stop(); };
  co_await async::undo_on_failure(std::move(sending_all), stop);
  if (sending->failure) std::rethrow_exception(sending->failure);
}

// What is never written is read as zeros.
Task<> ImageStore::send_some(std::shared_ptr<Sending> sending) {
  try {
    while (!sending->failure && sending->next * Ebs::kBlock < sending->body->size) {
      const std::uint64_t index = sending->next++;
      std::string block;
      const std::uint64_t begin = index * Ebs::kBlock;
      const std::uint64_t length =
          std::min<std::uint64_t>(Ebs::kBlock, sending->body->size - begin);
      while (block.size() < length) {
        block += co_await sending->body->read(begin + block.size(), length - block.size());
      }
      const bool is_empty = block.find_first_not_of('\0') == std::string::npos;
      block.resize(Ebs::kBlock, '\0');
      if (!is_empty) co_await ebs_.put(sending->snapshot, index, std::move(block));
      sending->written += is_empty ? 0 : 1;
      sending->sent += length;
      if (sending->progress) sending->progress(sending->sent);
    }
  } catch (...) {
    if (!sending->failure) sending->failure = std::current_exception();
  }
}

Task<> ImageStore::complete(std::string snapshot, std::uint64_t blocks) {
  const auto until = runtime_.clock.now() + kCompletionLimit;
  while (true) {
    const bool is_complete = co_await ebs_.complete(snapshot, blocks);
    if (is_complete) co_return;
    if (runtime_.clock.now() >= until) {
      throw CloudError(CloudError::Kind::failed, "snapshot " + snapshot + " does not complete");
    }
    co_await runtime_.clock.sleep_for(kCompletionPoll);
  }
}

Task<std::string> ImageStore::register_image(driver::ProviderImage image, std::string name,
                                             std::string snapshot, std::int64_t size,
                                             Metadata metadata) {
  const UploadOptions& wanted = config_.upload(image.name);
  Query query;
  query.add("Name", name).add("Architecture", wanted.architecture);
  query.add("RootDeviceName", kDevice).add("VirtualizationType", "hvm");
  query.add("EnaSupport", wanted.ena_support).add_if_any("ImdsSupport", wanted.imds_support);
  const std::string device = "BlockDeviceMapping.1.";
  query.add(device + "DeviceName", kDevice).add(device + "Ebs.DeleteOnTermination", true);
  query.add(device + "Ebs.SnapshotId", snapshot).add(device + "Ebs.VolumeType", wanted.volume.type);
  query.add(device + "Ebs.VolumeSize", std::max(size, wanted.volume.size.value_or(size)));
  if (wanted.volume.iops) query.add(device + "Ebs.Iops", *wanted.volume.iops);
  if (wanted.volume.throughput) query.add(device + "Ebs.Throughput", *wanted.volume.throughput);
  add_tags(query, 1, "image", metadata);
  co_return co_await ec2_.register_image(std::move(query));
}

// Also what AWS has made without our learning its id.
Task<> ImageStore::remove_begun(Metadata metadata) {
  try {
    const std::vector<Ami> images = co_await ec2_.own_images();
    for (const Ami& image : images) {
      if (is_of(image.tags, metadata)) co_await remove_image(image);
    }
    const std::vector<Snapshot> snapshots = co_await ec2_.own_snapshots();
    for (const Snapshot& snapshot : snapshots) {
      if (is_of(snapshot.tags, metadata)) co_await ec2_.delete_snapshot(snapshot.id);
    }
  } catch (const CloudError& error) {
    log_.error("What a failed upload has begun cannot be deleted: {}", error.what());
  }
}

Task<> ImageStore::remove_image(Ami image) {
  co_await ec2_.deregister_image(image.id);
  for (const std::string& snapshot : image.snapshot_ids) co_await ec2_.delete_snapshot(snapshot);
}

Task<> ImageStore::remove(std::string name, std::string external_id) {
  if (external_id.starts_with(kSnapshotPrefix)) {
    co_await ec2_.delete_snapshot(std::move(external_id));
    co_return;
  }
  const std::vector<Ami> images = co_await ec2_.own_images();
  for (const Ami& image : images) {
    const bool is_named = external_id.empty() && image.name == name &&
                          driver::value_of(image.tags, driver::kProviderNameKey) == config_.name();
    if (image.id == external_id || is_named) co_await remove_image(image);
  }
}

Task<std::vector<driver::CloudImage>> ImageStore::list() {
  std::vector<driver::CloudImage> result;
  std::set<std::string> used;
  const std::vector<Ami> images = co_await ec2_.own_images();
  for (const Ami& image : images) {
    used.insert(image.snapshot_ids.begin(), image.snapshot_ids.end());
    result.push_back({.id = image.id, .name = image.name, .metadata = image.tags});
  }
  const std::vector<Snapshot> snapshots = co_await ec2_.own_snapshots();
  for (const Snapshot& snapshot : snapshots) {
    const bool is_upload = !driver::value_of(snapshot.tags, driver::kUploadIdKey).empty();
    if (!is_upload || used.contains(snapshot.id)) continue;
    result.push_back({.id = snapshot.id, .name = snapshot.id, .metadata = snapshot.tags});
  }
  co_return result;
}

}  // namespace nodepool::drivers::aws
