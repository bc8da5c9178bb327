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

// The part of the driver interface that concerns images: how to connect to machines made from them,
// which images the builder uploads, and how.
namespace nodepool::driver {

// Tags of a cloud resource: key and value, both text.
using Metadata = std::map<std::string, std::string, std::less<>>;

// Keys of the owner tags. Source: the Python Nodepool's tags since release 3.
inline constexpr std::string_view kNodeIdKey = "nodepool_node_id";
inline constexpr std::string_view kPoolNameKey = "nodepool_pool_name";
inline constexpr std::string_view kProviderNameKey = "nodepool_provider_name";
// Not known to the Python Nodepool; see driver/ownership.h.
inline constexpr std::string_view kInstallationIdKey = "nodepool_installation_id";
inline constexpr std::string_view kNodeCreatedKey = "nodepool_node_created";
inline constexpr std::string_view kBuildIdKey = "nodepool_build_id";
inline constexpr std::string_view kUploadIdKey = "nodepool_upload_id";

// How to connect to a machine made from an image: copied to the node's record.
struct ImageAccess {
  std::optional<std::string> username;
  std::string python_path = "auto";
  std::optional<std::string> shell_type;
  std::string connection_type = "ssh";
  std::int64_t connection_port = 22;

  friend bool operator==(const ImageAccess&, const ImageAccess&) = default;
};

// How a new upload is validated before nodes are launched from it.
struct ImageValidation {
  std::string pool;           // of the validation node
  std::string label;          // of the validation node; uses this image and host-key-checking
  std::string command;        // run on the node over SSH; empty: none
  async::Duration timeout{};  // of the command

  friend bool operator==(const ImageValidation&, const ImageValidation&) = default;
};

// A diskimage as one provider uses it.
struct ProviderImage {
  std::string name;    // of the top-level diskimage
  bool pause = false;  // no uploads
  Metadata meta;       // image properties from the configuration; lists and mappings are JSON
  ImageAccess access;
  std::optional<ImageValidation> validation;

  friend bool operator==(const ProviderImage&, const ProviderImage&) = default;
};

// The images that the builder uploads to a provider.
struct ManagedImages {
  std::string format;  // "qcow2", "raw", …; empty: not known, see outside_problem()
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
  std::string md5;         // hexadecimal; empty: unknown
  std::string sha256;      // hexadecimal; empty: unknown
};

// An image as the cloud lists it.
struct CloudImage {
  std::string id;
  std::string name;
  Metadata metadata;
};

// Uploads, lists and deletes the images of a provider. All functions may take long and throw
// CloudError.
class ImageSupport {
 public:
  virtual ~ImageSupport() = default;

  // Called with the number of bytes sent so far, and once more when the whole file has been sent.
  using Progress = std::function<void(std::uint64_t)>;

  // Uploads the file as `name` with `metadata` (owner tags and the operator's properties). Returns
  // the image's id in the cloud, once machines can be made from it. Deletes a failed upload; the
  // caller deletes a cancelled one. There are no concurrent uploads with the same metadata.
  virtual async::Task<std::string> upload(ProviderImage image, std::string name, ImageFile file,
                                          Metadata metadata, Progress progress) = 0;

  // Whether upload() resumes an interrupted call with the same name and metadata, of any process:
  // the builder then keeps the upload's record. Otherwise the builder starts over with a new
  // record, and the remains of the interrupted upload are deleted as a leak.
  virtual bool resumes_uploads() const { return false; }

  // Deletes the image, and returns when it is gone. Succeeds if it does not exist.
  virtual async::Task<> remove(std::string name, std::string external_id) = 0;

  // All images of the project that the cloud lists.
  virtual async::Task<std::vector<CloudImage>> list() = 0;
};

}  // namespace nodepool::driver
