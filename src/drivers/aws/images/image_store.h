#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/runtime.h"
#include "async/thread_pool.h"
#include "cloud/optional_permissions.h"
#include "cloud/s3/bucket.h"
#include "driver/images.h"
#include "drivers/aws/api/ebs.h"
#include "drivers/aws/api/ec2.h"
#include "drivers/aws/api/imports.h"
#include "drivers/aws/config/aws_config.h"
#include "drivers/aws/images/bucket_view.h"
#include "drivers/aws/images/image_import.h"
#include "model/installation.h"
#include "telemetry/log.h"

namespace nodepool::drivers::aws {

class BlockUpload;

// The APIs for images. They outlive this.
struct ImageApis {
  Ec2& ec2;
  Ebs& ebs;
  Imports& imports;
  cloud::Bucket& s3;  // of the configured bucket; do not call it if there is none
};

// Uploads images: as a snapshot that is written block by block or imported from S3, or as an
// imported AMI. All resources of an upload have its tags, so an interrupted upload can be resumed
// at any point. Permissions that only serve to resume uploads and to find leaks are optional.
class AmiStore final : public driver::ImageSupport {
 public:
  // The references outlive it.
  AmiStore(const async::Runtime& runtime, const AwsConfig& config, const ImageApis& apis,
           std::shared_ptr<const model::Installation> installation, async::ThreadPool& threads,
           const telemetry::Logger& log);

  async::Task<std::string> upload(driver::ProviderImage image, std::string name,
                                  driver::ImageFile file, driver::Metadata metadata,
                                  Progress progress) override;
  bool resumes_uploads() const override { return true; }
  async::Task<> remove(std::string name, std::string external_id) override;
  // Includes the resources of incomplete uploads: snapshots, running imports, objects in the
  // bucket.
  async::Task<std::vector<driver::CloudImage>> list() override;

 private:
  // One upload.
  struct Job {
    UploadOptions options;
    std::string name;
    driver::ImageFile file;
    driver::Metadata metadata;
    Progress progress;
  };

  // The account's images and snapshots, and the provider's import tasks, except those that it may
  // not list.
  struct Inventory {
    std::vector<Ami> images;
    std::vector<Snapshot> snapshots;
    std::vector<ImportTask> tasks;
  };

  async::Task<std::string> make(Job job);
  async::Task<std::string> make_by_method(Job job);
  async::Task<std::string> make_by_blocks(Job job);
  async::Task<std::string> write_and_register(Job job, BlockUpload& upload);
  async::Task<std::string> make_by_snapshot(Job job);
  async::Task<ImportTask> run_import(Job job, ImportKind kind);
  async::Task<std::optional<Snapshot>> find_begun(driver::Metadata metadata);
  async::Task<std::vector<Snapshot>> snapshots_if_permitted();
  async::Task<Snapshot> find_snapshot(std::string id);
  async::Task<std::string> register_image(Job job, Snapshot snapshot);
  async::Task<std::optional<std::string>> find_image(driver::Metadata metadata);
  async::Task<Inventory> inventory();
  async::Task<std::vector<driver::CloudImage>> list_bucket();
  async::Task<> remove_object(Job job);
  async::Task<> remove_begun(Job job);
  async::Task<std::vector<driver::CloudImage>> list_for_undo();
  async::Task<> remove_or_log(std::string id);
  async::Task<> remove_image(Ami image);
  async::Task<> tag_snapshots(Ami image);

  async::Runtime runtime_;
  const AwsConfig& config_;
  ImageApis apis_;
  async::ThreadPool& threads_;
  telemetry::Logger log_;
  std::shared_ptr<const model::Installation> installation_;
  cloud::OptionalPermissions permissions_;
  ImageImport imports_;
  BucketView bucket_;
};

}  // namespace nodepool::drivers::aws
