#include "builder/format_provider.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "builder/conversion.h"

namespace nodepool::builder {

using model::BuildState;
using model::ImageBuild;

Task<> FormatProvider::provide(std::string image, std::string build_id, std::string format) {
  const ImageStore::Key key(image, build_id);
  const std::shared_ptr<async::Slots> turn = turn_of(key);
  const async::Slots::Hold hold = co_await turn->take();
  const std::set<std::string>* local = context_.local.formats_of(image, build_id);
  const ImageBuild* known = context_.images.find_build(image, build_id);
  const bool recorded = known != nullptr && known->has_format(format);
  if (recorded && local != nullptr && local->contains(format)) co_return;

  co_await context_.local.scan();
  local = context_.local.formats_of(image, build_id);
  if (local == nullptr || !is_obtainable(*local, format)) {
    throw std::runtime_error(fmt::format(
        "build {} has no {} file on this host, and no file to convert from", build_id, format));
  }
  if (!local->contains(format)) co_await convert(key, *local, format);
  const auto complete = [store = context_.local.files(), key, format] {
    store.complete(store.output(key.first, key.second), {format});
  };
  co_await context_.threads.run("checksums of an image", complete);
  co_await context_.local.scan();
  co_await add_to_record(key, format);
}

Task<> FormatProvider::convert(ImageStore::Key key, std::set<std::string> formats,
                               std::string format) {
  const auto& [image, build_id] = key;
  const auto configured = context_.settings.diskimages.find(image);
  if (configured == context_.settings.diskimages.end()) {
    throw std::runtime_error("image " + image + " is no longer configured");
  }
  Conversion wanted{.store = context_.local.files(),
                    .image = image,
                    .build_id = build_id,
                    .formats = std::move(formats),
                    .format = format,
                    .build_timeout = configured->second.build_timeout};
  const auto open_log = [settings = context_.settings.logs, key] {
    return std::make_shared<BuildLog>(settings.below("conversions"), key.first, key.second);
  };
  const auto log = co_await context_.threads.run("log of a conversion", open_log);
  if (!log->problem().empty()) log_.warning("The log of a conversion: {}", log->problem());
  log_.info("Converting build {} of image {} to {}; output in {}", build_id, image, format,
            log->path().string());
  const async::Clock::TimePoint began = context_.runtime.clock.now();
  Task<> converting = converter_.convert(std::move(wanted), *log);
  co_await std::move(converting);
  const auto time = context_.runtime.clock.now() - began;
  log_.info("Converted build {} of image {} to {} in {} s", build_id, image, format,
            std::chrono::duration_cast<std::chrono::seconds>(time).count());
}

Task<> FormatProvider::add_to_record(ImageStore::Key key, std::string format) {
  const auto& [image, build_id] = key;
  while (true) {
    std::optional<ImageBuild> build = co_await context_.records.build(image, build_id);
    if (!build || build->state != BuildState::ready) break;
    if (build->has_format(format)) co_return;
    build->formats.insert(std::ranges::upper_bound(build->formats, format), format);
    const bool written = co_await context_.records.write(*build);
    if (written) co_return;
    // The record has changed meanwhile, most likely to `deleting`.
  }
  const auto remove_file = [store = context_.local.files(), key, format] {
    store.remove_format(key.first, key.second, format);
  };
  co_await context_.threads.run("file of a deleted build", remove_file);
  throw std::runtime_error("the build was deleted");
}

std::shared_ptr<async::Slots> FormatProvider::turn_of(const ImageStore::Key& key) {
  std::erase_if(turns_, [](const auto& entry) { return entry.second.expired(); });
  std::shared_ptr<async::Slots> turn = turns_[key].lock();
  if (!turn) {
    turn = std::make_shared<async::Slots>(1);
    turns_[key] = turn;
  }
  return turn;
}

}  // namespace nodepool::builder
