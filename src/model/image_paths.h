#pragma once

#include <optional>
#include <string>
#include <string_view>

// Paths of image records, below model::kImagesRoot, as in the Python Nodepool. Names of images and
// providers are parts of paths and have no slash.
namespace nodepool::model {

std::string image_path(std::string_view image);

// Exists while the image is paused.
std::string image_pause_path(std::string_view image);

// Exists while a build of the image is requested.
std::string build_request_path(std::string_view image);

std::string builds_path(std::string_view image);

// Held while the image is being built.
std::string builds_lock_path(std::string_view image);

std::string build_path(std::string_view image, std::string_view build_id);

// Held while the build's record is marked for deletion.
std::string build_lock_path(std::string_view image, std::string_view build_id);

// Parent of the providers, by name.
std::string build_providers_path(std::string_view image, std::string_view build_id);

// Parent of the uploads of a build to a provider.
std::string uploads_path(std::string_view image, std::string_view build_id,
                         std::string_view provider);

// Held while the build is being uploaded to the provider.
std::string uploads_lock_path(std::string_view image, std::string_view build_id,
                              std::string_view provider);

// With an empty id: the path for creating a sequential child.
std::string upload_path(std::string_view image, std::string_view build_id,
                        std::string_view provider, std::string_view upload_id);

// Held while the upload's record is marked for deletion, or deleted.
std::string upload_lock_path(std::string_view image, std::string_view build_id,
                             std::string_view provider, std::string_view upload_id);

// The kind and the parts of a path below model::kImagesRoot. The parts are views of the path; empty
// if missing.
struct ImagePath {
  enum class Kind {
    image,
    pause,
    build_request,
    builds,
    builds_lock,
    builds_contender,  // for builds_lock
    build,
    providers,
    provider,  // of a build
    uploads,
    uploads_lock,
    uploads_contender,
    upload,
  };

  Kind kind;
  std::string_view image = {};
  std::string_view build_id = {};
  std::string_view provider = {};
  std::string_view upload_id = {};
};

// `path` is relative to model::kImagesRoot. Returns nothing for any other path.
std::optional<ImagePath> parse_image_path(std::string_view path);

}  // namespace nodepool::model
