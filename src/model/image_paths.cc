#include "model/image_paths.h"

#include <vector>

#include "coordination/lock.h"
#include "coordination/path.h"
#include "model/paths.h"

namespace nodepool::model {

namespace {

using coordination::join_path;

constexpr std::string_view kPause = "pause";
constexpr std::string_view kBuildRequest = "request-build";
constexpr std::string_view kBuilds = "builds";
constexpr std::string_view kLock = "lock";
constexpr std::string_view kProviders = "providers";
constexpr std::string_view kUploads = "images";

std::vector<std::string_view> split(std::string_view path) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t slash = path.find('/');
    parts.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return parts;
    path.remove_prefix(slash + 1);
  }
}

bool is_contender(std::string_view name) {
  return !coordination::contender_sequence(name).empty();
}

// Parses a path below `<image>/builds/<build>`.
std::optional<ImagePath> parse_below_build(const std::vector<std::string_view>& parts) {
  using Kind = ImagePath::Kind;
  ImagePath path{.kind = Kind::build, .image = parts[0], .build_id = parts[2]};
  if (parts.size() == 3) return path;
  if (parts[3] != kProviders) return std::nullopt;
  path.kind = Kind::providers;
  if (parts.size() == 4) return path;
  path.kind = Kind::provider;
  path.provider = parts[4];
  if (parts.size() == 5) return path;
  if (parts[5] != kUploads) return std::nullopt;
  path.kind = Kind::uploads;
  if (parts.size() == 6) return path;
  if (parts[6] == kLock) {
    path.kind = Kind::uploads_lock;
    if (parts.size() == 7) return path;
    path.kind = Kind::uploads_contender;
    if (parts.size() == 8 && is_contender(parts[7])) return path;
    return std::nullopt;
  }
  path.kind = Kind::upload;
  path.upload_id = parts[6];
  if (parts.size() == 7) return path;
  return std::nullopt;
}

}  // namespace

std::string image_path(std::string_view image) {
  return join_path(kImagesRoot, image);
}

std::string image_pause_path(std::string_view image) {
  return join_path(image_path(image), kPause);
}

std::string build_request_path(std::string_view image) {
  return join_path(image_path(image), kBuildRequest);
}

std::string builds_path(std::string_view image) {
  return join_path(image_path(image), kBuilds);
}

std::string builds_lock_path(std::string_view image) {
  return join_path(builds_path(image), kLock);
}

std::string build_path(std::string_view image, std::string_view build_id) {
  return join_path(builds_path(image), build_id);
}

std::string build_lock_path(std::string_view image, std::string_view build_id) {
  return join_path(build_path(image, build_id), kLock);
}

std::string build_providers_path(std::string_view image, std::string_view build_id) {
  return join_path(build_path(image, build_id), kProviders);
}

std::string uploads_path(std::string_view image, std::string_view build_id,
                         std::string_view provider) {
  return join_path(join_path(build_providers_path(image, build_id), provider), kUploads);
}

std::string uploads_lock_path(std::string_view image, std::string_view build_id,
                              std::string_view provider) {
  return join_path(uploads_path(image, build_id, provider), kLock);
}

std::string upload_path(std::string_view image, std::string_view build_id,
                        std::string_view provider, std::string_view upload_id) {
  return join_path(uploads_path(image, build_id, provider), upload_id);
}

std::string upload_lock_path(std::string_view image, std::string_view build_id,
                             std::string_view provider, std::string_view upload_id) {
  return join_path(upload_path(image, build_id, provider, upload_id), kLock);
}

std::optional<ImagePath> parse_image_path(std::string_view path) {
  using Kind = ImagePath::Kind;
  const std::vector<std::string_view> parts = split(path);
  for (const std::string_view part : parts) {
    if (part.empty()) return std::nullopt;
  }
  ImagePath parsed{.kind = Kind::image, .image = parts[0]};
  if (parts.size() == 1) return parsed;
  if (parts[1] != kBuilds) {
    if (parts.size() > 2) return std::nullopt;
    parsed.kind = parts[1] == kPause ? Kind::pause : Kind::build_request;
    if (parts[1] == kPause || parts[1] == kBuildRequest) return parsed;
    return std::nullopt;
  }
  parsed.kind = Kind::builds;
  if (parts.size() == 2) return parsed;
  if (parts[2] != kLock) return parse_below_build(parts);
  parsed.kind = Kind::builds_lock;
  if (parts.size() == 3) return parsed;
  parsed.kind = Kind::builds_contender;
  if (parts.size() == 4 && is_contender(parts[3])) return parsed;
  return std::nullopt;
}

}  // namespace nodepool::model
