#pragma once

#include <optional>
#include <string>
#include <vector>

#include "async/runtime.h"
#include "cloud/optional_permissions.h"
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

// Imports uploaded objects of S3 as snapshots or AMIs. Permissions that only serve to find the
// results later are optional: to tag the results, and to list the tasks of the provider.
class ImageImport {
 public:
  // The references outlive it.
  ImageImport(const async::Runtime& runtime, Imports& imports, Ec2& ec2,
              cloud::OptionalPermissions& permissions, telemetry::Logger log)
      : runtime_(runtime),
        imports_(imports),
        ec2_(ec2),
        permissions_(permissions),
        log_(std::move(log)) {}

  // The task that the upload has begun earlier, unless it has failed.
  async::Task<std::optional<ImportTask>> find(ImportKind kind, driver::Metadata metadata);
  // Begins an import, and returns the task's id.
  async::Task<std::string> begin(ImportRequest request);
  // Waits for the task, tags what it has made, and returns it. Throws CloudError; if the task has
  // failed, with AWS's message.
  async::Task<ImportTask> finish(ImportKind kind, std::string id, driver::Metadata metadata);

  // All recent tasks of the provider's uploads, of the kinds that it may list.
  async::Task<std::vector<ImportTask>> tasks_of(std::string provider);
  // Tags what ended tasks have made with the tags of their task, unless it has tags of others.
  // Updates the lists as well, even without the permission to tag.
  async::Task<> adopt(std::vector<ImportTask> tasks, std::vector<Ami>& images,
                      std::vector<Snapshot>& snapshots);

 private:
  async::Task<> put_tags(ImportTask task, driver::Metadata metadata);
  async::Task<std::vector<ImportTask>> tasks_if_permitted(ImportKind kind);
  async::Task<std::optional<ImportTask>> poll(ImportKind kind, std::string id);
  async::Task<> adopt_by(ImportTask task, std::vector<Ami>& images,
                         std::vector<Snapshot>& snapshots);

  async::Runtime runtime_;
  Imports& imports_;
  Ec2& ec2_;
  cloud::OptionalPermissions& permissions_;
  telemetry::Logger log_;
};

}  // namespace nodepool::drivers::aws
