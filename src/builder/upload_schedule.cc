#include "builder/upload_schedule.h"

#include <algorithm>
#include <chrono>

namespace nodepool::builder {

namespace {

using model::ImageBuild;

constexpr auto kMinUploadRetryDelay = std::chrono::seconds(10);
constexpr auto kMaxUploadRetryDelay = std::chrono::minutes(30);

}  // namespace

UploadSchedule::UploadSchedule(const BuilderContext& context)
    : context_(context),
      retries_(kMinUploadRetryDelay, kMaxUploadRetryDelay),
      schedule_(context.runtime.clock, [this](const UploadPair& pair) { return due(pair); }) {}

void UploadSchedule::enqueue_image(const std::string& image) {
  for (const auto& [name, provider] : context_.providers) {
    if (context_.settings.listed_image(name, image) != nullptr) schedule_.enqueue({name, image});
  }
}

const ImageBuild* UploadSchedule::next_build(const UploadPair& pair) const {
  const Builds builds = context_.images.builds_of(pair.second);
  const std::shared_ptr<ImageJob> image_job = jobs_.next(pair);
  if (!image_job) return newest_ready(builds);
  const auto found = std::ranges::find(builds, image_job->build_id, &ImageBuild::id);
  return found == builds.end() ? nullptr : *found;
}

UploadVerdict UploadSchedule::evaluate(const UploadPair& pair) const {
  const auto& [name, image] = pair;
  const driver::ProviderImage* listed = context_.settings.listed_image(name, image);
  if (!context_.providers.contains(name) || listed == nullptr) return UploadVerdict::paused;
  UploadInput input{.paused = listed->pause,
                    .build = next_build(pair),
                    .format = context_.settings.managed_images.find(name)->second.format};
  if (input.build != nullptr) {
    const std::string& id = input.build->id;
    input.local = context_.local.formats_of(image, id);
    input.uploads = context_.images.uploads_of(image, id, name);
    input.being_uploaded = context_.images.is_being_uploaded(image, id, name);
  }
  return evaluate_upload(input);
}

std::optional<async::Clock::TimePoint> UploadSchedule::due(const UploadPair& pair) const {
  if (!context_.images.ready() || evaluate(pair) != UploadVerdict::due) return std::nullopt;
  const async::Clock::TimePoint when = context_.runtime.clock.now();
  const auto failed = failed_build_.find(pair);
  const ImageBuild* build = next_build(pair);
  const bool failed_before = failed != failed_build_.end() && failed->second == build->id;
  if (!failed_before || jobs_.next(pair)) return when;
  return std::max(when, retries_.not_before(pair).value_or(when));
}

async::Duration UploadSchedule::failed(const UploadPair& pair, const std::string& build_id) {
  failed_build_[pair] = build_id;
  return retries_.failed(pair, context_.runtime.clock.now());
}

void UploadSchedule::reconfigured(const std::string& provider) {
  std::erase_if(failed_build_, [&](const auto& failed) {
    if (failed.first.first != provider) return false;
    retries_.forget(failed.first);
    return true;
  });
}

}  // namespace nodepool::builder
