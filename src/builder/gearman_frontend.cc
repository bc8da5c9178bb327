#include "builder/gearman_frontend.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <utility>

#include "builder/conversion.h"
#include "builder/gearman_payload.h"
#include "telemetry/log_errors.h"

namespace nodepool::builder {

namespace {

using gearman::Complete;
using gearman::Failed;
using gearman::Job;
using gearman::JobResult;
using model::BuildState;
using model::ImageBuild;
using model::ImageUpload;
using model::UploadState;

constexpr std::string_view kBuild = "image-build:";
constexpr std::string_view kUpload = "image-upload:";
constexpr std::string_view kDelete = "image-delete:";

constexpr std::size_t kUuidDigits = 32;

// How long the functions of a deleted build are still offered.
constexpr auto kDrainTime = std::chrono::minutes(1);

// Denominators of WORK_STATUS: steps (waiting 0, in progress 1, done 2), or percent of an upload.
constexpr std::uint32_t kSteps = 2;
constexpr std::uint32_t kPercent = 100;

std::string text_of(const model::Json& external_id) {
  const std::string text = external_id.string_value();
  return text.empty() ? external_id.text : text;
}

Job::Status status_of(const ImageJob& image_job) {
  if (image_job.state != ImageJob::State::begun) return {.done = 0, .all = kSteps};
  if (!image_job.percent_sent) return {.done = 1, .all = kSteps};
  return {.done = static_cast<std::uint32_t>(*image_job.percent_sent), .all = kPercent};
}

// Reports the status to the client and waits for the next change. Throws Cancelled also if the
// image job is withdrawn: then the Gearman job is returned to the server.
Task<> next_step(const std::shared_ptr<ImageJob>& image_job, Job& job) {
  if (image_job->state == ImageJob::State::withdrawn) throw async::Cancelled();
  job.status(status_of(*image_job));
  co_await image_job->changed.wait();
}

}  // namespace

std::string requested_build_id(std::string_view payload) {
  const std::string given = parameter(payload, {"image-id", "image_id", "id"});
  std::string digits;
  for (const char character : given) {
    if (character == '-') continue;
    digits += static_cast<char>(std::tolower(static_cast<unsigned char>(character)));
  }
  const bool is_uuid = digits.size() == kUuidDigits &&
                       digits.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!given.empty() && !is_uuid) {
    throw std::runtime_error("the image id must be a UUID, not '" + given + "'");
  }
  return digits;
}

std::string requested_provider(std::string_view payload) {
  std::string name = parameter(payload, {"provider"});
  if (name.empty()) throw std::runtime_error("the payload has no provider");
  return name;
}

GearmanFrontend::GearmanFrontend(const BuilderContext& context, BuildSchedule& builds,
                                 UploadSchedule& uploads, CleanupWorker& cleanup, Options options)
    : context_(context),
      builds_(builds),
      uploads_(uploads),
      cleanup_(cleanup),
      options_(options),
      workers_(context.runtime, context.log.child("gearman"),
               [this](std::shared_ptr<Job> job) { return do_job(std::move(job)); },
               {.jobs = {{std::string(kBuild), options_.build_workers},
                         {std::string(kUpload), options_.upload_workers},
                         {std::string(kDelete), 1}}}),
      scope_(context.runtime, telemetry::log_errors(context.log)) {}

void GearmanFrontend::serve(std::vector<gearman::Server> servers) {
  if (closed_) return;
  workers_.serve(std::move(servers));
  refresh();
}

void GearmanFrontend::refresh() {
  // Without complete records, the previous functions are kept.
  if (closed_ || !context_.images.ready()) return;
  workers_.offer(workers_.empty() ? gearman::Connection::Functions() : with_draining(functions()));
  builds_.jobs().wake();
  uploads_.jobs().wake();
}

gearman::Connection::Functions GearmanFrontend::functions() const {
  gearman::Connection::Functions functions;
  for (const auto& [name, image] : context_.settings.diskimages) {
    const bool built_here =
        !image.pause && !context_.settings.wanted_formats.find(name)->second.empty();
    if (built_here && options_.build_workers > 0) functions.insert(std::string(kBuild) + name);
  }
  for (const auto& [key, formats] : context_.local.contents()) {
    const ImageBuild* build = find(key.second);
    if (build == nullptr || build->state != BuildState::ready || formats.empty()) continue;
    if (options_.upload_workers > 0) functions.insert(std::string(kUpload) + build->id);
    functions.insert(std::string(kDelete) + build->id);
  }
  return functions;
}

