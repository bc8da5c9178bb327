#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async/runtime.h"
#include "async/thread_pool.h"
#include "cloud/optional_permissions.h"
#include "cloud/s3/bucket.h"
#include "driver/images.h"
#include "drivers/ibmvpc/api/object_storage.h"
#include "drivers/ibmvpc/api/vpc_api.h"
#include "drivers/ibmvpc/cloud_view.h"
#include "drivers/ibmvpc/config/ibmvpc_config.h"
#include "model/installation.h"
#include "telemetry/log.h"

namespace nodepool::drivers::ibmvpc {

// Uploads images: sends the file to the bucket, imports an image from the object, and deletes the
// object. Both names identify the upload (image_names.h), so an interrupted upload can be resumed
// at any point.
class ImportedImages final : public driver::ImageSupport {
 public:
  // The references outlive it.
  ImportedImages(const async::Runtime& runtime, const IbmVpcConfig& config, VpcApi& api,
                 CloudView& view, IamTokens& tokens,
                 std::shared_ptr<const model::Installation> installation,
                 async::ThreadPool& threads, const telemetry::Logger& log,
                 const http::Client::Observer& on_attempt);

  // The name in the cloud is image_name().
  async::Task<std::string> upload(driver::ProviderImage image, std::string name,
                                  driver::ImageFile file, driver::Metadata metadata,
                                  Progress progress) override;
  bool resumes_uploads() const override { return true; }
  async::Task<> remove(std::string name, std::string external_id) override;
  // Includes the objects of incomplete uploads.
  async::Task<std::vector<driver::CloudImage>> list() override;

 private:
  // One upload.
  struct Job {
    std::string name;
    std::string key;
    std::string operating_system;
    driver::ImageFile file;
    Progress progress;
  };

  async::Task<std::string> make(Job job);
  async::Task<> send_object(Job job);
  async::Task<std::string> begin_import(Job job);
  async::Task<VpcImageRequest> import_request(Job job);
  async::Task<std::optional<VpcImage>> find_image(std::string name);
  async::Task<> finish_import(std::string id, std::string name);
  async::Task<> remove_object(Job job);
  async::Task<> remove_begun(Job job);
  async::Task<> remove_uploads(std::string key);
  async::Task<std::vector<cloud::S3Upload>> uploads_if_permitted(std::string prefix);
  async::Task<> remove_image(std::string id);
  async::Task<> remove_stored(std::string id);
  async::Task<std::vector<driver::CloudImage>> list_bucket();
  async::Task<std::vector<driver::CloudImage>> stored();

  async::Runtime runtime_;
  const IbmVpcConfig& config_;
  VpcApi& api_;
  CloudView& view_;
  std::shared_ptr<const model::Installation> installation_;
  async::ThreadPool& threads_;
  telemetry::Logger log_;
  ObjectStorage storage_;
  cloud::Bucket bucket_;
  cloud::OptionalPermissions permissions_;
};

}  // namespace nodepool::drivers::ibmvpc
