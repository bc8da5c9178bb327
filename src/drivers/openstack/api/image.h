#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/task.h"
#include "driver/images.h"
#include "http/request.h"

namespace nodepool::drivers::openstack {

class Service;

struct Image {
  std::string id;
  std::string name;
  std::string status;           // "queued", "saving", "importing", "active", "killed", …
  driver::Metadata properties;  // all text properties
  std::optional<double> size;   // bytes; nothing: no content yet
};

// The parameters of a new image.
struct ImageRequest {
  std::string name;
  std::string format;
  driver::Metadata properties;
};

// The Image API. All functions throw CloudError.
class ImageApi {
 public:
  explicit ImageApi(Service& service) : service_(service) {}

  async::Task<std::vector<Image>> images_called(std::string name);  // with any status
  async::Task<std::vector<Image>> own_images();                     // of the project
  async::Task<std::optional<Image>> find(std::string id);

  // Returns the image's id; the image has no content yet.
  async::Task<std::string> create(ImageRequest request);
  // Ends an attempt that moves no byte for `stall_limit`, also while the service stores the image.
  async::Task<> upload(std::string id, std::shared_ptr<const http::StreamedBody> content,
                       std::chrono::milliseconds stall_limit);
  async::Task<> remove(std::string id);  // succeeds if it does not exist

 private:
  Service& service_;
};

}  // namespace nodepool::drivers::openstack