// A server keeps jobs of functions without a worker forever. Functions of deleted builds are
// offered for a while, so that their jobs are completed.
gearman::Connection::Functions GearmanFrontend::with_draining(
    gearman::Connection::Functions present) {
  const async::Clock::TimePoint now = context_.runtime.clock.now();
  bool has_new = false;
  for (const std::string& name : std::exchange(present_, present)) {
    if (present.contains(name) || name.starts_with(kBuild)) continue;
    draining_.try_emplace(name, now + kDrainTime);
    has_new = true;
  }
  if (has_new) scope_.spawn("functions of deleted builds", drain());
  std::erase_if(draining_, [&](const auto& entry) {
    return entry.second <= now || present.contains(entry.first);
  });
  for (const auto& [name, until] : draining_) present.insert(name);
  return present;
}

Task<> GearmanFrontend::drain() {
  co_await context_.runtime.clock.sleep_for(kDrainTime);
  refresh();
}

// A build with files on this host. Not one with a sequence number: these are counted per image.
const ImageBuild* GearmanFrontend::find(const std::string& build_id) const {
  if (is_sequence_number(build_id)) return nullptr;
  for (const auto& [key, formats] : context_.local.contents()) {
    if (key.second != build_id) continue;
    for (const ImageBuild* build : context_.images.builds_of(key.first)) {
      if (build->id == build_id && context_.local.has_files_of(*build)) return build;
    }
  }
  return nullptr;
}

void GearmanFrontend::close() {
  closed_ = true;
  workers_.offer({});
}

Task<> GearmanFrontend::finish() {
  close();
  co_await scope_.stop();
  co_await workers_.finish();
}

Task<> GearmanFrontend::stop() {
  closed_ = true;
  co_await scope_.stop();
  co_await workers_.stop();
}

Task<JobResult> GearmanFrontend::do_job(std::shared_ptr<Job> job) {
  const std::string& function = job->function();
  if (function.starts_with(kBuild)) {
    co_return co_await build(job, function.substr(kBuild.size()));
  }
  if (function.starts_with(kUpload)) {
    co_return co_await upload(job, function.substr(kUpload.size()));
  }
  co_return co_await remove(function.substr(kDelete.size()));
}

// --- builds

std::string GearmanFrontend::obstacle_to_build(const std::string& image) const {
  const auto configured = context_.settings.diskimages.find(image);
  if (configured == context_.settings.diskimages.end())
    return "image " + image + " is not configured";
  if (configured->second.pause || context_.images.is_paused(image)) {
    return "image " + image + " is paused";
  }
  if (context_.settings.wanted_formats.find(image)->second.empty()) {
    return "image " + image + " is not built: no format is required";
  }
  return {};
}

Task<JobResult> GearmanFrontend::build(std::shared_ptr<Job> job, std::string image) {
  std::string id = requested_build_id(job->payload());
  if (id.empty()) id = context_.runtime.random.uuid_hex();
  for (const ImageBuild* known : context_.images.builds_of(image)) {
    if (known->id != id) continue;
    // After a lost connection the server sends the same job again.
    if (known->state == BuildState::ready) co_return Complete{id};
    if (!context_.in_progress.builds.contains({image, id})) {
      co_return Failed{fmt::format("build {} of image {} already exists", id, image)};
    }
  }
  const std::shared_ptr<ImageJob> image_job = builds_.jobs().submit(image, id);
  builds_.images().enqueue(image);
  while (!image_job->ended()) {
    if (image_job->state == ImageJob::State::waiting) {
      const std::string obstacle = obstacle_to_build(image);
      if (!obstacle.empty()) {
        builds_.jobs().withdraw(image, *image_job);
        co_return Failed{obstacle};
      }
    }
    co_await next_step(image_job, *job);
  }
  if (image_job->state == ImageJob::State::withdrawn) throw async::Cancelled();
  if (image_job->state == ImageJob::State::failed) {
    co_return Failed{fmt::format("build {} of image {}: {}", id, image, image_job->problem)};
  }
  job->status({.done = kSteps, .all = kSteps});
  co_return Complete{id};
}

