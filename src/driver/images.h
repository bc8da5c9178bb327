#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async/clock.h"
#include "async/task.h"

// What drivers say of images: how their machines are logged in to, which images the builder
// uploads to them, and how.
namespace nodepool::driver {

// By resource, key and value: what tells Nodepool's own resources from others'. Values are text in
// every cloud.
using Metadata = std::map<std::string, std::string, std::less<>>;

// Keys of the metadata that says whose something is. Reference: Nodepool's own tags since
// release 3.
inline constexpr std::string_view kNodeIdKey = "nodepool_node_id";
inline constexpr std::string_view kPoolNameKey = "nodepool_pool_name";
inline constexpr std::string_view kProviderNameKey = "nodepool_provider_name";
// Of this project's own, which the Python Nodepool does not look at: see driver/ownership.h.
inline constexpr std::string_view kInstallationIdKey = "nodepool_installation_id";
inline constexpr std::string_view kNodeCreatedKey = "nodepool_node_created";
inline constexpr std::string_view kBuildIdKey = "nodepool_build_id";
inline constexpr std::string_view kUploadIdKey = "nodepool_upload_id";

// How to use a machine that was made from an image: copied to the node's record.
struct ImageAccess {
  std::optional<std::string> username;
  std::string python_path = "auto";
  std::optional<std::string> shell_type;
  std::string connection_type = "ssh";
  std::int64_t connection_port = 22;

  friend bool operator==(const ImageAccess&, const ImageAccess&) = default;
};

// How a new upload is tried out before nodes are made from it.
struct ImageValidation {
  std::string pool;           // where a node is made
  std::string label;          // of the node; made from this image, with host-key-checking
  std::string command;        // run on the node over SSH; empty: none
  async::Duration timeout{};  // of the command

  friend bool operator==(const ImageValidation&, const ImageValidation&) = default;
};

// An image that the builder builds, as one provider uses it.
struct ProviderImage {
  std::string name;    // of the top-level diskimage
  bool pause = false;  // nothing is uploaded
  Metadata meta;       // image properties that the operator wants
  ImageAccess access;
  std::optional<ImageValidation> validation;

  friend bool operator==(const ProviderImage&, const ProviderImage&) = default;
};

// What the builder uploads to a provider.
struct ManagedImages {
  std::string format;  // "qcow2", "raw", …: what the provider takes
  // The name in the cloud, with {image_name} and {timestamp} (seconds since the epoch).
  std::string name_format = "{image_name}-{timestamp}";
  std::string post_upload_hook;                              // a program; empty: none
  std::map<std::string, ProviderImage, std::less<>> images;  // by name

  friend bool operator==(const ManagedImages&, const ManagedImages&) = default;
};

// A file to upload.
struct ImageFile {
  std::string path;
  std::string format;
  std::uint64_t size = 0;  // bytes
  std::string md5;         // hexadecimal; empty: not known
  std::string sha256;      // hexadecimal; empty: not known
};

// An image as the cloud lists it.
struct CloudImage {
  std::string id;
  std::string name;
  Metadata metadata;
};

// Images of a provider. Every function may take long, and throws CloudError.
class ImageSupport {
 public:
  virtual ~ImageSupport() = default;

  // Called while the file is sent, with the bytes so far, and when all of it has been.
  using Progress = std::function<void(std::uint64_t)>;

  // Uploads the file as `name`, with `metadata` (ownership, and what the operator wants), and
  // returns the cloud's id of the image once machines can be made from it. What was begun and
  // failed is deleted; what was cancelled, by the caller. Nobody else uploads with this metadata at
  // the same time.
  virtual async::Task<std::string> upload(ProviderImage image, std::string name, ImageFile file,
                                          Metadata metadata, Progress progress) = 0;

  // Whether upload() goes on with what it finds of a call with the same name and metadata that was
  // cut off, by whichever process: then its record is taken up again. Otherwise an upload that was
  // cut off is begun anew with another record, and what it has left goes as a leak.
  virtual bool resumes_uploads() const { return false; }

  // Returns when the image is gone, also when it was not there.
  virtual async::Task<> remove(std::string name, std::string external_id) = 0;

  // The images of the project that the cloud shows.
  virtual async::Task<std::vector<CloudImage>> list() = 0;
};

}  // namespace nodepool::driver
