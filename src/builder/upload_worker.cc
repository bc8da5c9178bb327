#include "builder/upload_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <stdexcept>

#include "builder/program_run.h"
#include "builder/sending_progress.h"
#include "model/image_paths.h"
#include "model/node.h"

namespace nodepool::builder {

namespace {

using coordination::Lock;
using coordination::StoreError;
using model::BuildState;
using model::ImageBuild;
using model::ImageUpload;
using model::UploadState;

// A post-upload-hook that takes longer hangs.
constexpr auto kHookTimeout = std::chrono::hours(1);
constexpr auto kHookGrace = std::chrono::seconds(30);

void replace(std::string& text, std::string_view token, const std::string& value) {
  for (std::size_t at = text.find(token); at != std::string::npos;
       at = text.find(token, at + value.size())) {
    text.replace(at, token.size(), value);
  }
}

std::string cloud_name(std::string name, const ImageUpload& upload, double now) {
  replace(name, "{image_name}", upload.image);
  replace(name, "{upload_id}", upload.id);
  replace(name, "{timestamp}", std::to_string(static_cast<std::int64_t>(now)));
  return name;
}

}  // namespace

UploadWorker::UploadWorker(BuilderContext& context, UploadAgenda& agenda, FormatSupply& formats,
                           const Environment& environment)
    : context_(context),
      agenda_(agenda),
      formats_(formats),
      environment_(environment),
      log_(context.log.child("UploadWorker")),
      validator_(context, environment, log_) {}

Task<> UploadWorker::run() {
  while (true) {
    const std::optional<UploadPair> pair = co_await agenda_.pairs().take();
    if (!pair) co_return;
    std::exception_ptr cancelled;
    std::string failure;
    try {
      co_await look_after(*pair);
    } catch (const async::Cancelled&) {
      cancelled = std::current_exception();
    } catch (const std::exception& error) {
      failure = error.what();
    }
    if (!failure.empty()) {
      agenda_.contended(*pair);
      log_.error("Uploading image {} to {}: {}", pair->second, pair->first, failure);
    }
    agenda_.pairs().put_back(*pair);
    if (cancelled) std::rethrow_exception(cancelled);
  }
}

Task<> UploadWorker::look_after(UploadPair pair) {
  const auto [provider, image] = pair;
  const ImageBuild* next = agenda_.next_build(pair);
  if (next == nullptr) co_return;
  const ImageBuild build = *next;
  bool gone = false;
  try {
    co_await context_.records.prepare_uploads(image, build.id, provider);
  } catch (const StoreError& error) {
    gone = error.kind() == StoreError::Kind::no_node;
    if (!gone) throw;
  }
  if (gone) {
    agenda_.contended(pair);
    co_return;
  }
  Lock lock(context_.store, context_.runtime.random,
            model::uploads_lock_path(image, build.id, provider));
  if (!co_await lock.try_acquire()) {
    agenda_.contended(pair);
    co_return;
  }
  std::exception_ptr failure;
  try {
    co_await upload_locked(pair, build, lock);
  } catch (...) {
    failure = std::current_exception();
  }
  co_await lock.release();
  if (failure) std::rethrow_exception(failure);
}

Task<> UploadWorker::upload_locked(UploadPair pair, ImageBuild build, Lock& lock) {
  const auto [name, image] = pair;
  // With the lock held nobody else uploads it, but somebody may just have done so.
  const auto known = co_await context_.records.build(image, build.id);
  const std::vector<ImageUpload> uploads = co_await context_.records.uploads(image, build.id, name);
  const bool uploaded = std::ranges::any_of(
      uploads, [](const ImageUpload& upload) { return upload.state == UploadState::ready; });
  const auto provider = context_.providers.find(name);
  const bool wanted =
      provider != context_.providers.end() && provider->second->managed.images.contains(image);
  if (!known || known->state != BuildState::ready || uploaded || !wanted) {
    agenda_.contended(pair);
    co_return;
  }
  const driver::ManagedImages& managed = provider->second->managed;
  Job job{.upload = {},
          .provider = provider->second,
          .image = managed.images.at(image),
          .hook = managed.post_upload_hook};
  const std::string format = managed.format;
  const std::string name_format = managed.name_format;
  job.upload.image = image;
  job.upload.build_id = build.id;
  job.upload.provider = name;
  job.upload.set_state(UploadState::uploading, context_.now());
  job.upload.username = build.username;
  job.upload.python_path = build.python_path;
  job.upload.shell_type = build.shell_type;
  const UploadPlace place(image, build.id, name);
  context_.uploads_under_way.insert(place);
  std::exception_ptr failure;
  try {
    job.upload = co_await context_.records.create(job.upload, lock);
    job.upload.format = format;
    job.upload.external_name = cloud_name(name_format, job.upload, context_.now());
    agenda_.orders().begin(pair, build.id);
    co_await perform(std::move(job));
  } catch (...) {
    failure = std::current_exception();
  }
  context_.uploads_under_way.erase(place);
  if (failure) std::rethrow_exception(failure);
  agenda_.orders().end(pair, build.id, "its record is gone");  // unless it has ended otherwise
}

Task<> UploadWorker::perform(Job job) {
  ImageUpload& upload = job.upload;
  const UploadPair pair(upload.provider, upload.image);
  log_.info("Uploading build {} of image {} to {} as {}", upload.build_id, upload.image,
            upload.provider, *upload.external_name);
  const async::Clock::TimePoint began = context_.runtime.clock.now();
  std::exception_ptr cancelled;
  std::string failure;
  std::string external_id;
  try {
    external_id = co_await send(job);
  } catch (const async::Cancelled&) {
    cancelled = std::current_exception();
  } catch (const std::exception& error) {
    failure = error.what();
  }
  if (cancelled || !failure.empty()) {
    co_await give_up(upload, cancelled ? "the builder was stopped" : failure);
    if (cancelled) std::rethrow_exception(cancelled);
    const async::Duration pause = agenda_.failed(pair, upload.build_id);
    log_.error("The upload of build {} of image {} to {} has failed: {}; next attempt in {} s",
               upload.build_id, upload.image, upload.provider, failure,
               std::chrono::duration_cast<std::chrono::seconds>(pause).count());
    agenda_.orders().end(pair, upload.build_id, failure);
    co_return;
  }
  upload.external_id = model::json_string(external_id);
  upload.set_state(UploadState::ready, context_.now());
  // Whether the lock is still held does not matter: the version says that nobody has written.
  if (!co_await context_.records.write(upload)) {
    log_.error("The record of the upload of build {} of image {} to {} is gone: deleting {} again",
               upload.build_id, upload.image, upload.provider, external_id);
    ProviderCall call(job.provider);
    co_await remove_again(call, upload, external_id);
    co_return;
  }
  agenda_.succeeded(pair);
  agenda_.orders().end(pair, upload.build_id, "");
  context_.metrics.time_and_count("nodepool.image_update." + upload.image + "." + upload.provider,
                                  context_.runtime.clock.now() - began);
  log_.info("Build {} of image {} is ready in {} as {}", upload.build_id, upload.image,
            upload.provider, external_id);
}

// The record of a failure says nothing but that, and why.
Task<> UploadWorker::give_up(ImageUpload upload, std::string failure) {
  upload.external_name.reset();
  upload.format.reset();
  upload.username.reset();
  upload.python_path.reset();
  upload.shell_type.reset();
  upload.fail(failure, context_.now());
  co_await context_.records.write(std::move(upload));
}

Task<std::string> UploadWorker::send(const Job& job) {
  const ImageUpload upload = job.upload;
  ProviderCall call(job.provider);
  co_await formats_.provide(upload.image, upload.build_id, *upload.format);
  const auto find_file = [store = context_.files, upload] {
    return store.file(upload.image, upload.build_id, *upload.format);
  };
  const driver::ImageFile file = co_await context_.threads.run("checksums of an image", find_file);
  const auto progress = [this, upload,
                         sending = SendingProgress(context_.runtime.clock, file.size)](
                            std::uint64_t bytes) mutable {
    sending.sent(bytes);
    agenda_.orders().sending({upload.provider, upload.image}, upload.build_id, sending.percent());
    if (!sending.take_line()) return;
    log_.info("{} % of build {} of image {} have been sent to {}", sending.percent(),
              upload.build_id, upload.image, upload.provider);
  };
  Task<std::string> uploading =
      call.images().upload(job.image, *upload.external_name, file, metadata(job), progress);
  std::string external_id = co_await std::move(uploading);
  std::exception_ptr failure;
  try {
    co_await try_out(job, external_id, file.path);
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure) {
    co_await remove_again(call, upload, external_id);
    std::rethrow_exception(failure);
  }
  co_return external_id;
}

Task<> UploadWorker::try_out(const Job& job, std::string external_id, std::string path) {
  if (!job.hook.empty()) co_await run_hook(job, external_id, std::move(path));
  if (!job.image.validation) co_return;
  Task<> validating = validator_.validate(
      {job.upload, std::move(external_id), job.provider, *job.image.validation});
  co_await std::move(validating);
}

// What the operator wants on every image, on the provider's, and whose it is: the later one counts.
driver::Metadata UploadWorker::metadata(const Job& job) const {
  driver::Metadata metadata;
  const auto image = context_.diskimages.find(job.upload.image);
  if (image != context_.diskimages.end() && image->second.metadata.is_mapping()) {
    for (const auto& entry : image->second.metadata.as_mapping()) {
      metadata[entry.key] = entry.value.text();
    }
  }
  for (const auto& [key, value] : job.image.meta) metadata[key] = value;
  metadata["nodepool_build_id"] = job.upload.build_id;
  metadata["nodepool_upload_id"] = job.upload.id;
  metadata["nodepool_provider_name"] = job.upload.provider;
  return metadata;
}

Task<> UploadWorker::run_hook(const Job& job, std::string external_id, std::string path) {
  const BuildLog log(
      {.directory = context_.logs.directory / "hooks", .retention = context_.logs.retention},
      job.upload.image, job.upload.build_id);
  async::Subprocess::Command command;
  command.arguments = {job.hook, job.upload.provider, external_id, path};
  command.environment = lines_of(environment_);
  command.output = log.descriptor();
  Task<ProgramEnd> running =
      run_program(context_.runtime, std::move(command), kHookTimeout, kHookGrace);
  const ProgramEnd end = co_await std::move(running);
  if (end.exit_code != 0) {
    throw std::runtime_error(fmt::format("post-upload-hook {}: {}; its output is in {}", job.hook,
                                         end.timed_out ? std::string("it took too long")
                                                       : fmt::format("exit code {}", end.exit_code),
                                         log.path().string()));
  }
  log_.info("The post-upload-hook {} has ended well; its output is in {}", job.hook,
            log.path().string());
}

// What nobody has a record of would stay in the cloud until somebody looks for leaks.
Task<> UploadWorker::remove_again(ProviderCall& call, ImageUpload upload, std::string external_id) {
  try {
    Task<> removing = call.images().remove(*upload.external_name, external_id);
    co_await std::move(removing);
  } catch (const async::Cancelled&) {
    throw;
  } catch (const std::exception& error) {
    log_.warning("Image {} of {} could not be deleted, it is left to the search for leaks: {}",
                 external_id, upload.provider, error.what());
  }
}

}  // namespace nodepool::builder