// --- uploads

const ImageUpload* GearmanFrontend::ready_upload(const UploadPair& pair,
                                                 const std::string& build_id) const {
  for (const ImageUpload* upload : context_.images.uploads_of(pair.second, build_id, pair.first)) {
    if (upload->state == UploadState::ready) return upload;
  }
  return nullptr;
}

std::string GearmanFrontend::obstacle_to_upload(const UploadPair& pair,
                                                const std::string& build_id) const {
  const auto& [name, image] = pair;
  if (!context_.providers.contains(name)) {
    return "provider " + name + " not found, or without image support";
  }
  const driver::ProviderImage* listed = context_.settings.listed_image(name, image);
  if (listed == nullptr) return "provider " + name + " does not list image " + image;
  if (listed->pause) return "image " + image + " is paused in provider " + name;
  const std::set<std::string>* local = context_.local.formats_of(image, build_id);
  const ImageBuild* known = find(build_id);
  if (known == nullptr || known->state != BuildState::ready || local == nullptr) {
    return "image " + build_id + " not found on this builder";
  }
  const std::string& format = context_.settings.managed_images.find(name)->second.format;
  if (!is_obtainable(*local, format)) {
    return fmt::format(
        "image {} has no {} file, which provider {} requires, and none can be converted from: {}",
        build_id, format, name, fmt::join(*local, ", "));
  }
  return {};
}

Task<JobResult> GearmanFrontend::upload(std::shared_ptr<Job> job, std::string build_id) {
  const ImageBuild* known = find(build_id);
  if (known == nullptr) co_return Failed{"image " + build_id + " not found on this builder"};
  const UploadPair pair(requested_provider(job->payload()), known->image);
  const std::shared_ptr<ImageJob> image_job = uploads_.jobs().submit(pair, build_id);
  uploads_.pairs().enqueue(pair);
  while (true) {
    // It may be an upload that the builder has made without a request.
    if (const ImageUpload* ready = ready_upload(pair, build_id)) {
      uploads_.jobs().withdraw(pair, *image_job);
      job->status({.done = kSteps, .all = kSteps});
      co_return Complete{text_of(ready->external_id)};
    }
    if (image_job->state == ImageJob::State::failed) {
      co_return Failed{
          fmt::format("upload of image {} to {}: {}", build_id, pair.first, image_job->problem)};
    }
    const std::string obstacle = obstacle_to_upload(pair, build_id);
    if (image_job->state == ImageJob::State::waiting && !obstacle.empty()) {
      uploads_.jobs().withdraw(pair, *image_job);
      co_return Failed{obstacle};
    }
    if (image_job->state == ImageJob::State::succeeded) co_return Failed{"the upload was deleted"};
    co_await next_step(image_job, *job);
  }
}

// --- deletions

Task<JobResult> GearmanFrontend::remove(std::string build_id) {
  co_await context_.local.scan();
  const auto is_of_build = [&build_id](const auto& files) {
    return files.first.second == build_id;
  };
  // The deletion is repeated: this builder offered it because it had the files.
  if (std::ranges::none_of(context_.local.contents(), is_of_build)) co_return Complete{};
  const ImageBuild* known = find(build_id);
  if (known == nullptr) co_return Failed{"image " + build_id + " not found on this builder"};
  const ImageBuild build = *known;
  bool is_uploaded = false;
  for (const ImageUpload* upload : context_.images.uploads_of(build.image, build_id)) {
    if (upload->state == UploadState::uploading) {
      co_return Failed{fmt::format("image {} is being uploaded to {}", build_id, upload->provider)};
    }
    is_uploaded = is_uploaded || upload->state == UploadState::ready;
  }
  const auto remove_files = [store = context_.local.files(), build] {
    store.remove(build.image, build.id);
  };
  co_await context_.threads.run("files of a build", remove_files);
  co_await context_.local.scan();
  context_.log.info("Deleted the files of build {} of image {}", build_id, build.image);
  // A build without files and uploads is useless.
  if (!is_uploaded && build.state != BuildState::deleting) co_await cleanup_.mark_deleting(build);
  refresh();
  co_return Complete{};
}

}  // namespace nodepool::builder
