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

// What is to be imported.
struct ImportRequest {
  ImportKind kind = ImportKind::snapshot;
  std::string name;
  std::string format;
  std::string architecture;  // of an image
  std::string bucket;
  std::string key;
  async::Duration patience{};  // with an import service that has too much to do
  driver::Metadata metadata;   // of the upload
};

// Imports of uploads.
class ImageImport {
 public:
  // All outlive it.
  ImageImport(const async::Runtime& runtime, Imports& imports, Ec2& ec2, telemetry::Logger log)
      : runtime_(runtime), imports_(imports), ec2_(ec2), log_(std::move(log)) {}

  // What the upload has begun before, unless it has failed.
  async::Task<std::optional<ImportTask>> find(ImportKind kind, driver::Metadata metadata);
  // Begins one, and returns its id.
  async::Task<std::string> begin(ImportRequest order);
  // Returns what has been made, which has the task's tags then. Throws CloudError: also if it has
  // failed, with what AWS says of it.
  async::Task<ImportTask> finish(ImportKind kind, std::string id, driver::Metadata metadata);

  // All that the provider's uploads have begun in the last days.
  async::Task<std::vector<ImportTask>> tasks_of(std::string provider);
  // What tasks have made that have ended, and that has no tags of others, gets the tags of its
  // task; in the lists, too.
  async::Task<> adopt(std::vector<ImportTask> tasks, std::vector<Ami>& images,
                      std::vector<Snapshot>& snapshots);

 private:
  async::Task<> put_tags(ImportTask task, driver::Metadata metadata);
  async::Task<std::optional<ImportTask>> look(ImportKind kind, std::string id);
  async::Task<> adopt_by(ImportTask task, std::vector<Ami>& images,
                         std::vector<Snapshot>& snapshots);

  async::Runtime runtime_;
  Imports& imports_;
  Ec2& ec2_;
  telemetry::Logger log_;
};

}  // namespace nodepool::drivers::aws
