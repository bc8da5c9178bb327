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

  // With any status. Other projects may have published them, or shared them with this one.
  async::Task<std::vector<Image>> images_called(std::string name);
  // Of the project, with any visibility and this name; empty: any name. If the project is not
  // known, images_called() this name, or all private images that the account sees.
  async::Task<std::vector<Image>> own_images(std::string name = {});
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
