#include "builder/build_schedule.h"

#include <algorithm>
#include <chrono>

namespace nodepool::builder {

namespace {

constexpr auto kMinBuildRetryDelay = std::chrono::seconds(10);
constexpr auto kMaxBuildRetryDelay = std::chrono::hours(1);

}  // namespace

BuildSchedule::BuildSchedule(const BuilderContext& context)
    : context_(context),
      retries_(kMinBuildRetryDelay, kMaxBuildRetryDelay),
      schedule_(context.runtime.clock, [this](const std::string& image) { return due(image); }) {}

BuildVerdict BuildSchedule::evaluate(const std::string& image, const Builds& builds,
                                     bool being_built) const {
  const auto configured = context_.settings.diskimages.find(image);
  if (configured == context_.settings.diskimages.end()) return {};
  const model::ImageBuild* newest = newest_ready(builds);
  return evaluate_build(
      {.image = configured->second,
       .formats = context_.settings.wanted_formats.find(image)->second,
       .paused = context_.images.is_paused(image),
       .requested =
           context_.images.build_requests().contains(image) || jobs_.next(image) != nullptr,
       .being_built = being_built,
       .builds = builds,
       .local = newest == nullptr ? nullptr : context_.local.formats_of(image, newest->id)});
}

std::optional<async::Clock::TimePoint> BuildSchedule::due(const std::string& image) const {
  if (!context_.images.ready()) return std::nullopt;
  const BuildVerdict verdict =
      evaluate(image, context_.images.builds_of(image), context_.images.is_being_built(image));
  if (!verdict.due) return std::nullopt;
  async::Clock::TimePoint when = context_.monotonic(*verdict.due);
  // Decides again when a clock that was set counts.
  when = std::min(when, context_.settled.settles_at().value_or(when));
  const auto failed = failed_.find(image);
  const bool requested_again = failed != failed_.end() && latest_request(image) > failed->second;
  if (requested_again || jobs_.next(image)) return when;
  return std::max(when, retries_.not_before(image).value_or(when));
}

std::int64_t BuildSchedule::latest_request(const std::string& image) const {
  const auto request = context_.images.build_requests().find(image);
  return request == context_.images.build_requests().end() ? 0 : request->second.mzxid;
}

async::Duration BuildSchedule::failed(const std::string& image, std::int64_t began) {
  failed_[image] = began;
  return retries_.failed(image, context_.runtime.clock.now());
}

}  // namespace nodepool::builder
