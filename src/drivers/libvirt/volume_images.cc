#include "drivers/libvirt/volume_images.h"

#include <algorithm>
#include <fstream>

#include "async/deadline.h"
#include "driver/cloud_error.h"
#include "drivers/libvirt/domain_xml.h"

namespace nodepool::drivers::libvirt {

using async::Task;
using driver::CloudError;
using Kind = CloudError::Kind;

namespace {

// The type of the records in the store.
constexpr const char* kImage = "image";

// Sent by one call, which has 50 seconds: slow connections must be able to.
constexpr std::uint64_t kPart = std::uint64_t{8} << 20;  // bytes

std::string read_file(const std::string& path, std::uint64_t offset, std::uint64_t size) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(size, '\0');
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(bytes.data(), static_cast<std::streamsize>(size));
  if (!file) throw CloudError(Kind::failed, "cannot read " + path);
  return bytes;
}

// A new volume has zeros everywhere.
bool is_empty(const std::string& bytes) {
  return std::ranges::all_of(bytes, [](char byte) { return byte == '\0'; });
}

}  // namespace

// The header of qcow2 has its size at offset 24, big endian.
std::uint64_t virtual_size(const driver::ImageFile& file) {
  constexpr std::size_t kHeader = 32;
  constexpr std::size_t kSizeOffset = 24;
  if (file.format != "qcow2") return file.size;
  const std::string header = file.size < kHeader ? "" : read_file(file.path, 0, kHeader);
  if (!header.starts_with("QFI\xfb")) throw CloudError(Kind::permanent, file.path + " is no qcow2");
  std::uint64_t size = 0;
  for (std::size_t i = kSizeOffset; i < kHeader; ++i) {
    size = size << 8U | static_cast<unsigned char>(header[i]);
  }
  return size;
}

VolumeImages::VolumeImages(LaunchContext context, coordination::Store& store)
    : context_(std::move(context)), marks_(store, context_.config.name()) {}

// A host that is away must not keep the others from getting new images. But a part that stays on a
// host has the image's name there, and machines would be made from it: such an upload fails, and
// by its metadata, the part is found as a leak.
Task<std::string> VolumeImages::upload(driver::ProviderImage /*image*/, std::string name,
                                       driver::ImageFile file, driver::Metadata metadata,
                                       Progress progress) {
  const cloud::MetadataStore::Thing thing(kImage, name);
  co_await marks_.put(thing, metadata);
  std::size_t done = 0;
  std::optional<CloudError> failure;
  for (const auto& [host, line] : context_.lines) {
    Progress of_all = [progress, done, count = context_.lines.size(), size = file.size](
                          std::uint64_t sent) { progress((done * size + sent) / count); };
    Task<std::optional<Failure>> uploading = upload_to(*line, name, file, std::move(of_all));
    const std::optional<Failure> failed = co_await std::move(uploading);
    if (!failed) {
      ++done;
      continue;
    }
    context_.log.warning("Image {} is not on host {}: {}", name, host, failed->error.what());
    failure.emplace(failed->error);
    if (failed->may_have_part && !co_await remove_part(*line, name)) {
      throw CloudError(failed->error);
    }
  }
  if (done == 0) {
    co_await marks_.remove(thing);
    throw CloudError(*failure);
  }
  progress(file.size);
  co_return name;
}

// The volume has its final format and size at once: libvirt reads them from the file only later.
// A change has an unknown outcome on a host that hangs, so its state is read first.
Task<std::optional<VolumeImages::Failure>> VolumeImages::upload_to(HostLine& line, std::string name,
                                                                   driver::ImageFile file,
                                                                   Progress progress) {
  auto create = [name, file](Hypervisor& host) {
    host.delete_volume(name);
    host.create_volume(volume_xml(name, file.format, virtual_size(file)));
  };
  try {
    co_await line.state(driver::Adapter::kListingAge);
    co_await line.call("create_volume", HostLine::Effect::changes, std::move(create));
  } catch (const CloudError& error) {
    const bool was_refused = error.kind() == Kind::transient || error.kind() == Kind::auth;
    co_return Failure{.error = error, .may_have_part = !was_refused};
  }
  const auto deadline = context_.runtime.clock.now() + context_.config.upload_timeout();
  try {
    Task<> sending = send(line, name, std::move(file), std::move(progress));
    co_await async::with_deadline(context_.runtime.clock, deadline, std::move(sending),
                                  "uploading image " + name);
    co_return std::nullopt;
  } catch (const async::DeadlineExceeded& error) {
    co_return Failure{.error = {Kind::failed, error.what()}, .may_have_part = true};
  } catch (const CloudError& error) {
    co_return Failure{.error = error, .may_have_part = true};
  }
}

Task<bool> VolumeImages::remove_part(HostLine& line, std::string name) {
  try {
    auto undo = [name](Hypervisor& host) { host.delete_volume(name); };
    co_await line.call("delete_volume", HostLine::Effect::changes, std::move(undo));
    co_return true;
  } catch (const CloudError& error) {
    context_.log.warning("Error deleting a part of image {}: {}", name, error.what());
    co_return false;
  }
}

Task<> VolumeImages::send(HostLine& line, std::string name, driver::ImageFile file,
                          Progress progress) {
  for (std::uint64_t offset = 0; offset < file.size; offset += kPart) {
    auto write = [name, offset, path = file.path, size = std::min(kPart, file.size - offset),
                  is_raw = file.format == "raw"](Hypervisor& host) {
      std::string bytes = read_file(path, offset, size);
      if (is_raw && is_empty(bytes)) return;
      host.write_volume(name, offset, std::move(bytes));
    };
    co_await line.call("write_volume", HostLine::Effect::changes, std::move(write));
    progress(std::min(offset + kPart, file.size));
  }
}

// A host that is away must not keep the others from deleting old images.
Task<> VolumeImages::remove(std::string name, std::string external_id) {
  const std::string volume = external_id.empty() ? name : external_id;
  std::optional<CloudError> failure;
  for (const auto& [host, line] : context_.lines) {
    auto call = [volume](Hypervisor& asked) { asked.delete_volume(volume); };
    try {
      co_await line->call("delete_volume", HostLine::Effect::changes, std::move(call));
    } catch (const CloudError& error) {
      if (!failure) failure.emplace(error);
    }
  }
  if (failure) throw CloudError(*failure);
  co_await marks_.remove({kImage, volume});
}

Task<std::vector<driver::CloudImage>> VolumeImages::list() {
  const auto marks = co_await marks_.all();
  std::vector<driver::CloudImage> images;
  for (const auto& [thing, metadata] : marks) {
    if (thing.first != kImage) continue;
    images.push_back({.id = thing.second, .name = thing.second, .metadata = metadata});
  }
  co_return images;
}

}  // namespace nodepool::drivers::libvirt
