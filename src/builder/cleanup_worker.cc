#include "builder/cleanup_worker.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <utility>

#include "async/deadline.h"
#include "coordination/lock.h"
#include "coordination/with_lock.h"
#include "model/image_paths.h"
#include "telemetry/log_errors.h"

namespace nodepool::builder {

namespace {

using coordination::Lock;
using coordination::StoreError;
using model::BuildState;
using model::ImageBuild;
using model::ImageUpload;
using model::UploadState;

constexpr auto kMinCleanupRetryDelay = std::chrono::seconds(5);
constexpr auto kMaxCleanupRetryDelay = std::chrono::minutes(10);

// Maximum number of concurrent deletions in clouds.
constexpr int kMaxDeletions = 4;

// After this time a deletion is cancelled and retried later, so that it does not delay the others.
constexpr auto kMaxDeletionTime = std::chrono::minutes(10);

// Files whose record is missing stay for this time: the records of a whole store may be deleted,
// one after another.
constexpr auto kRecordPatience = std::chrono::minutes(1);

// The lock of a record is held by another process. Retried later, because that process may die.
class Contended : public std::runtime_error {
 public:
  explicit Contended(const Lock& lock) : std::runtime_error(lock.root() + " is locked") {}
};

Task<> try_locked(Lock& lock, Task<> work) {
  try {
    if (!co_await lock.try_acquire()) throw Contended(lock);
    co_await std::move(work);
  } catch (const StoreError& error) {
    if (error.kind() != StoreError::Kind::no_node) throw;
  }
}

// Runs `work` with `lock` held. Does nothing if the locked record no longer exists. Throws
// Contended, StoreError, and the exceptions of `work`.
Task<> run_locked(Lock& lock, Task<> work) {
  Task<> trying = try_locked(lock, std::move(work));
  co_await coordination::with_lock(lock, std::move(trying));
}

// Runs several tasks in sequence, also after failures, and keeps the first exception.
class FirstFailure {
 public:
  Task<> attempt(Task<> work) {
    try {
      co_await std::move(work);
    } catch (...) {
      if (!failure_) failure_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::exception_ptr failure_;
};

template <typename Record>
std::vector<Record> copies(const std::vector<const Record*>& records) {
  std::vector<Record> copied;
  copied.reserve(records.size());
  for (const Record* record : records) copied.push_back(*record);
  return copied;
}

}  // namespace

CleanupWorker::CleanupWorker(const BuilderContext& context)
    : context_(context),
      log_(context.log.child("CleanupWorker")),
      image_retries_(kMinCleanupRetryDelay, kMaxCleanupRetryDelay),
      upload_retries_(kMinCleanupRetryDelay, kMaxCleanupRetryDelay),
      images_(context.runtime.clock,
              [this](const std::string& image) -> std::optional<async::Clock::TimePoint> {
                if (!context_.images.ready()) return std::nullopt;
                return image_retries_.not_before(image).value_or(context_.runtime.clock.now());
              }),
      removals_(context.runtime.clock,
                [this](const UploadKey& key) {
                  return upload_retries_.not_before(key).value_or(context_.runtime.clock.now());
                }),
      in_use_(context.nodes, [this](const std::string& image) { enqueue_image(image); }),
      scope_(context.runtime, telemetry::log_errors(log_)) {}

void CleanupWorker::start() {
  scope_.spawn("CleanupWorker", clean_images());
  for (int i = 0; i < kMaxDeletions; ++i) scope_.spawn("deletion of uploads", remove_uploads());
}

Task<> CleanupWorker::stop() {
  images_.close();
  removals_.close();
  co_await scope_.stop();
}

void CleanupWorker::enqueue_image(const std::string& image) {
  images_.enqueue(image);
}

void CleanupWorker::enqueue_all() {
  for (const std::string& image : context_.images.images()) images_.enqueue(image);
  for (const auto& [key, formats] : context_.local.contents()) images_.enqueue(key.first);
}

CleanupWorker::UploadKey CleanupWorker::key_of(const ImageUpload& upload) {
  return {upload.image, upload.build_id, upload.provider, upload.id};
}

CleanupPlan CleanupWorker::plan(const std::string& image) const {
  CleanupInput input{.configured = context_.settings.diskimages.contains(image),
                     .builds = context_.images.builds_of(image),
                     .uploads = context_.images.uploads_of(image),
                     .being_built = context_.images.is_being_built(image),
                     .now = context_.settled.now()};
  // Includes the work of this builder even if its locks were lost with a session.
  for (const auto& [built, id] : context_.in_progress.builds) {
    if (built == image) input.being_built = true;
  }
  for (const auto& [name, managed] : context_.settings.managed_images) {
    if (!context_.providers.contains(name)) continue;
    input.providers[name] = managed.images.contains(image);
    if (context_.providers.at(name)->images()->resumes_uploads()) input.resuming.insert(name);
  }
  for (const ImageBuild* build : input.builds) {
    const std::set<std::string>* formats = context_.local.formats_of(image, build->id);
    const bool has_files = formats != nullptr && !formats->empty();
    if (build->builder_id == context_.local.builder_id() && !has_files)
      input.lost.insert(build->id);
    if (!context_.local.has_files_of(*build)) input.of_others.insert(build->id);
  }
  for (const ImageUpload* upload : input.uploads) {
    const bool is_locked =
        context_.images.is_being_uploaded(image, upload->build_id, upload->provider);
    const WorkInProgress::UploadTarget target(image, upload->build_id, upload->provider);
    if (is_locked || context_.in_progress.uploads.contains(target)) {
      input.being_uploaded.emplace(upload->build_id, upload->provider);
    }
    if (in_use_.contains(*upload)) input.in_use.insert(upload);
  }
  return plan_cleanup(input);
}

// --- records and files

Task<> CleanupWorker::clean_images() {
  while (true) {
    const std::optional<std::string> image = co_await images_.take();
    if (!image) co_return;
    bool again = false;
    std::string failure;
    try {
      co_await clean_image(*image);
    } catch (const async::Cancelled&) {
      throw;
    } catch (const Contended&) {
      again = true;
    } catch (const std::exception& error) {
      failure = error.what();
      again = true;
    }
    if (!failure.empty())
      log_.warning("Cleaning up image {} failed, retrying: {}", *image, failure);
    if (again) {
      image_retries_.failed(*image, context_.runtime.clock.now());
      images_.requeue(*image);
    } else {
      image_retries_.forget(*image);
      images_.release(*image);
    }
  }
}

bool CleanupWorker::has_own_build() const {
  return std::ranges::any_of(context_.images.images(), [this](const std::string& image) {
    return std::ranges::any_of(context_.images.builds_of(image), [this](const ImageBuild* build) {
      return build->state == BuildState::ready && context_.local.has_files_of(*build);
    });
  });
}

Task<> CleanupWorker::clean_image(std::string image) {
  for (const ImageBuild* build : context_.images.builds_of(image)) {
    const ImageStore::Key key(image, build->id);
    if (is_sequence_number(build->id)) numbered_builds_.insert(key);
    missing_since_.erase(key);
    if (build->state == BuildState::deleting) {
      condemned_.insert(key);
    } else {
      condemned_.erase(key);
    }
  }
  const bool was_trusted = std::exchange(is_store_trusted_, has_own_build());
  if (is_store_trusted_ && !was_trusted) {
    are_files_kept_ = false;
    missing_since_.clear();  // records that are restored may return one after another, too
    enqueue_all();
  }
  FirstFailure failure;
  co_await failure.attempt(clean_records(image));
  co_await failure.attempt(clean_files(image));
  failure.rethrow();
}

Task<> CleanupWorker::clean_records(std::string image) {
  const CleanupPlan plan = this->plan(image);
  // Copies, because the table changes meanwhile.
  const auto abandoned = copies(plan.abandoned);
  const auto unwanted = copies(plan.unwanted);
  const auto unwanted_builds = copies(plan.unwanted_builds);
  const auto gone = copies(plan.gone);
  for (const ImageUpload* upload : plan.to_remove) removals_.enqueue(key_of(*upload));
  if (plan.next && timed_.insert(image).second) {
    scope_.spawn("clean-up at a time", enqueue_later(image, *plan.next));
  }
  FirstFailure failure;
  for (const auto& upload : abandoned) co_await failure.attempt(remove_abandoned(upload));
  for (const auto& upload : unwanted) co_await failure.attempt(mark_deleting(upload));
  for (const auto& build : unwanted_builds) co_await failure.attempt(mark_deleting(build));
  for (const auto& build : gone) co_await failure.attempt(remove_record(build));
  failure.rethrow();
}

Task<> CleanupWorker::enqueue_later(std::string image, double when) {
  co_await context_.runtime.clock.sleep_until(context_.monotonic(when));
  timed_.erase(image);
  enqueue_image(image);
}

Task<> CleanupWorker::remove_record(ImageBuild build) {
  condemned_.emplace(build.image, build.id);
  const bool removed = co_await context_.records.remove(build);
  if (!removed) co_return;
  log_.info("Removed the record of build {} of image {}", build.id, build.image);
}

Task<> CleanupWorker::remove_abandoned(ImageUpload upload) {
  Lock lock(context_.store, context_.runtime.random,
            model::uploads_lock_path(upload.image, upload.build_id, upload.provider));
  co_await run_locked(lock, remove_if_uploading(upload));
}

Task<> CleanupWorker::remove_if_uploading(ImageUpload upload) {
  const auto now_known = co_await context_.records.upload(upload);
  if (!now_known || now_known->state != UploadState::uploading) co_return;
  co_await context_.records.remove(*now_known);
  log_.info("Removed upload {} of build {} of image {} to {}: abandoned by its builder", upload.id,
            upload.build_id, upload.image, upload.provider);
}

Task<> CleanupWorker::mark_deleting(ImageUpload upload) {
  Lock lock(context_.store, context_.runtime.random,
            model::upload_lock_path(upload.image, upload.build_id, upload.provider, upload.id));
  co_await run_locked(lock, write_deleting(upload));
}

Task<> CleanupWorker::write_deleting(ImageUpload upload) {
  upload.set_state(UploadState::deleting, context_.now());
  if (!co_await context_.records.write(upload)) co_return;
  log_.info("Deleting upload {} of build {} of image {} to {}", upload.id, upload.build_id,
            upload.image, upload.provider);
}

Task<> CleanupWorker::mark_deleting(ImageBuild build) {
  const bool may_be_built = build.state == BuildState::building &&
                            !is_superseded(context_.images.builds_of(build.image), build);
  if (!may_be_built) {
    co_await mark_not_building(std::move(build));
    co_return;
  }
  // Only this lock proves that no builder works on it.
  Lock building(context_.store, context_.runtime.random, model::builds_lock_path(build.image));
  co_await run_locked(building, mark_not_building(build));
}

Task<> CleanupWorker::mark_not_building(ImageBuild build) {
  Lock lock(context_.store, context_.runtime.random, model::build_lock_path(build.image, build.id));
  co_await run_locked(lock, write_deleting(build));
}

Task<> CleanupWorker::write_deleting(ImageBuild build) {
  build.set_state(BuildState::deleting, context_.now());
  if (!co_await context_.records.write(build)) co_return;
  log_.info("Deleting build {} of image {}", build.id, build.image);
}

bool CleanupWorker::are_unrecorded_for_good(const ImageStore::Key& key) {
  if (condemned_.contains(key)) return true;
  const auto& [image, build_id] = key;
  const async::Clock::TimePoint now = context_.runtime.clock.now();
  const auto [missing, is_new] = missing_since_.try_emplace(key, now);
  if (is_new) scope_.spawn("clean-up of unrecorded files", enqueue_unrecorded(image));
  // Evaluated again, because the store may have been emptied since.
  if (is_store_trusted_ && has_own_build()) return now - missing->second >= kRecordPatience;
  if (std::exchange(are_files_kept_, true)) return false;
  log_.warning(
      "Keeping files without a record, such as those of build {} of image {}: the store has no "
      "build of this images-dir, so it may not be the one in which these were recorded. They are "
      "deleted a minute after a build made here is ready",
      build_id, image);
  return false;
}

Task<> CleanupWorker::enqueue_unrecorded(std::string image) {
  co_await context_.runtime.clock.sleep_for(kRecordPatience);
  enqueue_image(image);
}

Task<> CleanupWorker::clean_files(std::string image) {
  co_await context_.local.scan();
  const ImageStore::Contents local = context_.local.contents();
  const auto is_gone = [&](const ImageStore::Key& key) {
    return key.first == image && !local.contains(key);
  };
  std::erase_if(condemned_, is_gone);
  std::erase_if(missing_since_, [&](const auto& entry) { return is_gone(entry.first); });
  std::set<std::string> unneeded;  // ids of builds
  for (const ImageBuild* build : plan(image).unneeded_files) unneeded.insert(build->id);
  FirstFailure failure;
  for (const auto& [key, formats] : local) {
    if (key.first != image) continue;
    co_await failure.attempt(clean_files_of(key, formats, unneeded.contains(key.second)));
  }
  failure.rethrow();
}

Task<> CleanupWorker::clean_files_of(ImageStore::Key key, std::set<std::string> formats,
                                     bool are_unneeded) {
  if (context_.in_progress.builds.contains(key) || !context_.images.ready()) co_return;
  const auto& [image, build_id] = key;
  if (context_.images.is_unreadable_build(image, build_id)) co_return;
  const auto configured = context_.settings.diskimages.find(image);
  const ImageBuild* build = context_.images.find_build(image, build_id);
  const bool are_of_build = !is_sequence_number(build_id) || numbered_builds_.contains(key);
  if (build == nullptr && !are_of_build) co_return;
  if (build == nullptr && !are_unrecorded_for_good(key)) co_return;
  if (build == nullptr || build->state == BuildState::deleting || are_unneeded) {
    log_.info("Deleting the files of build {} of image {}", build_id, image);
    const auto remove_files = [store = context_.local.files(), key] {
      store.remove(key.first, key.second);
    };
    co_await context_.threads.run("files of a build", remove_files);
    co_await context_.local.scan();
    co_return;
  }
  const std::set<std::string> unneeded_formats = formats_to_delete(
      configured == context_.settings.diskimages.end() ? nullptr : &configured->second, build,
      formats, consumers(image, build_id));
  for (const std::string& format : unneeded_formats) {
    log_.info("Deleting the {} file of build {} of image {}: it is uploaded", format, build_id,
              image);
    const auto remove_file = [store = context_.local.files(), key, format] {
      store.remove_format(key.first, key.second, format);
    };
    co_await context_.threads.run("file of a build", remove_file);
  }
  if (!unneeded_formats.empty()) co_await context_.local.scan();
}

std::vector<Consumer> CleanupWorker::consumers(const std::string& image,
                                               const std::string& build_id) const {
  std::vector<Consumer> found;
  for (const auto& [name, managed] : context_.settings.managed_images) {
    if (!managed.images.contains(image)) continue;
    const Uploads uploads = context_.images.uploads_of(image, build_id, name);
    const bool ready = std::ranges::any_of(
        uploads, [](const ImageUpload* upload) { return upload->state == UploadState::ready; });
    found.push_back({.format = managed.format, .has_upload = ready});
  }
  return found;
}

// --- uploads in the clouds

Task<> CleanupWorker::remove_uploads() {
  while (true) {
    const std::optional<UploadKey> key = co_await removals_.take();
    if (!key) co_return;
    bool again = false;
    std::string failure;
    try {
      co_await remove_upload(*key);
    } catch (const async::Cancelled&) {
      throw;
    } catch (const Contended&) {
      again = true;  // another builder is deleting it
    } catch (const std::exception& error) {
      failure = error.what();
      again = true;
    }
    if (!again) {
      upload_retries_.forget(*key);
      removals_.release(*key);
      continue;
    }
    const async::Duration pause = upload_retries_.failed(*key, context_.runtime.clock.now());
    const auto& [image, build_id, provider, id] = *key;
    if (!failure.empty()) {
      log_.error("Deleting upload {} of build {} of image {} from {} failed: {}; retrying in {} s",
                 id, build_id, image, provider, failure,
                 std::chrono::duration_cast<std::chrono::seconds>(pause).count());
    }
    removals_.requeue(*key);
  }
}

Task<> CleanupWorker::remove_upload(UploadKey key) {
  const auto& [image, build_id, provider, id] = key;
  const ImageUpload* known = context_.images.find_upload(image, build_id, provider, id);
  if (known == nullptr) co_return;
  const ImageUpload upload = *known;
  // Held throughout, so that only one builder calls the cloud.
  Lock lock(context_.store, context_.runtime.random,
            model::upload_lock_path(image, build_id, provider, id));
  co_await run_locked(lock, remove_locked(upload, lock));
}

Task<> CleanupWorker::remove_locked(ImageUpload upload, Lock& lock) {
  const auto now_known = co_await context_.records.upload(upload);
  if (!now_known || now_known->state != UploadState::deleting) co_return;
  upload = *now_known;
  if (!upload.external_id.is_null()) {
    const auto found = context_.providers.find(upload.provider);
    if (found == context_.providers.end()) co_return;
    const std::shared_ptr<driver::Provider> provider = found->second;
    const std::string text = upload.external_id.string_value();
    Task<> removing = provider->images()->remove(upload.external_name.value_or(""),
                                                 text.empty() ? upload.external_id.text : text);
    Task<> limited = async::with_deadline(context_.runtime.clock,
                                          context_.runtime.clock.now() + kMaxDeletionTime,
                                          std::move(removing), "deletion of an image");
    co_await std::move(limited);
  }
  co_await context_.records.remove(upload);
  lock.released();
  log_.info("Deleted upload {} of build {} of image {} from {}", upload.id, upload.build_id,
            upload.image, upload.provider);
}

}  // namespace nodepool::builder
