#include "builder/upload_agenda.h"

#include <algorithm>
#include <chrono>

namespace nodepool::builder {

namespace {

using model::ImageBuild;

constexpr auto kFirstUploadPause = std::chrono::seconds(10);
constexpr auto kLongestUploadPause = std::chrono::minutes(30);

}  // namespace

UploadAgenda::UploadAgenda(const BuilderContext& context)
    : context_(context),
      retries_(kFirstUploadPause, kLongestUploadPause),
      agenda_(context.runtime.clock, [this](const UploadPair& pair) { return due(pair); }) {}

void UploadAgenda::look_at_image(const std::string& image) {
  for (const auto& [name, provider] : context_.providers) {
    if (context_.listed_image(name, image) != nullptr) agenda_.look_at({name, image});
  }
}

const ImageBuild* UploadAgenda::next_build(const UploadPair& pair) const {
  const Builds builds = context_.images.builds_of(pair.second);
  const std::shared_ptr<Order> order = orders_.next(pair);
  if (!order) return newest_ready(builds);
  const auto found = std::ranges::find(builds, order->build_id, &ImageBuild::id);
  return found == builds.end() ? nullptr : *found;
}

UploadVerdict UploadAgenda::judge(const UploadPair& pair) const {
  const auto& [name, image] = pair;
  const driver::ProviderImage* listed = context_.listed_image(name, image);
  if (!context_.providers.contains(name) || listed == nullptr) return UploadVerdict::paused;
  UploadQuestion question{.paused = listed->pause,
                          .build = next_build(pair),
                          .format = context_.managed_images.find(name)->second.format};
  if (question.build != nullptr) {
    const std::string& id = question.build->id;
    question.local = context_.local_formats(image, id);
    question.uploads = context_.images.uploads_of(image, id, name);
    question.being_uploaded = context_.images.is_being_uploaded(image, id, name);
  }
  return judge_upload(question);
}

std::optional<async::Clock::TimePoint> UploadAgenda::due(const UploadPair& pair) const {
  if (!context_.images.ready() || judge(pair) != UploadVerdict::due) return std::nullopt;
  const async::Clock::TimePoint when = context_.runtime.clock.now();
  const auto failed = failed_build_.find(pair);
  const ImageBuild* build = next_build(pair);
  const bool failed_before = failed != failed_build_.end() && failed->second == build->id;
  if (!failed_before || orders_.next(pair)) return when;
  return std::max(when, retries_.not_before(pair).value_or(when));
}

async::Duration UploadAgenda::failed(const UploadPair& pair, const std::string& build_id) {
  failed_build_[pair] = build_id;
  return retries_.failed(pair, context_.runtime.clock.now());
}

void UploadAgenda::reconfigured(const std::string& provider) {
  std::erase_if(failed_build_, [&](const auto& failed) {
    if (failed.first.first != provider) return false;
    retries_.forget(failed.first);
    return true;
  });
}

}  // namespace nodepool::builder
