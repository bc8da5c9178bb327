#pragma once

#include <optional>
#include <string>
#include <vector>

#include "async/runtime.h"
#include "driver/images.h"
#include "drivers/aws/api/ec2.h"
#include "drivers/aws/api/imports.h"
#include "telemetry/log.h"

namespace nodepool::drivers::aws {

// The parameters of an import.
struct ImportRequest {
  ImportKind kind = ImportKind::snapshot;
  std::string name;
  std::string format;
  std::string architecture;  // for an image
  std::string bucket;
  std::string key;
  async::Duration retry_limit{};  // while too many imports are running
  driver::Metadata metadata;      // of the upload
};

// Imports uploaded objects of S3 as snapshots or AMIs.
class ImageImport {
 public:
  // The references outlive it.
  ImageImport(const async::Runtime& runtime, Imports& imports, Ec2& ec2, telemetry::Logger log)
      : runtime_(runtime), imports_(imports), ec2_(ec2), log_(std::move(log)) {}

  // The task that the upload has begun earlier, unless it has failed.
  async::Task<std::optional<ImportTask>> find(ImportKind kind, driver::Metadata metadata);
  // Begins an import, and returns the task's id.
  async::Task<std::string> begin(ImportRequest request);
  // Waits for the task, tags what it has made, and returns it. Throws CloudError; if the task has
  // failed, with AWS's message.
  async::Task<ImportTask> finish(ImportKind kind, std::string id, driver::Metadata metadata);

  // All recent tasks of the provider's uploads.
  async::Task<std::vector<ImportTask>> tasks_of(std::string provider);
  // Tags what ended tasks have made with the tags of their task, unless it has tags of others.
  // Updates the lists as well.
  async::Task<> adopt(std::vector<ImportTask> tasks, std::vector<Ami>& images,
                      std::vector<Snapshot>& snapshots);

 private:
  async::Task<> put_tags(ImportTask task, driver::Metadata metadata);
  async::Task<std::optional<ImportTask>> poll(ImportKind kind, std::string id);
  async::Task<> adopt_by(ImportTask task, std::vector<Ami>& images,
                         std::vector<Snapshot>& snapshots);

  async::Runtime runtime_;
  Imports& imports_;
  Ec2& ec2_;
  telemetry::Logger log_;
};

}  // namespace nodepool::drivers::aws
