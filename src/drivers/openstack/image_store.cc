#include "drivers/openstack/image_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "async/finally.h"
#include "cloud/patience.h"
#include "driver/cloud_error.h"
#include "driver/statemachine/instance.h"
#include "drivers/openstack/clouds/cloud_entry.h"
#include "drivers/openstack/config/import_arguments.h"
#include "http/file_body.h"

namespace nodepool::drivers::openstack {

using async::Task;
using driver::CloudError;
using driver::ImageFile;
using driver::Metadata;

namespace {

// Properties by which openstacksdk recognizes its uploads.
constexpr const char* kMd5 = "owner_specified.openstack.md5";
constexpr const char* kSha256 = "owner_specified.openstack.sha256";
constexpr const char* kObject = "owner_specified.openstack.object";

// Keys that begin with this are owner tags.
constexpr std::string_view kOwnerTags = "nodepool_";

constexpr async::Duration kMinStallLimit = std::chrono::minutes(10);
constexpr std::uint64_t kMinSpeed = std::uint64_t{1} << 20;  // bytes a second

std::string value_of(const Metadata& metadata, std::string_view key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? std::string() : found->second;
}

// The properties that openstacksdk makes of metadata: import arguments are none, and the entries of
// `properties` are further ones, which override others. Owner tags stay.
Metadata interpret(Metadata metadata) {
  for (const char* argument : kImportArguments) metadata.erase(argument);
  const auto nested = metadata.find("properties");
  if (nested == metadata.end()) return metadata;
  const auto properties = nlohmann::json::parse(nested->second, nullptr, false);
  if (!properties.is_object()) return metadata;
  metadata.erase(nested);
  for (const auto& [key, value] : properties.items()) {
    if (key.starts_with(kOwnerTags)) continue;
    metadata[key] = value.is_structured() ? value.dump() : text_of(value);
  }
  return metadata;
}

Task<std::string> read_and_report(std::shared_ptr<const http::StreamedBody> body,
                                  std::shared_ptr<driver::ImageSupport::Progress> progress,
                                  std::uint64_t offset, std::size_t most) {
  if (*progress) (*progress)(offset);  // everything before has been sent
  const auto source = std::move(body);
  co_return co_await source->read(offset, most);
}

// The same body, which reports the progress of sending it.
std::shared_ptr<const http::StreamedBody> with_progress(
    const std::shared_ptr<const http::StreamedBody>& body,
    driver::ImageSupport::Progress progress) {
  auto reporting = std::make_shared<http::StreamedBody>();
  reporting->size = body->size;
  auto shared = std::make_shared<driver::ImageSupport::Progress>(std::move(progress));
  reporting->read = [body, shared](std::uint64_t offset, std::size_t most) {
    return read_and_report(body, shared, offset, most);
  };
  return reporting;
}

}  // namespace

async::Duration stall_limit(std::uint64_t size, async::Duration upload_timeout) {
  return std::max(kMinStallLimit, upload_timeout + std::chrono::seconds(size / kMinSpeed));
}

GlanceImages::GlanceImages(ServerContext context, async::ThreadPool& threads)
    : context_(std::move(context)), threads_(threads) {}

Task<std::string> GlanceImages::upload(driver::ProviderImage /*image*/, std::string name,
                                       ImageFile file, Metadata metadata, Progress progress) {
  if (context_.config.account().image_api_use_tasks) {
    throw CloudError(CloudError::Kind::permanent,
                     "image_api_use_tasks: uploads through image import tasks are not supported");
  }
  const Metadata interpreted = interpret(std::move(metadata));
  // Does not reuse an image with the same name and content: that is deleted with its own upload.
  Task<std::string> making = make(name, std::move(file), interpreted, std::move(progress));
  const auto undo = [&] { return remove_begun(name, interpreted); };
  co_return co_await async::undo_on_failure(std::move(making), undo);
}

Metadata GlanceImages::properties(const std::string& name, const ImageFile& file,
                                  const Metadata& metadata) const {
  Metadata properties = metadata;
  for (const auto& [key, value] : context_.config.account().image_properties) {
    properties.try_emplace(key, value);
  }
  properties[kMd5] = file.md5;
  properties[kSha256] = file.sha256;
  properties[kObject] = "images/" + name;
  return properties;
}

Task<std::string> GlanceImages::make(std::string name, ImageFile file, Metadata metadata,
                                     Progress progress) {
  const auto body = co_await http::file_body(threads_, file.path);
  ImageRequest request{
      .name = name, .format = file.format, .properties = properties(name, file, metadata)};
  const std::string id = co_await context_.api.image().create(std::move(request));
  const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(
      stall_limit(body->size, context_.config.image_upload_timeout()));
  std::optional<CloudError> failure;
  try {
    co_await context_.api.image().upload(id, with_progress(body, progress), limit);
  } catch (const CloudError& error) {
    failure = error;
  }
  if (!failure && progress) progress(body->size);
  const std::optional<Image> image = co_await wait_until_settled(id, !failure);
  const std::string status = image ? image->status : "deleted";
  // After a lost response, the second call is refused because the image has its content.
  const bool is_whole = !failure || (image && image->size == static_cast<double>(body->size));
  if (status == "active" && is_whole) co_return id;
  if (failure) throw CloudError(*failure);
  throw CloudError(CloudError::Kind::failed,
                   fmt::format("image {} has not become active: its status is {}", id, status));
}

// Returns nothing if the image does not exist. An image without content is queued.
Task<std::optional<Image>> GlanceImages::wait_until_settled(std::string id, bool has_content) {
  async::Clock& clock = context_.runtime.clock;
  const auto until = clock.now() + context_.config.image_upload_timeout();
  const std::function<Task<std::optional<Image>>()> ask = [this, &id] {
    return context_.api.image().find(id);
  };
  while (true) {
    std::optional<Image> image =
        co_await cloud::retry_while_unreachable(context_.runtime, context_.log, ask);
    const std::string status = image ? image->status : "deleted";
    const bool is_under_way = (status == "queued" && has_content) || status == "saving" ||
                              status == "uploading" || status == "importing";
    if (!is_under_way || clock.now() >= until) co_return image;
    co_await clock.sleep_for(context_.poll_policy.image_poll);
  }
}

// Finds the image by name and tags, as its id may be unknown.
Task<> GlanceImages::remove_begun(std::string name, Metadata metadata) {
  try {
    const std::vector<Image> images = co_await context_.api.image().own_images(name);
    for (const Image& image : images) {
      const bool ours = std::ranges::all_of(metadata, [&image](const auto& entry) {
        return !image.properties.contains(entry.first) ||
               value_of(image.properties, entry.first) == entry.second;
      });
      const bool is_marked = image.properties.contains(driver::kUploadIdKey);
      if (ours && is_marked) co_await context_.api.image().remove(image.id);
    }
  } catch (const CloudError& error) {
    context_.log.error("Error deleting the failed upload {}: {}", name, error.what());
  }
}

Task<> GlanceImages::remove(std::string name, std::string external_id) {
  if (!external_id.empty()) {
    co_await context_.api.image().remove(std::move(external_id));
    co_return;
  }
  // The upload was interrupted before its id was known.
  const std::vector<Image> images = co_await context_.api.image().own_images(std::move(name));
  for (const Image& image : images) {
    if (value_of(image.properties, driver::kProviderNameKey) == context_.config.name()) {
      co_await context_.api.image().remove(image.id);
    }
  }
}

Task<std::vector<driver::CloudImage>> GlanceImages::list() {
  std::vector<driver::CloudImage> result;
  const std::vector<Image> images = co_await context_.api.image().own_images();
  result.reserve(images.size());
  for (const Image& image : images) {
    result.push_back({.id = image.id, .name = image.name, .metadata = image.properties});
  }
  co_return result;
}

}  // namespace nodepool::drivers::openstack
