#include "builder/upload_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <stdexcept>

#include "async/deadline.h"
#include "builder/builder_metrics.h"
#include "builder/program_run.h"
#include "builder/sending_progress.h"
#include "coordination/with_lock.h"
#include "model/image_paths.h"
#include "model/node.h"
#include "telemetry/log_errors.h"

namespace nodepool::builder {

namespace {

using coordination::Lock;
using coordination::StoreError;
using model::BuildState;
using model::ImageBuild;
using model::ImageUpload;
using model::UploadState;

// Time between SIGTERM and SIGKILL when a post-upload hook is cancelled.
constexpr auto kHookGrace = std::chrono::seconds(30);

// Timeout of deleting an image, so that a stopping builder ends. After that, it is deleted with its
// record, or as a leak if its id is not known.
constexpr auto kDeletionTimeout = std::chrono::minutes(1);

void replace(std::string& text, std::string_view token, const std::string& value) {
  for (std::size_t at = text.find(token); at != std::string::npos;
       at = text.find(token, at + value.size())) {
    text.replace(at, token.size(), value);
  }
}

// The metadata that identify an upload in a cloud.
driver::Metadata ownership(const ImageUpload& upload) {
  return {{std::string(driver::kBuildIdKey), upload.build_id},
          {std::string(driver::kUploadIdKey), upload.id},
          {std::string(driver::kProviderNameKey), upload.provider}};
}

// The name of the image in the cloud. A resumed upload gets the same name.
std::string cloud_name(std::string name, const ImageUpload& upload) {
  replace(name, "{image_name}", upload.image);
  replace(name, "{upload_id}", upload.id);
  replace(name, "{timestamp}", std::to_string(static_cast<std::int64_t>(upload.state_time)));
  return name;
}

}  // namespace

UploadWorker::UploadWorker(const BuilderContext& context, UploadSchedule& schedule,
                           FormatProvider& formats, const Environment& environment,
                           std::size_t max_concurrent)
    : context_(context),
      schedule_(schedule),
      formats_(formats),
      environment_(environment),
      log_(context.log.child("UploadWorker")),
      validator_(context, environment, log_),
      slots_(max_concurrent),
      scope_(context.runtime, telemetry::log_errors(log_)) {}

void UploadWorker::start() {
  scope_.spawn("UploadWorker", run());
}

Task<> UploadWorker::finish() {
  co_await scope_.join();
}

Task<> UploadWorker::stop() {
  co_await scope_.stop();
}

Task<> UploadWorker::run() {
  while (true) {
    UploadSlot slot = co_await slots_.take();
    const std::optional<UploadPair> pair = co_await schedule_.pairs().take();
    if (!pair) co_return;
    scope_.spawn(fmt::format("upload of image {} to {}", pair->second, pair->first),
                 handle(*pair, std::move(slot)));
  }
}

Task<> UploadWorker::handle(UploadPair pair, UploadSlot slot) {
  std::string failure;
  try {
    co_await process(pair, slot);
    schedule_.store_failures().succeeded(pair);
  } catch (const async::Cancelled&) {
    schedule_.pairs().requeue(pair);
    throw;
  } catch (const StoreError& error) {
    if (schedule_.store_failures().failed(pair, error.kind())) {
      log_.error("Uploading image {} to {} is delayed by the store: {}", pair.second, pair.first,
                 error.what());
    }
  } catch (const std::exception& error) {
    failure = error.what();
  }
  if (!failure.empty()) {
    schedule_.pairs().contended(pair);
    log_.error("Uploading image {} to {} failed: {}", pair.second, pair.first, failure);
  }
  schedule_.pairs().requeue(pair);
}

Task<> UploadWorker::process(UploadPair pair, UploadSlot& slot) {
  const auto [provider, image] = pair;
  const ImageBuild* next = schedule_.next_build(pair);
  if (next == nullptr) co_return;
  const ImageBuild build = *next;
  bool is_deleted = false;
  try {
    co_await context_.records.prepare_uploads(image, build.id, provider);
  } catch (const StoreError& error) {
    is_deleted = error.kind() == StoreError::Kind::no_node;
    if (!is_deleted) throw;
  }
  if (is_deleted) {
    schedule_.pairs().contended(pair);
    co_return;
  }
  Lock lock(context_.store, context_.runtime.random,
            model::uploads_lock_path(image, build.id, provider));
  if (!co_await lock.try_acquire()) {
    schedule_.pairs().contended(pair);
    co_return;
  }
  Task<> uploading = upload_locked(pair, build, lock, slot);
  co_await coordination::with_lock(lock, std::move(uploading));
}

Task<> UploadWorker::upload_locked(UploadPair pair, ImageBuild build, Lock& lock,
                                   UploadSlot& slot) {
  const auto [name, image] = pair;
  // Another builder may have uploaded it before this one got the lock.
  const auto known = co_await context_.records.build(image, build.id);
  const std::vector<ImageUpload> uploads = co_await context_.records.uploads(image, build.id, name);
  const bool uploaded = std::ranges::any_of(
      uploads, [](const ImageUpload& upload) { return upload.state == UploadState::ready; });
  const auto provider = context_.providers.find(name);
  const bool wanted = provider != context_.providers.end() &&
                      context_.settings.listed_image(name, image) != nullptr;
  if (!known || known->state != BuildState::ready || uploaded || !wanted) {
    schedule_.pairs().contended(pair);
    co_return;
  }
  const driver::ManagedImages& managed = context_.settings.managed_images.at(name);
  Job job{.upload = {},
          .external_id = {},
          .provider = provider->second,
          .image = managed.images.at(image),
          .hook = managed.post_upload_hook};
  const std::string format = managed.format;
  const std::string name_format = managed.name_format;
  const bool resumes = job.provider->images()->resumes_uploads();
  const WorkInProgress::UploadTarget target(image, build.id, name);
  context_.in_progress.uploads.insert(target);
  try {
    std::optional<ImageUpload> resumed;
    if (resumes) resumed = co_await resume(uploads);
    job.upload =
        resumed ? *resumed : co_await context_.records.create(new_upload(build, name), lock);
    job.upload.format = format;
    job.upload.external_name = cloud_name(name_format, job.upload);
    schedule_.jobs().begin(pair, build.id);
    co_await perform(std::move(job), slot);
  } catch (...) {
    context_.in_progress.uploads.erase(target);
    // Otherwise a job that has begun is continued by the retry.
    if (context_.graceful_stop.has_begun()) {
      schedule_.jobs().end(pair, build.id, "the builder is stopping");
    }
    throw;
  }
  context_.in_progress.uploads.erase(target);
  schedule_.jobs().end(pair, build.id, "its record was deleted");  // no effect if it has ended
}

// Uploads of an image start in different seconds: their names in the cloud may differ only by it,
// and several providers may share an account.
ImageUpload UploadWorker::new_upload(const ImageBuild& build, const std::string& provider) {
  double& newest = newest_start_[build.image];
  newest = std::max(context_.now(), newest + 1);
  ImageUpload upload;
  upload.image = build.image;
  upload.build_id = build.id;
  upload.provider = provider;
  upload.set_state(UploadState::uploading, newest);
  upload.username = build.username;
  upload.python_path = build.python_path;
  upload.shell_type = build.shell_type;
  return upload;
}

// Takes over the upload of a dead builder. Increments the version of the record: if that builder is
// alive and has only lost its lock, it can no longer write the record.
Task<std::optional<ImageUpload>> UploadWorker::resume(std::vector<ImageUpload> uploads) {
  Uploads known;
  for (const ImageUpload& upload : uploads) known.push_back(&upload);
  const ImageUpload* found = interrupted_upload(known);
  if (found == nullptr) co_return std::nullopt;
  const ImageUpload upload = *found;
  if (!co_await context_.records.write(upload)) co_return std::nullopt;
  co_return co_await context_.records.upload(upload);
}

Task<> UploadWorker::perform(Job job, UploadSlot& slot) {
  ImageUpload& upload = job.upload;
  const UploadPair pair(upload.provider, upload.image);
  log_.info("Uploading build {} of image {} to {} as {}", upload.build_id, upload.image,
            upload.provider, *upload.external_name);
  const async::Clock::TimePoint began = context_.runtime.clock.now();
  driver::ImageSupport& images = *job.provider->images();
  std::exception_ptr cancelled;
  std::string failure;
  bool is_interrupted = false;
  try {
    co_await send(images, job, slot);
  } catch (const async::Cancelled&) {
    cancelled = std::current_exception();
  } catch (const ValidationInterrupted& error) {
    is_interrupted = true;
    failure = error.what();
  } catch (const std::exception& error) {
    failure = error.what();
  }
  if (is_interrupted && images.resumes_uploads()) {
    log_.info("The upload of build {} of image {} to {} stays `uploading`, to be resumed: {}",
              upload.build_id, upload.image, upload.provider, failure);
    schedule_.jobs().end(pair, upload.build_id, failure);
    co_return;
  }
  if (cancelled || !failure.empty()) {
    // The driver has deleted an incomplete upload, unless it was cancelled.
    if (cancelled || !job.external_id.empty()) co_await undo(images, job);
    co_await record_failure(upload, cancelled ? "the builder was stopped" : failure);
    context_.metrics.count(
        telemetry::series<kUploadResults>(upload.image, upload.provider, kFailed));
    if (cancelled) std::rethrow_exception(cancelled);
    const async::Duration pause = schedule_.failed(pair, upload.build_id);
    log_.error("Uploading build {} of image {} to {} failed: {}; retrying in {} s", upload.build_id,
               upload.image, upload.provider, failure,
               std::chrono::duration_cast<std::chrono::seconds>(pause).count());
    schedule_.jobs().end(pair, upload.build_id, failure);
    co_return;
  }
  upload.external_id = model::json_string(job.external_id);
  upload.set_state(UploadState::ready, context_.now());
  // The version check suffices; the lock need not be held any more.
  if (!co_await context_.records.write(upload)) {
    log_.error("The record of the upload of build {} of image {} to {} was deleted: deleting {}",
               upload.build_id, upload.image, upload.provider, job.external_id);
    co_await undo(images, job);
    co_return;
  }
  schedule_.succeeded(pair);
  schedule_.jobs().end(pair, upload.build_id, "");
  context_.metrics.count(telemetry::series<kUploadResults>(upload.image, upload.provider, kDone));
  context_.metrics.time(telemetry::series<kImageUploads>(upload.image, upload.provider),
                        context_.runtime.clock.now() - began);
  log_.info("Build {} of image {} is ready in {} as {}", upload.build_id, upload.image,
            upload.provider, job.external_id);
}

// Writes a failed record, with the reason only. If the cloud still has the image, also with its id
// and name: then the image is deleted before the record.
Task<> UploadWorker::record_failure(ImageUpload upload, std::string failure) {
  if (upload.external_id.is_null()) upload.external_name.reset();
  upload.format.reset();
  upload.username.reset();
  upload.python_path.reset();
  upload.shell_type.reset();
  upload.fail(failure, context_.now());
  co_await context_.records.write(std::move(upload));
}

Task<> UploadWorker::send(driver::ImageSupport& images, Job& job, UploadSlot& slot) {
  const ImageUpload upload = job.upload;
  co_await formats_.provide(upload.image, upload.build_id, *upload.format);
  const auto find_file = [store = context_.local.files(), upload] {
    return store.file(upload.image, upload.build_id, *upload.format);
  };
  const driver::ImageFile file = co_await context_.threads.run("checksums of an image", find_file);
  const auto progress =
      [this, upload,
       sending = SendingProgress(context_.runtime.clock, file.size)](std::uint64_t bytes) mutable {
        sending.sent(bytes);
        schedule_.jobs().set_percent({upload.provider, upload.image}, upload.build_id,
                                     sending.percent());
        if (!sending.take_line()) return;
        log_.info("Uploaded {} % of build {} of image {} to {}", sending.percent(), upload.build_id,
                  upload.image, upload.provider);
      };
  Task<std::string> uploading =
      images.upload(job.image, *upload.external_name, file, metadata(job), progress);
  job.external_id = co_await std::move(uploading);
  slot.reset();  // for the next upload
  co_await validate(job, file.path);
}

Task<> UploadWorker::validate(const Job& job, std::string path) {
  if (!job.hook.empty()) co_await run_hook(job, std::move(path));
  if (!job.image.validation) co_return;
  Task<> validating = validator_.validate({job.upload, job.external_id});
  co_await std::move(validating);
}

// The metadata of the image, of the provider, and of the upload. Later values override earlier
// ones.
driver::Metadata UploadWorker::metadata(const Job& job) const {
  driver::Metadata metadata;
  const auto image = context_.settings.diskimages.find(job.upload.image);
  if (image != context_.settings.diskimages.end() && image->second.metadata.is_mapping()) {
    for (const auto& entry : image->second.metadata.as_mapping()) {
      metadata[entry.key] = config::text_or_json(entry.value);
    }
  }
  for (const auto& [key, value] : job.image.meta) metadata[key] = value;
  for (auto& [key, value] : ownership(job.upload)) metadata[key] = value;
  metadata[std::string(driver::kInstallationIdKey)] = context_.installation->id;
  return metadata;
}

Task<> UploadWorker::run_hook(const Job& job, std::string path) {
  const auto open_log = [settings = context_.settings.logs, upload = job.upload] {
    return open_or_discard(settings.below("hooks"), upload.image, upload.build_id);
  };
  const auto log = co_await context_.threads.run("log of a hook", open_log);
  if (!log->problem().empty()) log_.warning("The log of a post-upload-hook: {}", log->problem());
  async::Subprocess::Command command;
  command.arguments = {job.hook, job.upload.provider, job.external_id, path};
  command.environment = lines_of(environment_);
  command.spares_background = true;  // as with the Python Nodepool
  Task<ProgramEnd> running = run_program(context_.runtime, context_.threads, std::move(command),
                                         log->file(), std::nullopt, kHookGrace);
  const ProgramEnd end = co_await std::move(running);
  if (end.exit_code != 0) {
    throw std::runtime_error(
        fmt::format("post-upload-hook {} failed: exit code {}; its output is in {}", job.hook,
                    end.exit_code, log->path().string()));
  }
  log_.info("post-upload-hook {} succeeded; its output is in {}", job.hook, log->path().string());
}

// Deletes the image in the cloud. After an error its id, if known, is in the upload, to be deleted
// with its record. A separate task, because a cancelled task cannot wait.
Task<> UploadWorker::undo(driver::ImageSupport& images, Job& job) {
  std::string failure;
  async::TaskScope scope(
      context_.runtime,
      [&failure](const std::string&, const std::string& error) { failure = error; });
  Task<> removing =
      async::with_deadline(context_.runtime.clock, context_.runtime.clock.now() + kDeletionTimeout,
                           remove_from_cloud(images, job), "deletion of an image");
  scope.spawn("deletion of an image", std::move(removing));
  co_await scope.join();
  if (failure.empty()) co_return;
  if (!job.external_id.empty()) job.upload.external_id = model::json_string(job.external_id);
  log_.warning("Deleting image {} of {} failed, leaving it to {}: {}",
               job.external_id.empty() ? *job.upload.external_name : job.external_id,
               job.upload.provider,
               job.external_id.empty() ? "the leak detection"
                                       : "the clean-up of its record, if that still exists",
               failure);
}

// Without an id the cloud may have an image or not. Then it is found by its metadata.
Task<> UploadWorker::remove_from_cloud(driver::ImageSupport& images, const Job& job) {
  const ImageUpload& upload = job.upload;
  if (!job.external_id.empty()) {
    co_await images.remove(*upload.external_name, job.external_id);
    co_return;
  }
  const driver::Metadata own = ownership(upload);
  const std::vector<driver::CloudImage> found = co_await images.list();
  for (const driver::CloudImage& image : found) {
    const bool is_own = std::ranges::all_of(own, [&image](const auto& entry) {
      const auto value = image.metadata.find(entry.first);
      return value != image.metadata.end() && value->second == entry.second;
    });
    if (is_own) co_await images.remove(image.name, image.id);
  }
}

}  // namespace nodepool::builder
