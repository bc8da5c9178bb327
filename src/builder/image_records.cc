#include "builder/image_records.h"

#include <chrono>
#include <utility>

#include "coordination/path.h"
#include "coordination/tree.h"
#include "model/image_paths.h"

namespace nodepool::builder {

namespace {

using coordination::CreateMode;
using coordination::Entry;
using coordination::Lock;
using coordination::Stat;
using coordination::StoreError;
using coordination::Transaction;
using model::ImageBuild;
using model::ImageUpload;

// Between retries of a write.
constexpr auto kRetryDelay = std::chrono::seconds(1);

constexpr std::string_view kLock = "lock";

std::string path_of(const ImageUpload& upload) {
  return model::upload_path(upload.image, upload.build_id, upload.provider, upload.id);
}

}  // namespace

// Empty data is no record: a lock was created below a record while it was removed.
Task<std::optional<Entry>> ImageRecords::read(std::string path) {
  std::optional<Entry> entry = co_await coordination::find(store_, std::move(path));
  if (entry && entry->data.empty()) entry.reset();
  co_return entry;
}

Task<std::vector<std::string>> ImageRecords::children(std::string path) {
  std::vector<std::string> names = co_await coordination::find_children(store_, std::move(path));
  std::erase(names, kLock);
  co_return names;
}

Task<std::vector<ImageBuild>> ImageRecords::builds(std::string image) {
  std::vector<ImageBuild> found;
  const std::vector<std::string> ids = co_await children(model::builds_path(image));
  for (const std::string& id : ids) {
    try {
      std::optional<ImageBuild> one = co_await build(image, id);
      if (one) found.push_back(*std::move(one));
    } catch (const model::RecordError&) {
      // The table reports it.
    }
  }
  co_return found;
}

Task<std::optional<ImageBuild>> ImageRecords::build(std::string image, std::string id) {
  const std::optional<Entry> entry = co_await read(model::build_path(image, id));
  if (!entry) co_return std::nullopt;
  try {
    co_return model::parse_image_build(image, id, *entry);
  } catch (const model::RecordError& error) {
    throw model::RecordError("the record of build " + id + " is invalid: " + error.what());
  }
}

Task<std::vector<ImageUpload>> ImageRecords::uploads(std::string image, std::string build_id,
                                                     std::string provider) {
  std::vector<ImageUpload> found;
  const std::vector<std::string> ids =
      co_await children(model::uploads_path(image, build_id, provider));
  for (const std::string& id : ids) {
    ImageUpload named;
    named.image = image;
    named.build_id = build_id;
    named.provider = provider;
    named.id = id;
    std::optional<ImageUpload> one = co_await upload(std::move(named));
    if (one) found.push_back(*std::move(one));
  }
  co_return found;
}

Task<std::optional<ImageUpload>> ImageRecords::upload(ImageUpload known) {
  const std::optional<Entry> entry = co_await read(path_of(known));
  if (!entry) co_return std::nullopt;
  try {
    co_return model::parse_image_upload(known.image, known.build_id, known.provider, known.id,
                                        *entry);
  } catch (const model::RecordError&) {
    co_return std::nullopt;  // the table reports it
  }
}

Task<ImageBuild> ImageRecords::create(ImageBuild build, const Lock& lock) {
  const std::string text = to_record(build);
  Transaction transaction;
  lock.check_in(transaction);
  transaction.create(model::build_path(build.image, build.id), text);
  const auto results = co_await store_.commit(std::move(transaction));
  build.stat = results.back().stat;
  images_.written(build, text, build.stat);
  co_return build;
}

Task<ImageUpload> ImageRecords::create(ImageUpload upload, const Lock& lock) {
  const std::string text = to_record(upload);
  Transaction transaction;
  lock.check_in(transaction);
  transaction.create(model::upload_path(upload.image, upload.build_id, upload.provider, ""), text,
                     CreateMode::persistent_sequential);
  const auto results = co_await store_.commit(std::move(transaction));
  upload.id = coordination::base_name(results.back().path);
  upload.stat = results.back().stat;
  images_.written(upload, text, upload.stat);
  co_return upload;
}

Task<> ImageRecords::prepare_uploads(std::string image, std::string build_id,
                                     std::string provider) {
  // Not ensure_path(): that would recreate a build that is being removed.
  const std::string uploads = model::uploads_path(image, build_id, provider);
  const std::string providers = model::build_providers_path(image, build_id);
  const std::string paths[] = {providers, std::string(coordination::parent_path(uploads)), uploads};
  for (const std::string& path : paths) {
    try {
      co_await store_.create(path, "", CreateMode::persistent);
    } catch (const StoreError& error) {
      if (error.kind() != StoreError::Kind::node_exists) throw;
    }
  }
}

Task<std::optional<Stat>> ImageRecords::replace(std::string path, std::string text,
                                                std::int32_t version, const Lock* lock) {
  bool uncertain = false;
  std::optional<StoreError::Kind> failed;
  while (true) {
    try {
      if (uncertain) {
        const std::optional<Entry> entry = co_await read(path);
        if (entry && entry->data == text) co_return entry->stat;
        uncertain = false;
      }
      Transaction transaction;
      if (lock != nullptr) lock->check_in(transaction);
      transaction.set(path, text, version);
      const auto results = co_await store_.commit(std::move(transaction));
      co_return results.back().stat;
    } catch (const StoreError& error) {
      if (error.is_rejection()) co_return std::nullopt;
      if (error.kind() == StoreError::Kind::closed || graceful_stop_.has_lost_store()) throw;
      uncertain = uncertain || error.kind() == StoreError::Kind::unknown_outcome;
      if (std::exchange(failed, error.kind()) != error.kind()) {
        log_.warning("Error writing {}, retrying: {}", path, error.what());
      }
    }
    co_await runtime_.clock.sleep_for(kRetryDelay);
  }
}

Task<bool> ImageRecords::write(ImageBuild build, const Lock* lock) {
  const std::string text = to_record(build);
  const auto stat =
      co_await replace(model::build_path(build.image, build.id), text, build.stat.version, lock);
  if (stat) images_.written(build, text, *stat);
  co_return stat.has_value();
}

Task<bool> ImageRecords::write(ImageUpload upload) {
  const std::string text = to_record(upload);
  const auto stat = co_await replace(path_of(upload), text, upload.stat.version, nullptr);
  if (stat) images_.written(upload, text, *stat);
  co_return stat.has_value();
}

Task<bool> ImageRecords::has_uploads(std::string image, std::string build_id) {
  const std::vector<std::string> providers =
      co_await children(model::build_providers_path(image, build_id));
  for (const std::string& provider : providers) {
    const std::vector<std::string> ids =
        co_await children(model::uploads_path(image, build_id, provider));
    for (const std::string& id : ids) {
      const std::optional<Entry> entry =
          co_await read(model::upload_path(image, build_id, provider, id));
      if (entry) co_return true;
    }
  }
  co_return false;
}

// A record that cannot be read may be of an image in a cloud.
Task<bool> ImageRecords::remove(ImageBuild build) {
  const bool is_uploaded = co_await has_uploads(build.image, build.id);
  if (is_uploaded) co_return false;
  co_await coordination::remove_tree(store_, model::build_path(build.image, build.id));
  images_.removed(build);
  co_return true;
}

Task<> ImageRecords::remove(ImageUpload upload) {
  co_await coordination::remove_tree(store_, path_of(upload));
  images_.removed(upload);
}

}  // namespace nodepool::builder
