#include "drivers/azure/image_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "async/parking.h"
#include "cloud/part_sender.h"
#include "cloud/patience.h"
#include "driver/cloud_error.h"
#include "driver/ownership.h"
#include "http/file_body.h"

namespace nodepool::drivers::azure {

using async::Task;
using driver::CloudError;
using json::Json;
using Kind = CloudError::Kind;

namespace {

constexpr std::uint64_t kRange = std::uint64_t{4} << 20;  // the maximum of one call
constexpr std::uint64_t kPage = 512;                      // bytes
constexpr int kSenders = 10;
constexpr int kAccess = 86400;  // seconds

std::uint64_t whole_pages(std::uint64_t size) {
  return (size + kPage - 1) / kPage * kPage;
}

// The query has the signature.
std::vector<std::string> secrets_of(const std::string& url) {
  return {url, url.substr(url.find('?') + 1)};
}

std::optional<std::uint64_t> number_after(std::string_view text, std::string_view tag,
                                          std::size_t from) {
  const std::size_t at = text.find(tag, from);
  if (at == std::string_view::npos) return std::nullopt;
  std::uint64_t number = 0;
  const char* begin = text.data() + at + tag.size();
  if (std::from_chars(begin, text.data() + text.size(), number).ec != std::errc()) {
    return std::nullopt;
  }
  return number;
}

}  // namespace

ManagedImageStore::ManagedImageStore(const async::Runtime& runtime, const AzureConfig& config,
                                     ResourceManager& manager, CloudView& view,
                                     async::ThreadPool& threads, const telemetry::Logger& log,
                                     const http::Client::Observer& on_attempt)
    : runtime_(runtime),
      config_(config),
      manager_(manager),
      view_(view),
      threads_(threads),
      log_(log),
      no_limit_(runtime.clock, 0),
      client_(runtime, {.transfers = {.ca_file = config.account().ca_file}}, log, on_attempt),
      storage_(runtime, client_, no_limit_, {}, log) {}

Task<std::string> ManagedImageStore::upload(driver::ProviderImage /*image*/, std::string name,
                                            driver::ImageFile file, driver::Metadata metadata,
                                            Progress progress) {
  const Job job{name, std::move(file), std::move(metadata), std::move(progress)};
  std::exception_ptr failure;
  try {
    co_await make(job);
  } catch (const async::Cancelled&) {
    throw;
  } catch (...) {
    failure = std::current_exception();
  }
  if (!failure) co_return name;
  try {
    co_await remove_begun(job);
  } catch (const CloudError& error) {
    log_.warning("Error deleting the failed upload {}: {}", name, error.what());
  }
  std::rethrow_exception(failure);
}

// All steps are idempotent.
Task<> ManagedImageStore::make(Job job) {
  const std::function<Task<bool>()> find_image = [&] { return image_exists(job); };
  if (!co_await cloud::retry_while_unreachable(runtime_, log_, find_image)) {
    const std::function<Task<std::optional<ManagedDisk>>()> find = [&] { return begun_disk(job); };
    const auto begun = co_await cloud::retry_while_unreachable(runtime_, log_, find);
    const std::function<Task<>()> put_disk = [&] { return make_disk(job); };
    if (!begun) co_await persist(put_disk);
    const bool is_written = begun && begun->disk_state == "Unattached";
    if (!is_written) co_await write(job, begun.has_value());
    const std::function<Task<>()> put_image = [&] { return make_image(job); };
    co_await persist(put_image);
  }
  const std::function<Task<>()> remove = [&] { return remove_disk(job.name, job.metadata); };
  co_await persist(remove);
  if (job.progress) job.progress(job.file.size);
}

Task<> ManagedImageStore::persist(std::function<Task<>()> step) {
  return cloud::retry_while_unreachable(runtime_, log_, std::move(step));
}

// Whether an earlier call has made the image.
Task<bool> ManagedImageStore::image_exists(Job job) {
  const auto found = co_await manager_.get(kImageType, job.name);
  if (!found) co_return false;
  const ArmResource image = read_resource(*found);
  if (!driver::carries(image.tags, job.metadata)) {
    throw CloudError(Kind::failed, "image " + job.name + " exists, and is of another upload");
  }
  co_return image.is_ready();
}

Task<std::optional<ManagedDisk>> ManagedImageStore::find_disk(std::string name) {
  const auto found = co_await manager_.get(kDiskType, name);
  co_return found ? std::optional(read_disk(*found)) : std::nullopt;
}

// The disk of an earlier call for the upload.
Task<std::optional<ManagedDisk>> ManagedImageStore::begun_disk(Job job) {
  std::optional<ManagedDisk> disk = co_await find_disk(job.name);
  if (disk && !driver::carries(disk->tags, job.metadata)) {
    throw CloudError(Kind::failed, "disk " + job.name + " exists, and is of another upload");
  }
  co_return disk;
}

Task<> ManagedImageStore::make_disk(Job job) {
  co_await view_.ensure_group();
  Json body = {{"location", config_.account().location},
               {"tags", job.metadata},
               {"properties",
                {{"creationData",
                  {{"createOption", "Upload"}, {"uploadSizeBytes", whole_pages(job.file.size)}}}}}};
  ResourceManager::Created created = co_await manager_.put(kDiskType, job.name, std::move(body));
  co_await manager_.finish(std::move(created.operation));
}

// Returns a URL. It has a signature: never log it.
Task<std::string> ManagedImageStore::begin_access(std::string disk) {
  const Json access = {{"access", "Write"}, {"durationInSeconds", kAccess}};
  LongOperation granting = co_await manager_.act(kDiskType, disk, "beginGetAccess", access);
  const std::optional<cloud::Element> grant = co_await manager_.finish(std::move(granting));
  std::string url = grant ? grant->text_or("accessSAS") : "";
  if (url.empty()) throw CloudError(Kind::failed, "no access to disk " + disk);
  co_return url;
}

Task<> ManagedImageStore::end_access(std::string disk) {
  LongOperation ending =
      co_await manager_.act(kDiskType, std::move(disk), "endGetAccess", Json::object());
  co_await manager_.finish(std::move(ending));
}

Task<> ManagedImageStore::write(Job job, bool is_begun) {
  const std::function<Task<std::string>()> begin = [&] { return begin_access(job.name); };
  const std::string url = co_await cloud::retry_while_unreachable(runtime_, log_, begin);
  Ranges written;
  if (is_begun) written = co_await written_ranges(url);
  const cloud::PartSender::Send send = [&](std::uint64_t index, std::string data) {
    data.resize(whole_pages(data.size()));
    const std::uint64_t first = index * kRange;
    const std::uint64_t last = first + data.size() - 1;
    const bool is_there = std::ranges::any_of(
        written, [&](const auto& range) { return range.first <= first && last <= range.second; });
    // Pages that are not written read as zeros.
    const bool is_empty = data.find_first_not_of('\0') == std::string::npos;
    return is_there || is_empty ? async::throw_if_cancelled()
                                : write_range(url, first, std::move(data));
  };
  const auto body = co_await http::file_body(threads_, job.file.path);
  const cloud::PartSender::Plan plan{.part_size = kRange, .max_concurrent = kSenders};
  cloud::PartSender sender(runtime_, body, plan, send, job.progress);
  co_await sender.run();
  const std::function<Task<>()> end = [&] { return end_access(job.name); };
  co_await persist(end);
}

Task<> ManagedImageStore::write_range(std::string url, std::uint64_t offset, std::string data) {
  const std::string range = fmt::format("bytes={}-{}", offset, offset + data.size() - 1);
  const std::chrono::milliseconds deadline = cloud::deadline_to_send(data.size(), kSenders);
  const cloud::RestCall writing{.request = {.method = "PUT",
                                            .url = url + "&comp=page",
                                            .headers = {{"Range", range},
                                                        {"x-ms-blob-type", "PageBlob"},
                                                        {"x-ms-page-write", "Update"}},
                                            .body = std::move(data),
                                            .secrets = secrets_of(url),
                                            .name = "azure: write to disk",
                                            .deadline = deadline},
                                .about = range};
  const std::function<Task<http::Response>()> put = [&] { return storage_.send(writing); };
  co_await cloud::retry_while_unreachable(runtime_, log_, put, cloud::kRetryLimit + deadline);
}

// <PageRange><Start>0</Start><End>4194303</End></PageRange>…
Task<ManagedImageStore::Ranges> ManagedImageStore::written_ranges(std::string url) {
  Ranges ranges;
  const cloud::RestCall asking{.request = {.url = url + "&comp=pagelist",
                                           .secrets = secrets_of(url),
                                           .name = "azure: list pages of disk"}};
  const std::function<Task<http::Response>()> ask = [&] { return storage_.send(asking); };
  try {
    const http::Response response = co_await cloud::retry_while_unreachable(runtime_, log_, ask);
    const std::string_view text = response.body;
    for (std::size_t at = text.find("<PageRange>"); at != std::string_view::npos;
         at = text.find("<PageRange>", at + 1)) {
      const auto first = number_after(text, "<Start>", at);
      const auto last = number_after(text, "<End>", at);
      if (first && last) ranges.emplace_back(*first, *last);
    }
  } catch (const CloudError& error) {
    log_.info("Writing the whole disk again: {}", error.what());
  }
  co_return ranges;
}

Task<> ManagedImageStore::make_image(Job job) {
  const Json disk = {{"osType", "Linux"},
                     {"osState", "Generalized"},
                     {"managedDisk", {{"id", manager_.id_of(kDiskType, job.name)}}}};
  Json body = {{"location", config_.account().location},
               {"tags", job.metadata},
               {"properties",
                {{"hyperVGeneration", "V2"},
                 {"storageProfile", {{"osDisk", disk}, {"zoneResilient", true}}}}}};
  ResourceManager::Created created = co_await manager_.put(kImageType, job.name, std::move(body));
  co_await manager_.finish(std::move(created.operation));
}

// Resources with the name may be of another upload.
Task<> ManagedImageStore::remove_begun(Job job) {
  const auto image = co_await manager_.get(kImageType, job.name);
  if (image && driver::carries(read_resource(*image).tags, job.metadata)) {
    co_await remove_image(job.name);
  }
  co_await remove_disk(job.name, job.metadata);
}

Task<> ManagedImageStore::remove_image(std::string name) {
  std::optional<LongOperation> removing = co_await manager_.remove(kImageType, std::move(name));
  if (removing) co_await manager_.finish(std::move(*removing));
}

// Ends the access to a disk, which cannot be deleted before. Azure checks the footer of the VHD and
// refuses one that is incomplete (InvalidVhd), so after a refusal the deletion decides.
Task<> ManagedImageStore::abandon_access(std::string disk) {
  try {
    co_await end_access(disk);
  } catch (const CloudError& error) {
    if (error.kind() == Kind::transient) throw;
    log_.warning("Error ending the access to disk {}, deleting it all the same: {}", disk,
                 error.what());
  }
}

// Removes the disk if it carries the tags.
Task<> ManagedImageStore::remove_disk(std::string name, driver::Metadata tags) {
  const std::optional<ManagedDisk> disk = co_await find_disk(name);
  if (!disk || !driver::carries(disk->tags, tags)) co_return;
  if (disk->disk_state == "ActiveUpload") co_await abandon_access(name);
  std::optional<LongOperation> removing = co_await manager_.remove(kDiskType, name);
  if (removing) co_await manager_.finish(std::move(*removing));
}

Task<> ManagedImageStore::remove(std::string /*name*/, std::string external_id) {
  co_await remove_image(external_id);
  co_await remove_disk(external_id, {});
}

Task<std::vector<driver::CloudImage>> ManagedImageStore::list() {
  std::map<std::string, driver::CloudImage> all;  // by name
  const auto images = co_await view_.images({});
  for (const ArmResource& image : *images) {
    if (image.is_going()) continue;
    all[image.name] = {.id = image.name, .name = image.name, .metadata = image.tags};
  }
  const auto disks = co_await view_.disks({});
  for (const ManagedDisk& disk : *disks) {
    if (disk.is_going() || !disk.tags.contains(driver::kUploadIdKey)) continue;
    all.try_emplace(disk.name,
                    driver::CloudImage{.id = disk.name, .name = disk.name, .metadata = disk.tags});
  }
  std::vector<driver::CloudImage> found;
  found.reserve(all.size());
  for (auto& [name, image] : all) found.push_back(std::move(image));
  co_return found;
}

}  // namespace nodepool::drivers::azure
